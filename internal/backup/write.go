package backup

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

// write streams a backup to w; snapshot is where the copy of the database is meanwhile. The database comes first: every
// content it names was stored before it was named, so it is there when the contents are copied afterwards.
func write(ctx context.Context, w io.Writer, snapshot string, source Source) (manifest Manifest, err error) {
	if err := os.RemoveAll(snapshot); err != nil { // of a killed backup
		return manifest, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(snapshot)) }()
	if err := source.Snapshot(ctx, snapshot); err != nil {
		return manifest, fmt.Errorf("copy the database: %w", err)
	}
	compressor, err := zstd.NewWriter(w)
	if err != nil {
		return manifest, err
	}
	out := &archive{tar: tar.NewWriter(compressor)}
	out.manifest = Manifest{Format: format, Version: source.Version, CreatedAt: source.Now.UTC()}
	err = out.addAll(ctx, snapshot, source)
	return out.manifest, errors.Join(err, compressor.Close())
}

type archive struct {
	tar      *tar.Writer
	manifest Manifest
}

func (a *archive) addAll(ctx context.Context, snapshot string, source Source) error {
	if err := a.add(ctx, snapshot, databaseName); err != nil {
		return err
	}
	if err := a.add(ctx, filepath.Join(source.DataDir, keyName), keyName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if source.BlobDir != "" {
		if err := a.addBlobs(ctx, source.BlobDir); err != nil {
			return err
		}
	}
	return a.finish()
}

// finish adds the manifest.
func (a *archive) finish() error {
	text, err := json.MarshalIndent(a.manifest, "", "  ")
	if err != nil {
		return err
	}
	if err := a.tar.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(text)), ModTime: a.manifest.CreatedAt}); err != nil {
		return err
	}
	if _, err := a.tar.Write(text); err != nil {
		return err
	}
	return a.tar.Close()
}

// addBlobs adds the stored contents. Those being written at this moment have a temporary name and are passed over.
func (a *archive) addBlobs(ctx context.Context, dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // no content yet, or one deleted just now
		}
		if err != nil || entry.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		name, err := filepath.Rel(dir, path)
		if err != nil || !isBlob(filepath.ToSlash(name)) || !entry.Type().IsRegular() {
			return err
		}
		return a.addBlob(ctx, path, filepath.ToSlash(name))
	})
}

// addBlob adds one content, and notes when it is no longer the one its name promises.
func (a *archive) addBlob(ctx context.Context, path, name string) error {
	err := a.add(ctx, path, blobsName+"/"+name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // deleted just now
	}
	if err != nil {
		return err
	}
	if added := a.manifest.Files[len(a.manifest.Files)-1]; added.SHA256 != blobHash(name) {
		a.manifest.Damaged = append(a.manifest.Damaged, added.Name)
	}
	return nil
}

func (a *archive) add(ctx context.Context, path, name string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if err := a.tar.WriteHeader(&tar.Header{Name: name, Mode: 0o600, Size: info.Size(), ModTime: a.manifest.CreatedAt}); err != nil {
		return err
	}
	sum := sha256.New()
	if _, err := io.Copy(a.tar, io.TeeReader(during(ctx, io.LimitReader(file, info.Size())), sum)); err != nil {
		return fmt.Errorf("copy %s: %w", name, err)
	}
	a.manifest.Files = append(a.manifest.Files, File{Name: name, Size: info.Size(), SHA256: hex.EncodeToString(sum.Sum(nil))})
	return nil
}
