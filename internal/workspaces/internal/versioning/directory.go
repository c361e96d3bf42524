package versioning

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/archive"
)

// directory is the folder of a workspace in a directory of this machine. It has no history and no branches: what is seen is
// what is there, known by a checksum of it.
type directory struct {
	path   string
	limits archive.Limits
}

// unusable says that the directory cannot be used, without showing where it is.
func unusable(err error) error {
	return errs.New(errs.NotFound, "The directory of the repository cannot be used; ask the operator whether it is there and can be written.").
		With("subjectType", "repositories").Because(err)
}

// root opens the folder above the workspace's own, so that nothing leads out of it: no link is followed out of a root.
func (d *directory) root() (*os.Root, string, error) {
	base, name := filepath.Split(filepath.Clean(d.path))
	info, err := os.Lstat(base)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	if err != nil {
		return nil, "", unusable(err)
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, "", unusable(err)
	}
	return root, name, nil
}

func (d *directory) look(_ context.Context, version, _ string) (sight, error) {
	if version != latest {
		return sight{}, errs.Newf(errs.NotFound, "A directory has no versions; pull latest instead of %s.", version).With("subjectType", "versions")
	}
	root, name, err := d.root()
	if err != nil {
		return sight{}, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	var s sight
	if s.Names, err = d.names(root, name); err != nil {
		return sight{}, err
	}
	if s.Tree, err = checksum(root, name, s.Names); err != nil {
		return sight{}, unusable(err)
	}
	s.HeadTree = s.Tree
	return s, nil
}

// names lists the files that make a workspace, relative to its folder. Links among them are refused.
func (d *directory) names(root *os.Root, folder string) (names []string, err error) {
	var wrong []errs.Field
	err = fs.WalkDir(root.FS(), folder, func(at string, entry fs.DirEntry, err error) error {
		if err != nil {
			if at == folder && errors.Is(err, fs.ErrNotExist) {
				return fs.SkipAll // nothing was pushed yet
			}
			return err
		}
		name := strings.TrimPrefix(strings.TrimPrefix(at, folder), "/")
		_, _, is := archive.IsDocument(name)
		switch {
		case at == folder && !entry.IsDir():
			return errors.New("it is no folder")
		case entry.IsDir() || !is && name != archive.ImportName:
			return nil
		case !entry.Type().IsRegular():
			wrong = append(wrong, errs.Field{Field: name, Message: "it is no plain file; only plain files can be pulled"})
		case len(names) >= d.limits.Entries:
			return errs.Invalid(errs.Field{Field: name, Message: fmt.Sprintf("there are more than %d files", d.limits.Entries)})
		}
		names = append(names, name)
		return nil
	})
	if len(wrong) > 0 {
		return nil, errs.Invalid(wrong...)
	}
	if own, ok := errors.AsType[*errs.Error](err); ok {
		return nil, own
	}
	if err != nil {
		return nil, unusable(err)
	}
	slices.Sort(names)
	return names, nil
}

// checksum is that of the documents of a folder; empty when there are none. What says when they were exported is not one.
func checksum(root *os.Root, folder string, names []string) (string, error) {
	sum := sha256.New()
	documents := 0
	for _, name := range names {
		if name == archive.ImportName {
			continue
		}
		documents++
		text, err := root.ReadFile(path.Join(folder, name))
		if err != nil {
			return "", err
		}
		add(sum, name, text)
	}
	if documents == 0 {
		return "", nil
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// add adds a file to a checksum.
func add(sum hash.Hash, name string, text []byte) {
	_, _ = sum.Write(fmt.Appendf(nil, "%s\x00%d\x00", name, len(text))) // a checksum takes everything
	_, _ = sum.Write(text)
}

func (d *directory) read(_ context.Context, s sight) (*archive.Archive, error) {
	root, folder, err := d.root()
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	return archive.FromFolder(s.Names, d.limits, func(name string) ([]byte, error) {
		opened, err := root.Open(path.Join(folder, name))
		if err != nil {
			return nil, unusable(err)
		}
		defer opened.Close() //nolint:errcheck // nothing was written
		text, err := io.ReadAll(io.LimitReader(opened, d.limits.File+1))
		if err != nil {
			return nil, unusable(err)
		}
		return text, nil
	})
}

// whole is the content of the folder after a push: what is there, changed as the push says.
func (d *directory) whole(root *os.Root, folder string, s sight, o outgoing) (map[string][]byte, error) {
	content := maps.Clone(o.write)
	if content == nil {
		content = map[string][]byte{}
	}
	for _, name := range s.Names {
		if _, written := content[name]; written || slices.Contains(o.remove, name) {
			continue
		}
		text, err := root.ReadFile(path.Join(folder, name))
		if err != nil {
			return nil, unusable(err)
		}
		content[name] = text
	}
	return content, nil
}

func (d *directory) prepare(_ context.Context, s sight, o outgoing) (planned, error) {
	root, folder, err := d.root()
	if err != nil {
		return planned{}, err
	}
	defer root.Close() //nolint:errcheck // nothing was written
	content, err := d.whole(root, folder, s, o)
	if err != nil {
		return planned{}, err
	}
	sum := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(content)) {
		if name != archive.ImportName {
			add(sum, name, content[name])
		}
	}
	return planned{Tree: "sha256:" + hex.EncodeToString(sum.Sum(nil))}, nil
}

// send writes the files. Each is replaced whole, documents that are new or changed before those that go, so that a reader
// never finds half a file; what is only half written by a process that was killed is written again by the next push.
func (d *directory) send(_ context.Context, s sight, o outgoing, _ planned) error {
	root, folder, err := d.root()
	if err != nil {
		return err
	}
	defer root.Close() //nolint:errcheck // every file was closed
	now, err := d.names(root, folder)
	if err != nil {
		return err
	}
	if sum, err := checksum(root, folder, now); err != nil || sum != s.Tree {
		return errs.New(errs.Conflict, "The directory was changed while it was being written to; pull first.").WithStatus(http.StatusConflict)
	}
	if err := replaceAll(root, folder, o.write); err != nil {
		return unusable(err)
	}
	for _, name := range o.remove {
		if err := root.Remove(path.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unusable(err)
		}
	}
	return nil
}

// replaceAll writes files, each whole: it is what it was, or what it is to be. All of them are on the disk before the first one takes
// its place, so that a directory that is full or cannot be written stays what it was.
func replaceAll(root *os.Root, folder string, texts map[string][]byte) (err error) {
	w := &writing{root: root}
	defer func() {
		if err != nil {
			w.undo()
		}
	}()
	names := slices.Sorted(maps.Keys(texts))
	for _, name := range names {
		if err := w.part(path.Join(folder, name), texts[name]); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := root.Rename(partOf(path.Join(folder, name)), path.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func partOf(name string) string { return path.Join(path.Dir(name), "."+path.Base(name)+".part") }

// writing is files and folders that were made for files which have not taken their place yet.
type writing struct {
	root *os.Root
	made []string
}

// part writes a file beside the place that it is to take.
func (w *writing) part(name string, text []byte) error {
	if info, err := w.root.Lstat(name); err == nil && info.IsDir() {
		return fmt.Errorf("a folder stands in the place of %s", path.Base(name))
	}
	if err := w.folder(path.Dir(name)); err != nil {
		return err
	}
	w.made = append(w.made, partOf(name))
	out, err := w.root.OpenFile(partOf(name), os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return errors.Join(err, out.Sync(), out.Close())
}

// folder makes a folder, and those above it, and remembers which.
func (w *writing) folder(name string) error {
	if info, err := w.root.Stat(name); err == nil && info.IsDir() {
		return nil
	}
	if above := path.Dir(name); above != name && above != "." {
		if err := w.folder(above); err != nil {
			return err
		}
	}
	if err := w.root.Mkdir(name, 0o755); err != nil {
		return err
	}
	w.made = append(w.made, name)
	return nil
}

// undo removes what was made, the last first. A folder that somebody uses stays.
func (w *writing) undo() {
	for _, name := range slices.Backward(w.made) {
		_ = w.root.Remove(name) // what is in its place already is not there any more
	}
}

func (d *directory) arrived(ctx context.Context, p planned) (bool, error) {
	s, err := d.look(ctx, latest, "")
	return err == nil && s.Tree == p.Tree, err
}
