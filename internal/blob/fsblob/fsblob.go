// Package fsblob keeps blobs as files of one folder, `ab/cdef...` by their SHA-256.
//
// A blob is written to a temporary file, synced, renamed into place, and its folder synced: after a power cut it is there
// whole or not at all. Everything goes through os.Root and no name ever holds anything but hexadecimal digits. Several
// processes of one machine may share the folder.
package fsblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync/atomic"
	"syscall"

	"atelier/internal/blob"
	"atelier/internal/blob/internal/content"
)

// Store keeps blobs in a folder. It is safe for concurrent use.
type Store struct {
	root   *os.Root
	sync   func(*os.File) error
	broken atomic.Pointer[error]
}

var _ blob.Store = (*Store)(nil)

// Open prepares the folder, creating it if needed, and removes what killed writers left behind.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create blob folder: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open blob folder: %w", err)
	}
	s := &Store{root: root, sync: (*os.File).Sync}
	if err := s.prepare(); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare blob folder %s: %w", dir, err), root.Close())
	}
	return s, nil
}

// Close releases the folder. Readers that are still open go on working.
func (s *Store) Close() error { return s.root.Close() }

// Driver implements blob.Store.
func (s *Store) Driver() string { return "filesystem" }

// Put implements blob.Store. Content that is already there is replaced by its fresh copy: that costs one rename, makes
// it durable whoever wrote it first, and heals a damaged file.
func (s *Store) Put(ctx context.Context, r io.Reader, max int64) (blob.Info, error) {
	if err := s.usable(ctx); err != nil {
		return blob.Info{}, fmt.Errorf("put blob: %w", err)
	}
	t, err := s.createTemp()
	if err != nil {
		return blob.Info{}, fmt.Errorf("put blob: %w", err)
	}
	defer t.discard()
	digest, size, err := content.Copy(ctx, t.file, r, max)
	if err != nil {
		return blob.Info{}, fmt.Errorf("put blob: %w", err)
	}
	if err := s.keep(t, digest); err != nil {
		return blob.Info{}, fmt.Errorf("put blob: %w", err)
	}
	return blob.Info{Hash: digest.Hash(), Size: size}, nil
}

// Open implements blob.Store. The reader works as long as ctx does. Reading a whole blob ends with blob.ErrCorrupt if
// the file was damaged.
func (s *Store) Open(ctx context.Context, hash string, offset, length int64) (io.ReadCloser, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open blob: %w", err)
	}
	if offset < 0 {
		return nil, fmt.Errorf("open blob: offset %d is negative", offset)
	}
	digest, ok := content.Parse(hash)
	if !ok {
		return nil, blob.ErrNotFound
	}
	file, size, err := s.openFile(digest)
	if err != nil {
		return nil, err
	}
	offset = min(offset, size)
	if length < 0 || length > size-offset {
		length = size - offset
	}
	source := content.WithContext(ctx, io.NewSectionReader(file, offset, length))
	if length == size {
		return content.Whole(source, file, size, digest), nil
	}
	return content.Part(source, file, length), nil
}

// Stat implements blob.Store.
func (s *Store) Stat(ctx context.Context, hash string) (blob.Info, error) {
	if err := ctx.Err(); err != nil {
		return blob.Info{}, fmt.Errorf("stat blob: %w", err)
	}
	digest, ok := content.Parse(hash)
	if !ok {
		return blob.Info{}, blob.ErrNotFound
	}
	info, err := s.root.Lstat(digest.Path())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return blob.Info{}, blob.ErrNotFound
	case err != nil:
		return blob.Info{}, fmt.Errorf("stat blob: %w", err)
	case !info.Mode().IsRegular():
		return blob.Info{}, blob.ErrNotFound
	}
	return blob.Info{Hash: hash, Size: info.Size()}, nil
}

// Delete implements blob.Store. It is not synced: a blob that comes back after a power cut is only deleted again.
func (s *Store) Delete(ctx context.Context, hash string) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("delete blob: %w", err)
	}
	digest, ok := content.Parse(hash)
	if !ok {
		return nil
	}
	if err := s.root.Remove(digest.Path()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete blob: %w", err)
	}
	return nil
}

// openFile opens the blob and tells its size from the open file, so that a later rename cannot change it.
func (s *Store) openFile(digest content.Digest) (*os.File, int64, error) {
	file, err := s.root.Open(digest.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, blob.ErrNotFound
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open blob: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("open blob: %w", err), file.Close())
	}
	return file, info.Size(), nil
}

// usable refuses to write after a failed sync: the kernel forgets the pages it could not write and reports success the
// next time, so a second try would acknowledge lost bytes. A full disk is no such failure; it ends by itself.
func (s *Store) usable(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if broken := s.broken.Load(); broken != nil {
		return fmt.Errorf("storage failed earlier, restart after checking the disk: %w", *broken)
	}
	return nil
}

func (s *Store) durable(file *os.File) error {
	err := s.sync(file)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("make durable: %w", err)
	if errors.Is(err, syscall.EIO) {
		s.broken.CompareAndSwap(nil, &err)
	}
	return err
}
