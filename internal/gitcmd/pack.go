package gitcmd

import (
	"context"
	"io"
	"strings"
)

// Pack writes a pack with everything that a commit leads to, without what other commits lead to. What it leaves out must
// be where it is received, and something that is missing here is an error.
func (r *Repository) Pack(ctx context.Context, out io.Writer, commit string, without ...string) error {
	if err := checkObjects(append([]string{commit}, without...)...); err != nil {
		return err
	}
	var revisions strings.Builder
	revisions.WriteString(commit + "\n")
	for _, other := range without {
		revisions.WriteString("^" + other + "\n")
	}
	command := NewCommand("pack-objects", "--revs", "--stdout", "--thin", "--delta-base-offset", "-q")
	return r.run(ctx, command, strings.NewReader(revisions.String()), out)
}
