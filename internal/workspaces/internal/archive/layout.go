package archive

import (
	"path"
	"slices"
	"strings"

	"atelier/internal/dsul"
)

// role is what a file is to us.
type role int

const (
	ignored  role = iota
	document      // a text of the workspace
	metadata      // .import.yml
	manifest      // bulkExport.json
	inner         // the archive of one workspace in a bulk archive
)

// The names with a meaning of their own.
const (
	importName   = ".import.yml"
	manifestName = "bulkExport.json"
	innerFolder  = "workspaces/"
	innerExt     = ".zip"
	finderFolder = "__MACOSX"
	indexesName  = "__index__"
)

// layout is where the workspace stands in the archive, and what kind of archive it is.
type layout struct {
	root string // with its slash; "" when there is no folder around
	bulk bool
}

// extensions are how the file of a document may end.
func extensions() []string { return []string{".yml", ".yaml", ".json"} }

// layout finds the folder that holds the index, which is the root of the archive or one folder in it, whatever its name.
func (z *container) layout(entries []entry) (layout, error) {
	marked := map[string]map[bool]bool{} // by folder, whether it is marked as a bulk, as a workspace, or both
	for _, e := range entries {
		folder, base := path.Split(e.name)
		if e.dir || !isMarker(base) || !canBeRoot(folder) {
			continue
		}
		if marked[folder] == nil {
			marked[folder] = map[bool]bool{}
		}
		marked[folder][base == manifestName] = true
	}
	root := ""
	if marked[""] == nil {
		if len(marked) > 1 {
			return layout{}, z.refuse(whole, "it holds more than one workspace; send them one by one, or as a bulk archive")
		}
		for folder := range marked {
			root = folder
		}
	}
	kinds := marked[root]
	switch {
	case len(kinds) == 0:
		return layout{}, z.refuse(whole, "the archive has no index.yml")
	case len(kinds) > 1:
		return layout{}, z.refuse(root+manifestName, "a bulk archive has no index of its own")
	case kinds[true] && z.prefix != "":
		return layout{}, z.refuse(root+manifestName, "a bulk archive may not hold another")
	}
	place := layout{root: root, bulk: kinds[true]}
	return place, z.documents(entries, place)
}

func isMarker(base string) bool {
	name := strings.TrimSuffix(base, path.Ext(base))
	return base == manifestName || name == string(dsul.Index) && slices.Contains(extensions(), path.Ext(base))
}

// canBeRoot tells whether a workspace may stand in this folder. The folders of a workspace itself may not: a page called
// index is not the index of a workspace.
func canBeRoot(folder string) bool {
	name := strings.TrimSuffix(folder, "/")
	return !strings.Contains(name, "/") && !isFolder(name) && !isJunk(name) && folder != innerFolder
}

// isFolder tells whether documents of one kind stand in a folder of this name.
func isFolder(name string) bool {
	kind := dsul.Kind(name)
	return kind == dsul.Automation || kind == dsul.Page || kind == dsul.Import
}

// isJunk tells whether a path is what tools leave behind: hidden files, resources of the Finder, indexes of folders.
func isJunk(name string) bool {
	first, _, _ := strings.Cut(name, "/")
	base := path.Base(name)
	return strings.HasPrefix(name, ".") && name != "." || strings.Contains(name, "/.") || first == finderFolder ||
		strings.TrimSuffix(base, path.Ext(base)) == indexesName
}

// documents checks that every document has a valid path, and that no two files are the same one.
func (z *container) documents(entries []entry, place layout) error {
	taken := map[string]string{}
	for _, e := range entries {
		role, file := place.of(e)
		if role != document {
			continue
		}
		if _, _, ok := dsul.SplitPath(file.Path); !ok {
			return z.refuse(e.name, "its name is no slug: letters, digits, spaces, _ and -, in folders, at most 100 characters")
		}
		key := Fold(file.Path)
		if other, twice := taken[key]; twice {
			return z.refuse(e.name, "it is the same document as %s", shown(other))
		}
		taken[key] = e.name
	}
	return z.budget.inTime()
}

// of tells what an entry is, and for a document the path and extension of its file, for an inner archive its workspace.
func (l layout) of(e entry) (role, File) {
	name, inside := strings.CutPrefix(e.name, l.root)
	switch {
	case !inside, e.dir:
		return ignored, File{}
	case l.bulk:
		return bulkRole(name)
	case name == importName:
		return metadata, File{}
	case isJunk(name):
		return ignored, File{}
	}
	ext := path.Ext(name)
	file := File{Path: strings.TrimSuffix(name, ext), Ext: ext}
	folder, _, nested := strings.Cut(file.Path, "/")
	if !slices.Contains(extensions(), ext) || nested != isFolder(folder) || !dsul.Kind(folder).Known() {
		return ignored, File{}
	}
	return document, file
}

func bulkRole(name string) (role, File) {
	if name == manifestName {
		return manifest, File{}
	}
	id, ok := strings.CutPrefix(name, innerFolder)
	id, zipped := strings.CutSuffix(id, innerExt)
	if !ok || !zipped || !validID(id) {
		return ignored, File{}
	}
	return inner, File{Path: id}
}

// afford takes what the entries claim to need from the budget, before anything is unpacked.
func (z *container) afford(entries []entry, place layout) error {
	for _, e := range entries {
		role, _ := place.of(e)
		limit := z.budget.limits.File
		if role == inner {
			limit = z.budget.limits.Input
		}
		if e.size > limit {
			return tooLarge(z.named(e.name), "file", limit, "A file of the archive may have at most %d bytes.")
		}
		if err := z.budget.takeOutput(z.named(e.name), e.size); err != nil {
			return err
		}
	}
	return nil
}
