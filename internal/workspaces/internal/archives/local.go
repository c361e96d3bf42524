package archives

import (
	"bytes"
	"context"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/definitions"
)

// keepRepositories gives the index of an archive the repositories that the workspace has: where a workspace is pushed to
// is not for an archive to say. A workspace without any takes those of the archive when the caller may manage them.
func (r *Result) keepRepositories(ctx context.Context, e *definitions.Edit, index document) (document, error) {
	local, err := e.Get(ctx, string(dsul.Index))
	if err != nil || local == nil {
		return index, err
	}
	if local.Ext == index.ext && leavesAs(local.Parsed, index.Text) {
		return document{local.Parsed, local.Ext}, nil // what did not change keeps its bytes
	}
	text := index.Text
	for _, key := range repositoryKeys() {
		mine, theirs := local.Parsed.Get(key), index.Get(key)
		switch {
		case mine == nil && theirs == nil, mine != nil && theirs != nil && splice.Equal(mine, theirs):
			continue
		case mine != nil:
			text, err = splice.Set(text, []string{key}, mine)
			if theirs != nil {
				r.Findings = append(r.Findings, Finding{Msg: key + " that came along were left out: the workspace keeps its own.", Err: "repositories_kept", Path: string(dsul.Index)})
			}
		case e.Visit.Check(access.ActionManageRepositories) != nil:
			text, err = splice.Delete(text, []string{key})
			r.Findings = append(r.Findings, Finding{
				Msg: key + " were left out: only who may manage the repositories of the workspace can import them.", Err: string(errs.PermissionDenied), Path: string(dsul.Index),
			})
		}
		if err != nil {
			return index, errs.Wrap(err, "keep the repositories of a workspace")
		}
	}
	doc, problems := dsul.Parse(dsul.Index, "", text)
	return document{doc, index.ext}, problems.Err()
}

// leavesAs tells whether an index has this text when it leaves.
func leavesAs(index *dsul.Document, text []byte) bool {
	safe, _, err := without(index, leaving)
	if err != nil {
		return false
	}
	rest, err := withoutRepositories(safe.Text)
	return err == nil && bytes.Equal(rest, text)
}

// withoutRepositories is the text of an index without what says where the workspace is pushed to.
func withoutRepositories(text []byte) (rest []byte, err error) {
	rest = text
	for _, key := range repositoryKeys() {
		if rest, err = splice.Delete(rest, []string{key}); err != nil {
			return nil, err
		}
	}
	return rest, nil
}
