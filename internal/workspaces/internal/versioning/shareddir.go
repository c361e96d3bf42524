package versioning

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
)

// directories lists the folders of a repository that is a directory of this machine.
func (s *Shared) directories() ([]Folder, error) {
	info, err := os.Lstat(s.Repository.Folder)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	if err != nil {
		return nil, unusable(err)
	}
	root, err := os.OpenRoot(s.Repository.Folder)
	if err != nil {
		return nil, unusable(err)
	}
	defer root.Close() //nolint:errcheck // nothing was written
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return nil, unusable(err)
	}
	var folders []Folder
	for _, entry := range entries {
		if hidden(entry.Name()) || entry.Type().IsRegular() {
			continue
		}
		folder := Folder{Name: entry.Name()}
		switch {
		case !entry.IsDir():
			folder.Err, folder.Unfit = noFolder(folder.Name), true
		case checkSlug(folder.Name) != nil:
			folder.Err, folder.Unfit = checkSlug(folder.Name), true
		default:
			folder.Info, folder.Err = importInfo(root, folder.Name, s.v.limits().File)
		}
		folders = append(folders, folder)
	}
	return folders, nil
}

// importInfo is what a folder says of itself; nil when it says nothing.
func importInfo(root *os.Root, folder string, most int64) (*archive.ImportInfo, error) {
	name := path.Join(folder, archive.ImportName)
	info, err := root.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil //nolint:nilnil // it says nothing
	case err != nil:
		return nil, unusable(err)
	case !info.Mode().IsRegular():
		return nil, errs.Invalid(errs.Field{Field: archive.ImportName, Message: "it is no plain file; only plain files can be pulled"})
	case info.Size() > most:
		return nil, tooLarge(archive.ImportName)
	}
	opened, err := root.Open(name)
	if err != nil {
		return nil, unusable(err)
	}
	defer opened.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(opened, most))
	if err != nil {
		return nil, unusable(err)
	}
	return archive.ParseImport(text)
}

func hidden(name string) bool { return strings.HasPrefix(name, ".") }

func tooLarge(name string) error {
	return errs.Invalid(errs.Field{Field: name, Message: "it is too large for a document"})
}

func noFolder(name string) error {
	return errs.Invalid(errs.Field{Field: ShownName(name), Message: "it is no folder; only folders can be workspaces"})
}

// checkSlug refuses the name of a folder that no workspace can have.
func checkSlug(name string) error {
	if name == platformSlug {
		return errs.Invalid(errs.Field{Field: name, Message: "the platform workspace holds the lock while many are imported; pull it by itself"})
	}
	if !workspaces.ValidSlug(name) {
		return errs.Invalid(errs.Field{Field: ShownName(name), Message: "the folder is no slug of a workspace: use 1 to 64 of a-z, 0-9 and - between them"})
	}
	return nil
}

const platformSlug = "platform"

// ShownName is the name of a folder as it may be shown: short, and on one line.
func ShownName(name string) string {
	const most = 100
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(name, "?"))
	return string([]rune(clean)[:min(len([]rune(clean)), most)])
}
