package fsblob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"atelier/internal/blob"
	"atelier/internal/blob/internal/content"
)

// walkBatch bounds the memory of a walk over a large folder.
const walkBatch = 512

// prepare makes all folders once and durably, so that Put has only one folder to sync.
func (s *Store) prepare() error {
	created := false
	for _, name := range append(shards(), tempFolder) {
		switch err := s.root.Mkdir(name, 0o700); {
		case err == nil:
			created = true
		case !errors.Is(err, fs.ErrExist):
			return err
		}
	}
	if created {
		if err := s.syncFolder("."); err != nil {
			return err
		}
		if err := syncParent(s.root.Name()); err != nil {
			return err
		}
	}
	return s.sweep()
}

// syncParent makes a new folder itself survive a power cut.
func syncParent(dir string) error {
	parent, err := os.OpenRoot(filepath.Join(dir, ".."))
	if err != nil {
		return fmt.Errorf("open parent folder: %w", err)
	}
	defer func() { _ = parent.Close() }()
	folder, err := parent.Open(".")
	if err != nil {
		return fmt.Errorf("open parent folder: %w", err)
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func shards() []string {
	names := make([]string, 0, 257)
	for i := range 256 {
		names = append(names, fmt.Sprintf("%02x", i))
	}
	return names
}

// Walk implements blob.Store. Blobs that come or go meanwhile may or may not be seen.
func (s *Store) Walk(ctx context.Context, fn func(blob.Info) error) error {
	for _, shard := range shards() {
		if err := s.walkShard(ctx, shard, fn); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) walkShard(ctx context.Context, shard string, fn func(blob.Info) error) error {
	folder, err := s.root.Open(shard)
	if err != nil {
		return fmt.Errorf("walk blobs: %w", err)
	}
	defer func() { _ = folder.Close() }()
	for {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("walk blobs: %w", err)
		}
		entries, err := folder.ReadDir(walkBatch)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("walk blobs: %w", err)
		}
		for _, entry := range entries {
			if err := s.visit(shard, entry, fn); err != nil {
				return err
			}
		}
	}
}

// visit passes over what is no blob: an operator's file, or a blob deleted since the folder was read.
func (s *Store) visit(shard string, entry fs.DirEntry, fn func(blob.Info) error) error {
	digest, ok := content.FromPath(shard + "/" + entry.Name())
	if !ok || !entry.Type().IsRegular() {
		return nil
	}
	info, err := s.root.Lstat(digest.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("walk blobs: %w", err)
	}
	return fn(blob.Info{Hash: digest.Hash(), Size: info.Size()})
}

// Ping implements blob.Store with a temporary file: content of its own could be somebody's blob, or be seen by Walk.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.usable(ctx); err != nil {
		return fmt.Errorf("ping blobs: %w", err)
	}
	t, err := s.createTemp()
	if err != nil {
		return fmt.Errorf("ping blobs: %w", err)
	}
	defer t.discard()
	const text = "atelier"
	if _, err := t.file.WriteString(text); err != nil {
		return fmt.Errorf("ping blobs: %w", err)
	}
	if err := s.durable(t.file); err != nil {
		return fmt.Errorf("ping blobs: %w", err)
	}
	read := make([]byte, len(text))
	if _, err := t.file.ReadAt(read, 0); err != nil {
		return fmt.Errorf("ping blobs: %w", err)
	}
	if string(read) != text {
		return errors.New("ping blobs: what was written does not read back")
	}
	return nil
}
