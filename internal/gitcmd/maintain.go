package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

const (
	manyPacks = 40
	manyLoose = 5000
	// leftOver is the age at which nobody works in a quarantine any more.
	leftOver = 24 * time.Hour
)

// Check looks at every object. What is not sound is ErrBroken, with what git says about it.
func (r *Repository) Check(ctx context.Context) error {
	err := r.run(ctx, NewCommand("fsck", "--full", "--strict", "--no-dangling", "--no-progress"), nil, nil)
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return fmt.Errorf("%w: %s", ErrBroken, exit.Stderr)
	}
	return err
}

// Maintain keeps the repository small and quick: when it has many packs or loose objects it puts them together, and drops
// what no ref has led to for two weeks. One process does it at a time; for others there is nothing to do.
func (r *Repository) Maintain(ctx context.Context) error {
	unlock, err := r.lock()
	if err != nil {
		return fmt.Errorf("maintain repository: %w", err)
	}
	if unlock == nil {
		return nil
	}
	defer unlock()
	r.removeLeftOvers()
	if !r.crowded() {
		return nil
	}
	for _, command := range []Command{
		NewCommand("repack", "-d", "-l", "-q", "--cruft", "--cruft-expiration=2.weeks.ago"),
		NewCommand("pack-refs", "--all", "--prune"),
		NewCommand("prune-packed", "--quiet"),
	} {
		if err := r.run(ctx, command, nil, nil); err != nil {
			return fmt.Errorf("maintain repository: %w", err)
		}
	}
	return nil
}

// lock returns nil without an error when somebody else has it. It ends with the process that has it.
func (r *Repository) lock() (unlock func(), err error) {
	file, err := os.OpenFile(filepath.Join(r.folder, "atelier-maintenance"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // a descriptor is small
	if err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil //nolint:nilnil // somebody else is at it
		}
		return nil, err
	}
	return func() { _ = file.Close() }, nil
}

func (r *Repository) removeLeftOvers() {
	folders, _ := filepath.Glob(filepath.Join(r.folder, "objects", quarantinePrefix+"*"))
	for _, folder := range folders {
		if info, err := os.Stat(folder); err == nil && time.Since(info.ModTime()) > leftOver {
			_ = os.RemoveAll(folder)
		}
	}
}

// crowded counts packs, and loose objects in one of their 256 folders, as git does: the names are evenly spread.
func (r *Repository) crowded() bool {
	packs, _ := filepath.Glob(filepath.Join(r.folder, "objects", "pack", "*.pack"))
	loose, _ := os.ReadDir(filepath.Join(r.folder, "objects", "17"))
	return len(packs) > manyPacks || len(loose)*256 > manyLoose
}
