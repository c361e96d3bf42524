// Package backup makes a whole copy of an embedded data directory while it is in use, and restores one.
//
// A backup is one tar file compressed with zstd: the database as it was at one moment, the contents it names, and the
// installation's key. Its last entry is a manifest with the checksum of every other; without it the backup is incomplete.
package backup

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	manifestName = "manifest.json"
	databaseName = "atelier.db"
	keyName      = "internal.key"
	blobsName    = "blobs"
	format       = 1
)

// Manifest describes a backup.
type Manifest struct {
	Format    int       `json:"format"`
	Version   string    `json:"version"`
	CreatedAt time.Time `json:"createdAt"`
	Files     []File    `json:"files"`
	// Damaged names the contents that were damaged already when the backup was made; they are in it as they were.
	Damaged []string `json:"damaged,omitempty"`
}

// File is one file of a backup.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Source is what a backup is made of.
type Source struct {
	// Snapshot writes a consistent copy of the database to a new file.
	Snapshot func(ctx context.Context, path string) error
	DataDir  string
	// BlobDir holds the contents; empty when they are not kept in files.
	BlobDir string
	Version string
	Now     time.Time
}

// Create makes the backup file. The name is given when everything is in it and on disk: what has the name is whole. What is
// being made has the name with .part behind it; a killed backup leaves that, and the next one to the same name uses it up.
func Create(ctx context.Context, path string, source Source) (manifest Manifest, err error) {
	part, err := takePart(path + ".part")
	if err != nil {
		return manifest, err
	}
	defer func() {
		if err = errors.Join(err, part.Close()); err != nil {
			_ = os.Remove(part.Name()) //nolint:gosec // the operator chose the name
		}
	}()
	if manifest, err = write(ctx, part, path+".part.db", source); err != nil {
		return manifest, err
	}
	if err := part.Sync(); err != nil {
		return manifest, fmt.Errorf("make the backup durable: %w", err)
	}
	if err := os.Rename(part.Name(), path); err != nil { //nolint:gosec // the operator chose the name
		return manifest, err
	}
	return manifest, syncDir(filepath.Dir(path))
}

// takePart opens the file for this process alone and empties it.
func takePart(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if !isMine(file) {
		_ = file.Close()
		return nil, fmt.Errorf("another backup to %s is being made", strings.TrimSuffix(path, ".part"))
	}
	if err := file.Truncate(0); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// isMine locks the file and tells whether it is still the one with its name: a backup that has just ended took it away.
func isMine(file *os.File) bool {
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil { //nolint:gosec // a descriptor is a small number
		return false
	}
	mine, err1 := file.Stat()
	named, err2 := os.Stat(file.Name()) //nolint:gosec // the operator chose the name
	return err1 == nil && err2 == nil && os.SameFile(mine, named)
}

// isBlob tells whether a relative path is that of a stored content: two hexadecimal digits, a slash, and the other 62.
func isBlob(name string) bool {
	const length = 65
	if len(name) != length || name[2] != '/' || strings.ToLower(name) != name {
		return false
	}
	_, err := hex.DecodeString(blobHash(name))
	return err == nil
}

func blobHash(name string) string { return strings.Replace(name, "/", "", 1) }

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// during stops a long copy when ctx ends.
func during(ctx context.Context, r io.Reader) io.Reader {
	return readFunc(func(b []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		return r.Read(b)
	})
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(b []byte) (int, error) { return f(b) }
