package archive

import (
	"slices"
	"strings"
)

// FromFolder makes an archive of the files of a folder that is no zip file, such as one of a repository: names are relative to
// it, and load gives the text of one. The rules are those of Read.
func FromFolder(names []string, limits Limits, load func(name string) ([]byte, error)) (*Archive, error) {
	z := &container{budget: newBudget(limits.Input, limits), work: &scratch{}}
	entries := make([]entry, 0, len(names))
	for _, name := range names {
		entries = append(entries, entry{name: name})
	}
	if err := z.budget.takeEntries(len(entries)); err != nil {
		return nil, err
	}
	place := layout{}
	if !slices.ContainsFunc(names, isMarker) {
		return nil, z.refuse(whole, "there is no index.yml; a workspace needs one")
	}
	if err := z.documents(entries, place); err != nil {
		return nil, err
	}
	found := &Archive{}
	for _, e := range entries {
		if err := z.fromFolder(found, place, e, load); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(found.Files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	slices.Sort(found.Ignored)
	return found, nil
}

func (z *container) fromFolder(found *Archive, place layout, e entry, load func(name string) ([]byte, error)) error {
	role, file := place.of(e)
	if role != document && role != metadata {
		found.Ignored = append(found.Ignored, e.name)
		return nil
	}
	text, err := load(e.name)
	if err != nil {
		return err
	}
	if int64(len(text)) > z.budget.limits.File {
		return tooLarge(e.name, "file", z.budget.limits.File, "A file of a workspace may have at most %d bytes.")
	}
	if err := z.budget.takeOutput(e.name, int64(len(text))); err != nil {
		return err
	}
	if role == metadata {
		found.Import, err = ParseImport(text)
		return err
	}
	file.Text = text
	found.Files = append(found.Files, file)
	return nil
}

// IsDocument tells whether a file of a workspace's folder is one of its documents, and which.
func IsDocument(name string) (path, ext string, is bool) {
	role, file := layout{}.of(entry{name: name})
	return file.Path, file.Ext, role == document
}

// ImportName is the file that says what a folder holds.
const ImportName = importName

// Describe is the text of .import.yml with the checksums of the files.
func Describe(info *ImportInfo, files []File) []byte { return info.with(files).Render() }
