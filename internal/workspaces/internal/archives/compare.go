package archives

import (
	"context"

	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
)

// Compare compares two states of a workspace that the caller may read, of which one is an archive: it is compared as an
// import would store it.
func (a *Archives) Compare(ctx context.Context, ref, from, to string, with *archive.Archive) ([]definitions.DocumentDiff, error) {
	if with.Bulk != nil {
		return nil, errs.New(errs.InvalidRequest, "This archive holds many workspaces; compare with the archive of one.")
	}
	checked, err := a.check(ctx, with)
	if err != nil {
		return nil, err
	}
	return a.Definitions.Diff(ctx, ref, from, to, checked.files())
}
