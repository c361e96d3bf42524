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
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// unpack writes the files to the paths they belong to and compares each with the manifest, which comes last.
func unpack(ctx context.Context, r io.Reader, path func(name string) string) (manifest Manifest, err error) {
	decompressor, err := zstd.NewReader(during(ctx, r))
	if err != nil {
		return manifest, errNotBackup
	}
	defer decompressor.Close()
	in := &reading{from: decompressor}
	found, manifest, err := extractAll(in, path)
	switch {
	case ctx.Err() != nil:
		return manifest, ctx.Err()
	case in.failed != nil: // what went wrong afterwards is only the consequence
		return manifest, errNotBackup
	case err != nil:
		return manifest, err
	}
	return manifest, compare(manifest, found)
}

// reading remembers that the backup itself could not be read, to tell it from a disk that cannot be written.
type reading struct {
	from   io.Reader
	failed error
}

func (r *reading) Read(b []byte) (int, error) {
	n, err := r.from.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}

func extractAll(in io.Reader, path func(name string) string) (found map[string]File, manifest Manifest, err error) {
	found = map[string]File{}
	entries := tar.NewReader(in)
	for {
		header, err := entries.Next()
		if err != nil {
			return found, manifest, errNotBackup // it has no manifest
		}
		if header.Name == manifestName {
			break
		}
		if !expected(header) {
			return found, manifest, fmt.Errorf("the backup holds an unexpected entry %q", header.Name)
		}
		if _, twice := found[header.Name]; twice {
			return found, manifest, fmt.Errorf("the backup holds %q twice", header.Name)
		}
		if found[header.Name], err = extract(entries, path(header.Name), header.Name); err != nil {
			return found, manifest, err
		}
	}
	if err := json.NewDecoder(entries).Decode(&manifest); err != nil {
		return found, manifest, errNotBackup
	}
	return found, manifest, ended(in, entries)
}

// ended insists that the manifest was the last entry, and reads on to the end, where the checksum of the whole is.
func ended(in io.Reader, entries *tar.Reader) error {
	if _, err := entries.Next(); !errors.Is(err, io.EOF) {
		return errNotBackup
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return errNotBackup
	}
	return nil
}

func expected(header *tar.Header) bool {
	if header.Typeflag != tar.TypeReg {
		return false
	}
	blob, isContent := strings.CutPrefix(header.Name, blobsName+"/")
	return header.Name == databaseName || header.Name == keyName || isContent && isBlob(blob)
}

func extract(in io.Reader, path, name string) (File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return File{}, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return File{}, err
	}
	sum := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, sum), in)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return File{}, fmt.Errorf("restore %s: %w", name, err)
	}
	return File{Name: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil))}, nil
}

func compare(manifest Manifest, found map[string]File) error {
	if manifest.Format > format {
		return fmt.Errorf("the backup was made by Atelier %s; restore it with that release or a newer one", manifest.Version)
	}
	if _, ok := found[databaseName]; !ok || manifest.Format != format {
		return errNotBackup
	}
	for _, want := range manifest.Files {
		if found[want.Name] != want {
			return fmt.Errorf("%s in the backup is damaged or missing", want.Name)
		}
		delete(found, want.Name)
	}
	if len(found) > 0 {
		return errNotBackup
	}
	return nil
}
