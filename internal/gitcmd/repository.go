package gitcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrBroken says that a folder holds something that is not a sound bare repository. Repositories on this machine are
// copies: the folder can be removed and made anew.
var ErrBroken = errors.New("the folder does not hold a sound git repository")

// Repository is a bare repository on this machine. It is safe for concurrent use, also by several processes.
type Repository struct {
	git     *Git
	folder  string
	objects string // where new objects go; empty for the repository's own place
}

// Repository opens the bare repository in a folder, named by its whole path; it makes one when the folder is missing or
// empty. What is there but not a repository is ErrBroken.
func (g *Git) Repository(ctx context.Context, folder string) (*Repository, error) {
	if !filepath.IsAbs(folder) {
		return nil, errors.New("a repository is named by its whole path")
	}
	r := &Repository{git: g, folder: filepath.Clean(folder)}
	entries, err := os.ReadDir(r.folder)
	switch {
	case errors.Is(err, syscall.ENOTDIR):
		return nil, ErrBroken
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("open repository: %w", err)
	case len(entries) == 0:
		if err := r.make(ctx); err != nil {
			return nil, fmt.Errorf("make repository: %w", err)
		}
	}
	return r, r.open(ctx)
}

// make builds the repository beside its place and moves it there: it is there as a whole or not at all. When somebody
// else was faster, theirs stays.
func (r *Repository) make(ctx context.Context) error {
	parent := filepath.Dir(r.folder)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(parent, "."+filepath.Base(r.folder)+"-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	command := NewCommand("init", "--quiet", "--bare", "--template=", "--object-format=sha1", "--initial-branch=main")
	if err := r.git.Run(ctx, fresh, command, nil, nil); err != nil {
		return err
	}
	err = os.Rename(fresh, r.folder)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}

func (r *Repository) open(ctx context.Context) error {
	out, err := r.output(ctx, NewCommand("rev-parse", "--is-bare-repository", "--show-object-format"))
	if _, ended := errors.AsType[*ExitError](err); ended {
		return ErrBroken
	}
	if err == nil && strings.Join(strings.Fields(out), " ") != "true sha1" {
		return ErrBroken
	}
	return err
}

// surroundings point git to the quarantine, if this is one.
func (r *Repository) surroundings() surroundings {
	if r.objects == "" {
		return surroundings{}
	}
	quoted := `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(filepath.Join(r.folder, "objects")) + `"`
	return surroundings{variables: []string{"GIT_OBJECT_DIRECTORY=" + r.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted}}
}

func (r *Repository) run(ctx context.Context, command Command, in io.Reader, out io.Writer) error {
	return r.git.run(ctx, r.call(command, in, out))
}

func (r *Repository) call(command Command, in io.Reader, out io.Writer) call {
	return call{repository: r.folder, command: command, in: in, out: out, more: r.surroundings()}
}

// output runs a command and returns what it printed.
func (r *Repository) output(ctx context.Context, command Command) (string, error) {
	var out bytes.Buffer
	err := r.run(ctx, command, nil, &out)
	return out.String(), err
}
