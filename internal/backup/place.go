package backup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// partName is the directory that a restore fills before it puts the files in place.
const partName = "restore.part"

// Unfinished tells that a restore into the directory is running, or was killed: it holds less than a backup.
func Unfinished(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, partName))
	return err == nil
}

// place is a directory that is being filled. It may be the root of a disk, so it is filled in place and never replaced.
type place struct {
	dir   string
	made  []string // the directories that did not exist before, the deepest first
	moved []string // what is in place already
}

func (p *place) work() string { return filepath.Join(p.dir, partName) }

// preparePlace takes an empty directory. On an error it is as it was.
func preparePlace(dir string) (*place, error) {
	if err := mustBeEmpty(dir); err != nil {
		return nil, err
	}
	p := &place{dir: dir, made: missing(dir)}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.Mkdir(p.work(), 0o700)
	}
	if err != nil {
		p.removeMade()
		return nil, err
	}
	if err := mustBeEmpty(dir, partName); err != nil { // a server was started meanwhile
		p.undo()
		return nil, err
	}
	return p, nil
}

// missing lists the directories on the way to dir that do not exist, the deepest first.
func missing(dir string) []string {
	var list []string
	for {
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			return list
		}
		list = append(list, dir)
		dir = filepath.Dir(dir)
	}
}

func mustBeEmpty(dir string, except ...string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if Unfinished(dir) && !slices.Contains(except, partName) {
		return fmt.Errorf("another restore into %s is running or was killed; if it was killed, empty the directory and restore again", dir)
	}
	except = append(except, "lost+found") // every new ext4 disk has one
	for _, entry := range entries {
		if !slices.Contains(except, entry.Name()) {
			return fmt.Errorf("the directory %s is not empty; move it away first, so that nothing is overwritten", dir)
		}
	}
	return nil
}

// settle moves the files from the working directory to where they belong; last names the one that makes it whole.
func (p *place) settle(last ...string) error {
	if err := syncTree(p.work()); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.work())
	if err != nil {
		return err
	}
	var names []string
	for _, entry := range entries {
		if !slices.Contains(last, entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	for _, name := range append(names, last...) {
		to := filepath.Join(p.dir, name)
		if err := os.Rename(filepath.Join(p.work(), name), to); err != nil {
			return err
		}
		p.moved = append(p.moved, to)
	}
	if err := os.Remove(p.work()); err != nil {
		return err
	}
	return p.syncNames()
}

// syncNames makes the names durable, those of new directories above included.
func (p *place) syncNames() error {
	err := syncDir(p.dir)
	for _, dir := range p.made {
		err = errors.Join(err, syncDir(filepath.Dir(dir)))
	}
	return err
}

// undo removes everything that was put here.
func (p *place) undo() {
	for _, path := range append(p.moved, p.work()) {
		_ = os.RemoveAll(path)
	}
	p.removeMade()
}

func (p *place) removeMade() {
	for _, dir := range p.made {
		_ = os.Remove(dir) // only when it is empty: others may have begun to use it
	}
}

// syncTree makes the names in all directories below durable; the files are already.
func syncTree(root string) error {
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		return syncDir(path)
	})
}
