package archive

import (
	"archive/zip"
	"bytes"
	"cmp"
	"compress/flate"
	"hash/crc32"
	"io"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"atelier/internal/dsul"
	"atelier/internal/errs"
)

// Write writes the archive of a workspace into one folder named after root: its documents and, when info is given, an
// .import.yml with their checksums. The same input gives the same bytes; the time of every file is when info says it was
// exported. Everything is checked before the first byte is written; when writing fails later, the archive has no end and
// nobody can take it for a whole one. Whatever Write writes within the limits, Read accepts.
func Write(w io.Writer, root string, files []File, info *ImportInfo) error {
	if err := writable(files); err != nil {
		return err
	}
	type named struct {
		name string
		text func() ([]byte, error)
	}
	folder := rootName(root) + "/"
	all := make([]named, 0, len(files)+1)
	for _, file := range files {
		all = append(all, named{folder + file.Path + file.Ext, file.text})
	}
	var exported *time.Time
	if info != nil {
		exported = info.Version.ExportedAt
		rendered := info.with(files).Render()
		all = append(all, named{folder + importName, func() ([]byte, error) { return rendered, nil }})
	}
	slices.SortFunc(all, func(a, b named) int { return strings.Compare(a.name, b.name) })
	out := newWriter(w, exported)
	for _, file := range all {
		text, err := file.text()
		if err != nil {
			return err
		}
		if err := out.file(file.name, text); err != nil {
			return err
		}
	}
	return errs.Wrap(out.zip.Close(), "write an archive")
}

// writable checks that the documents can be read back.
func writable(files []File) error {
	taken := map[string]string{}
	for _, file := range files {
		_, _, ok := dsul.SplitPath(file.Path)
		if !ok || !slices.Contains(extensions(), file.Ext) {
			return refuse(file.Path+file.Ext, "it cannot be in an archive: this is no path of a document")
		}
		key := Fold(file.Path)
		if other, twice := taken[key]; twice {
			return refuse(file.Path, "it cannot be in the same archive as %s, which differs only by case; rename one of them", shown(other))
		}
		taken[key] = file.Path
	}
	if _, ok := taken[string(dsul.Index)]; !ok {
		return refuse(whole, "a workspace without an index cannot be written")
	}
	return nil
}

var unclean = regexp.MustCompile(`[^A-Za-z0-9_. -]+`) //nolint:gochecknoglobals // compiled once

// rootName makes a folder's name of what the caller calls the content, usually a version, so that Read finds it again.
func rootName(root string) string {
	name := unclean.ReplaceAllString(root, "-")
	name = strings.Trim(name[:min(len(name), maxShown)], ". ")
	if name == "" || !canBeRoot(name+"/") {
		return "current"
	}
	return name
}

// writer writes the entries of an archive.
type writer struct {
	zip        *zip.Writer
	date, hour uint16 // of every entry, as DOS has them
	packed     bytes.Buffer
	deflater   *flate.Writer
}

func newWriter(w io.Writer, at *time.Time) *writer {
	when := time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC) // the first day of the format
	if at != nil && at.Year() >= 1980 && at.Year() < 2108 {
		when = at.UTC()
	}
	return &writer{
		zip:  zip.NewWriter(w),
		date: uint16(when.Day() + int(when.Month())<<5 + (when.Year()-1980)<<9), //nolint:gosec // bounded above
		hour: uint16(when.Second()/2 + when.Minute()<<5 + when.Hour()<<11),      //nolint:gosec // bounded by the clock
	}
}

// header is that of an ordinary file.
func (w *writer) header(name string, method uint16) *zip.FileHeader {
	return &zip.FileHeader{
		Name: name, Method: method, CreatorVersion: 3<<8 | 20, ReaderVersion: 20, ExternalAttrs: (modeRegular | 0o644) << 16,
		ModifiedDate: w.date, ModifiedTime: w.hour,
	}
}

// file writes one file. Its sizes stand in front of it, so that every tool can read it. A text that deflate would shrink so
// much that it looks like a bomb is stored as it is.
func (w *writer) file(name string, text []byte) error {
	packed, method, err := w.pack(text)
	if err != nil {
		return errs.Wrap(err, "write an archive")
	}
	header := w.header(name, method)
	header.CRC32 = crc32.ChecksumIEEE(text)
	header.CompressedSize64, header.UncompressedSize64 = uint64(len(packed)), uint64(len(text))
	entry, err := w.zip.CreateRaw(header)
	if err == nil {
		_, err = entry.Write(packed)
	}
	return errs.Wrap(err, "write "+path.Base(name))
}

// pack compresses a text where that makes it smaller, but not suspiciously so.
func (w *writer) pack(text []byte) ([]byte, uint16, error) {
	w.packed.Reset()
	if w.deflater == nil {
		deflater, err := flate.NewWriter(&w.packed, flate.DefaultCompression)
		if err != nil {
			return nil, 0, err
		}
		w.deflater = deflater
	}
	w.deflater.Reset(&w.packed)
	_, err := w.deflater.Write(text)
	if err = cmp.Or(err, w.deflater.Close()); err != nil {
		return nil, 0, err
	}
	ratio := DefaultLimits().Ratio / 2
	if w.packed.Len() >= len(text) || w.packed.Len()*ratio < len(text) {
		return text, stored, nil
	}
	return w.packed.Bytes(), deflated, nil
}
