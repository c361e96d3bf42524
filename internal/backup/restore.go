package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
)

// Target is where a backup goes.
type Target struct {
	DataDir string
	// BlobDir is where the contents go, in the data directory or elsewhere.
	BlobDir string
}

// Restore puts a backup into directories that do not exist or are empty. Everything is checked before it is put in place,
// the database last; on an error nothing is left behind. Verify is given the restored database to check.
func Restore(ctx context.Context, r io.Reader, target Target, verify func(ctx context.Context, database string) error) (manifest Manifest, err error) {
	layout, err := prepare(target)
	defer func() {
		if err != nil {
			layout.undo()
		}
	}()
	if err != nil {
		return manifest, err
	}
	if manifest, err = unpack(ctx, r, layout.path); err != nil {
		return manifest, err
	}
	if err := verify(ctx, layout.path(databaseName)); err != nil {
		return manifest, fmt.Errorf("the database in the backup is damaged: %w", err)
	}
	return manifest, layout.settle()
}

// layout knows which file of a backup goes where.
type layout struct {
	data *place
	// blobs is nil when the contents are below the data directory, at inside.
	blobs  *place
	inside string
}

func prepare(target Target) (l layout, err error) {
	if l.data, err = preparePlace(target.DataDir); err != nil {
		return l, err
	}
	inside, err := filepath.Rel(target.DataDir, target.BlobDir)
	if err == nil && filepath.IsLocal(inside) {
		l.inside = inside
		return l, nil
	}
	l.blobs, err = preparePlace(target.BlobDir)
	return l, err
}

// path is where a file of the backup is written; its name was checked before.
func (l layout) path(name string) string {
	content, isContent := strings.CutPrefix(name, blobsName+"/")
	switch {
	case !isContent:
		return filepath.Join(l.data.work(), name)
	case l.blobs != nil:
		return filepath.Join(l.blobs.work(), filepath.FromSlash(content))
	default:
		return filepath.Join(l.data.work(), l.inside, filepath.FromSlash(content))
	}
}

// settle puts the files in place, the database last: without it a data directory is not one.
func (l layout) settle() error {
	if l.blobs != nil {
		if err := l.blobs.settle(); err != nil {
			return err
		}
	}
	return l.data.settle(databaseName)
}

func (l layout) undo() {
	for _, p := range []*place{l.blobs, l.data} { // the first may be below the second, by another way to write its path
		if p != nil {
			p.undo()
		}
	}
}

var errNotBackup = errors.New("this is not a whole backup: it is damaged, cut short, or something else")
