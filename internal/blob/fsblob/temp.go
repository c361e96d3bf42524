package fsblob

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"atelier/internal/blob/internal/content"
	"atelier/internal/ident"
)

// tempFolder holds what is being written. Its name is no pair of hexadecimal digits, so it is never taken for content.
const tempFolder = "tmp"

// temp is a file being written. The writer holds a lock on it, which the kernel drops when the writer dies: that is how
// a sweeping process tells a leftover from another process's work.
type temp struct {
	store *Store
	file  *os.File
	name  string
}

// createTemp makes a locked temporary file. A process that sweeps at this very moment may take the file between its
// creation and its lock; then another one is made.
func (s *Store) createTemp() (*temp, error) {
	for range 10 {
		name := tempFolder + "/" + ident.Source{}.UUID()
		file, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return nil, fmt.Errorf("create temporary file: %w", err)
		}
		t := &temp{store: s, file: file, name: name}
		if lock(file) == nil && t.present() {
			return t, nil
		}
		t.discard()
	}
	return nil, errors.New("create temporary file: every one was taken away")
}

// present tells whether the name still means this file.
func (t *temp) present() bool {
	own, err := t.file.Stat()
	if err != nil {
		return false
	}
	named, err := t.store.root.Lstat(t.name)
	return err == nil && os.SameFile(own, named)
}

// discard closes the file and removes the name, which after keep no longer exists.
func (t *temp) discard() {
	_ = t.store.root.Remove(t.name) // what cannot be removed now is swept at the next Open
	_ = t.file.Close()              // synced before it was kept, so closing has nothing left to report
}

// keep makes the file durable under its digest.
func (s *Store) keep(t *temp, digest content.Digest) error {
	if err := s.durable(t.file); err != nil {
		return err
	}
	if err := s.root.Rename(t.name, digest.Path()); err != nil {
		return fmt.Errorf("move into place: %w", err)
	}
	return s.syncFolder(digest.Shard())
}

func (s *Store) syncFolder(name string) error {
	folder, err := s.root.Open(name)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	return errors.Join(s.durable(folder), folder.Close())
}

// sweep removes the temporary files nobody holds a lock on.
func (s *Store) sweep() error {
	entries, err := fs.ReadDir(s.root.FS(), tempFolder)
	if err != nil {
		return fmt.Errorf("list temporary files: %w", err)
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() {
			continue // not ours
		}
		if err := s.removeLeftover(tempFolder + "/" + entry.Name()); err != nil {
			return fmt.Errorf("remove leftover: %w", err)
		}
	}
	return nil
}

func (s *Store) removeLeftover(name string) error {
	file, err := s.root.OpenFile(name, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process was faster
	}
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := lock(file); err != nil {
		return ignoreBusy(err)
	}
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func lock(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = raw.Control(func(fd uintptr) {
		locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB) //nolint:gosec // descriptors are small
	})
	return errors.Join(err, locked)
}

func ignoreBusy(err error) error {
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	return err
}
