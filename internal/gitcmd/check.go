package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Check tells whether this git can be used: it is new enough, and a clean and a conflicting merge on a repository made
// for the purpose end as they should. Some versions crash there.
func (g *Git) Check(ctx context.Context) error {
	if g.version.Before(oldest()) {
		return fmt.Errorf("git %s at %s is too old; install %s or newer", g.version, g.path, oldest())
	}
	folder, err := os.MkdirTemp("", "atelier-git-check-")
	if err != nil {
		return fmt.Errorf("check git: %w", err)
	}
	return errors.Join(g.checkMerges(ctx, folder), os.RemoveAll(folder))
}

func (g *Git) checkMerges(ctx context.Context, repository string) error {
	if err := g.Run(ctx, repository, NewCommand("init", "--quiet", "--bare"), nil, nil); err != nil {
		return fmt.Errorf("check git: %w", err)
	}
	if err := g.Run(ctx, repository, NewCommand("fast-import", "--quiet"), strings.NewReader(history), nil); err != nil {
		return fmt.Errorf("check git: %w", err)
	}
	clean, err := g.mergeConflicts(ctx, repository, "refs/heads/ours", "refs/heads/apart")
	if err != nil {
		return fmt.Errorf("check git %s: clean merge: %w", g.version, err)
	}
	conflicting, err := g.mergeConflicts(ctx, repository, "refs/heads/ours", "refs/heads/against")
	if err != nil {
		return fmt.Errorf("check git %s: conflicting merge: %w", g.version, err)
	}
	if clean || !conflicting {
		return fmt.Errorf("check git %s: merges do not end as they should: the clean one conflicts: %t, the conflicting one: %t", g.version, clean, conflicting)
	}
	return nil
}

// mergeConflicts merges two commits without a working tree: code 0 is a clean merge, 1 a conflict, all else a failure.
func (g *Git) mergeConflicts(ctx context.Context, repository, ours, theirs string) (bool, error) {
	var out bytes.Buffer
	err := g.Run(ctx, repository, NewCommand("merge-tree", "--write-tree", "--name-only").Values(ours, theirs), nil, &out)
	exit, ended := errors.AsType[*ExitError](err)
	conflict := ended && exit.Code == 1
	if err != nil && !conflict {
		return false, err
	}
	if tree, _, _ := strings.Cut(out.String(), "\n"); !isObjectName(tree) {
		return false, errors.New("git named no merged tree")
	}
	return conflict, nil
}

func isObjectName(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

// history is a stream for fast-import: a base with two files, a branch that changes the first (ours), one that changes
// the second (apart), and one that changes the first differently (against).
const history = `commit refs/heads/base
mark :1
committer Atelier <check@localhost> 0 +0000
data 4
base
M 100644 inline first
data 4
one

M 100644 inline second
data 4
two

commit refs/heads/ours
committer Atelier <check@localhost> 0 +0000
data 4
ours
from :1
M 100644 inline first
data 5
ours

commit refs/heads/apart
committer Atelier <check@localhost> 0 +0000
data 5
apart
from :1
M 100644 inline second
data 6
apart

commit refs/heads/against
committer Atelier <check@localhost> 0 +0000
data 7
against
from :1
M 100644 inline first
data 8
against

done
`
