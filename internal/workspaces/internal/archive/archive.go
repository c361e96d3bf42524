// Package archive reads and writes the zip files in which workspaces travel. Reading trusts nothing: every byte of the file
// is accounted for, every size is checked against what is really there, and nothing is ever written to disk. Writing is
// streamed and gives the same bytes for the same content.
package archive

import (
	"io"
	"slices"
	"strings"
)

// File is the text of one document, as it stands in the archive.
type File struct {
	// Path is the document's path, such as "index" or "automations/hello".
	Path string
	// Ext is how its file name ends: .yml, .yaml or .json.
	Ext string
	// Text is the file, byte for byte.
	Text []byte
	// Load gives the text of a file that is written without having been read before, and Sum is its checksum. What was read
	// has neither.
	Load func() ([]byte, error)
	Sum  string
}

// text is that of the file.
func (f File) text() ([]byte, error) {
	if f.Load == nil {
		return f.Text, nil
	}
	return f.Load()
}

// sum is the file's checksum.
func (f File) sum() string {
	if f.Load == nil {
		return Checksum(f.Text)
	}
	return f.Sum
}

// Archive is what a file that was read holds: one workspace, or a bulk of them.
type Archive struct {
	// Files are the documents, sorted by path. There are none when Bulk is set.
	Files []File
	// Import is what .import.yml says, nil when there is none.
	Import *ImportInfo
	// Ignored names the files that are no part of a workspace, sorted.
	Ignored []string
	// Bulk is set for an archive of many workspaces.
	Bulk *Bulk
}

// Read reads an archive of size bytes. What is wrong with it is a validation failure naming the entry; what is too large is
// payload_too_large with the limit in the details.
func Read(r io.ReaderAt, size int64, limits Limits) (*Archive, error) {
	if size > limits.Input {
		return nil, tooLarge(whole, "input", limits.Input, "The archive may have at most %d bytes.")
	}
	z := &container{r: r, size: size, budget: newBudget(size, limits), work: &scratch{}}
	return z.archive()
}

// archive reads the container: first its structure, then its layout, and its contents last, when nothing is left to doubt.
func (z *container) archive() (*Archive, error) {
	entries, err := z.entries()
	if err != nil {
		return nil, err
	}
	place, err := z.layout(entries)
	if err != nil {
		return nil, err
	}
	if err := z.afford(entries, place); err != nil {
		return nil, err
	}
	if place.bulk {
		return z.bulk(entries, place)
	}
	return z.single(entries, place)
}

// single reads the archive of one workspace.
func (z *container) single(entries []entry, place layout) (*Archive, error) {
	found := &Archive{}
	for _, e := range entries {
		role, file := place.of(e)
		text, err := z.content(e, role)
		if err != nil {
			return nil, err
		}
		switch {
		case role == document:
			file.Text = text
			found.Files = append(found.Files, file)
		case role == metadata:
			if found.Import, err = ParseImport(text); err != nil {
				return nil, z.within(err)
			}
		case !e.dir:
			found.Ignored = append(found.Ignored, e.name)
		}
	}
	slices.SortFunc(found.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(found.Ignored)
	return found, nil
}
