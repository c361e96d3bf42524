package gitcmd

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// Folders lists what stands directly in a folder of a commit and is no file: folders (mode 040000), links (120000) and
// submodules (160000), in the order of their names. A folder that does not exist has none; a file or link in its place is
// ErrNotFolder.
func (r *Repository) Folders(ctx context.Context, commit, folder string) ([]Entry, error) {
	if err := checkObjects(commit); err != nil {
		return nil, err
	}
	if strings.ContainsAny(folder, "\n\x00") {
		return nil, errFolder
	}
	places, err := r.lookUp(ctx, commit+":"+folder)
	if err != nil {
		return nil, err
	}
	switch places[0].kind {
	case "tree":
	case "":
		return nil, r.checkMissing(ctx, commit, folder)
	default:
		return nil, ErrNotFolder
	}
	out, err := r.output(ctx, NewCommand("ls-tree", "-z", "--full-tree").Values(places[0].object))
	if err != nil {
		return nil, err
	}
	var found []Entry
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		about, name, ok := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if !ok || len(fields) != 3 {
			return nil, errors.New("git ls-tree: a line cannot be read")
		}
		if fields[1] != "blob" || fields[0] == "120000" {
			found = append(found, Entry{Path: name, Mode: fields[0], Object: fields[2]})
		}
	}
	return found, nil
}

// Find looks for files and folders of a commit, all at once. The answer has an entry for each, without a mode; those that do
// not exist have no object.
func (r *Repository) Find(ctx context.Context, commit string, paths ...string) ([]Entry, error) {
	if err := checkObjects(commit); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(paths))
	for _, path := range paths {
		if strings.ContainsAny(path, "\n\x00") {
			return nil, errFolder
		}
		names = append(names, commit+":"+path)
	}
	places, err := r.lookUp(ctx, names...)
	if err != nil {
		return nil, err
	}
	found := make([]Entry, 0, len(places))
	for i, place := range places {
		size, _ := strconv.ParseInt(place.size, 10, 64)
		found = append(found, Entry{Path: paths[i], Object: place.object, Size: size})
	}
	return found, nil
}

// Lacks gives those of some objects that are not there, asking once for all of them.
func (r *Repository) Lacks(ctx context.Context, objects ...string) (missing []string, err error) {
	if err := checkObjects(objects...); err != nil {
		return nil, err
	}
	places, err := r.lookUp(ctx, objects...)
	for i, place := range places {
		if place.kind == "" {
			missing = append(missing, objects[i])
		}
	}
	return missing, err
}
