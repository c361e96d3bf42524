package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"atelier/internal/access"
	"atelier/internal/dsul"
)

func lintCommand(p process) *cobra.Command {
	var asJSON, strict bool
	cmd := &cobra.Command{
		Use:   "lint DIR",
		Short: "Check the definition of a workspace in a folder",
		Long: `Check the definition of a workspace in a folder: index.yml, security.yml, and what is in automations, pages and imports,
as an export writes them. What is wrong is shown with its place, one line each, and the exit code is 1 when there are
errors. Links are not followed.`,
		Example: "  atelier lint ./my-workspace\n  atelier lint --strict --json ./my-workspace",
		Args:    takes("DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			found, err := lintFolder(args[0])
			if err != nil {
				return err
			}
			if strict {
				for i := range found {
					found[i].Severity = dsul.SeverityError
				}
			}
			return showFindings(p.out, found, asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "Print JSON.")
	cmd.Flags().BoolVar(&strict, "strict", false, "Take warnings for errors.")
	return cmd
}

// finding is a problem, and the file it is in.
type finding struct {
	File string `json:"file"`
	dsul.Problem
}

// folder is the definition of a workspace as files.
type folder struct {
	files     *os.Root
	documents []*dsul.Document
	names     map[string]string // the file of a document, by its path
	found     []finding
}

// inner is the folder of the workspace: the given one, or the only one in it when that is where the index is, as in an
// archive.
func inner(dir string) string {
	if found, _ := filepath.Glob(filepath.Join(dir, "index.*")); len(found) > 0 {
		return dir
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "*", "index.*")); len(found) == 1 {
		return filepath.Dir(found[0])
	}
	return dir
}

func lintFolder(dir string) (found []finding, err error) {
	root, err := os.OpenRoot(inner(dir))
	if err != nil {
		return nil, fmt.Errorf("cannot read %q: %w", dir, errors.Unwrap(err))
	}
	defer func() { err = errors.Join(err, root.Close()) }()
	f := &folder{files: root, names: map[string]string{}}
	if err := fs.WalkDir(root.FS(), ".", f.visit); err != nil {
		return nil, fmt.Errorf("cannot read the folder: %w", err)
	}
	if f.names["index"] == "" {
		f.add("index.yml", dsul.Problem{Document: "index", Code: "missing_index", Severity: dsul.SeverityError, Message: "there is no index.yml, the document of the workspace itself"})
	}
	for _, problem := range (dsul.Workspace{Documents: f.documents}).Lint() {
		f.add(f.names[problem.Document], problem)
	}
	slices.SortStableFunc(f.found, func(a, b finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return f.found, nil
}

func (f *folder) add(file string, problem dsul.Problem) {
	f.found = append(f.found, finding{File: file, Problem: problem})
}

// visit takes the files that belong to a definition and leaves the others alone.
func (f *folder) visit(name string, entry fs.DirEntry, err error) error {
	switch {
	case err != nil || name == ".":
		return err
	case !belongs(name):
		if entry.IsDir() {
			return fs.SkipDir
		}
		return nil
	case entry.IsDir():
		return nil
	case !entry.Type().IsRegular():
		f.add(name, dsul.Problem{Code: "not_a_file", Severity: dsul.SeverityWarning, Message: "this is not a regular file; it is left out"})
		return nil
	case !slices.Contains([]string{".yml", ".yaml", ".json"}, path.Ext(name)):
		return nil
	}
	return f.read(name)
}

// belongs tells whether a file or folder is part of a definition: not hidden, no index of a folder, below a folder of
// documents or one of the two documents beside them.
func belongs(name string) bool {
	base := path.Base(name)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "__index__.") {
		return false
	}
	top, _, _ := strings.Cut(name, "/")
	single := dsul.Kind(strings.TrimSuffix(top, path.Ext(top)))
	return dsul.Kind(top).Known() && !dsul.Kind(top).Single() || single.Single() && top == name
}

// read takes one document.
func (f *folder) read(name string) error {
	document := strings.TrimSuffix(name, path.Ext(name))
	kind, slug, ok := dsul.SplitPath(document)
	switch {
	case !ok:
		f.add(name, dsul.Problem{
			Code: "bad_path", Severity: dsul.SeverityError,
			Message: "the name of a file is the slug of what it defines: at most 100 letters, digits, spaces, _ and -",
		})
		return nil
	case f.names[document] != "":
		f.add(name, dsul.Problem{Document: document, Code: "duplicate_file", Severity: dsul.SeverityError, Message: f.names[document] + " defines the same document"})
		return nil
	}
	text, err := f.content(name)
	if err != nil {
		return err
	}
	f.names[document] = name
	parsed, problems := dsul.Parse(kind, slug, text)
	for _, problem := range problems {
		f.add(name, problem)
	}
	f.documents = append(f.documents, parsed)
	if kind == dsul.Security && parsed.Root != nil {
		f.security(name, parsed)
	}
	return nil
}

func (f *folder) content(name string) ([]byte, error) {
	const more = 2 << 20 // than a document may have
	file, err := f.files.Open(name)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(file, more))
	return text, errors.Join(err, file.Close())
}

// security checks the roles and rules of the workspace.
func (f *folder) security(name string, d *dsul.Document) {
	_, err := access.ParseSecurity(d.Text)
	for _, problem := range d.Refused("bad_security", err) {
		f.add(name, problem)
	}
}

func showFindings(out io.Writer, found []finding, asJSON bool) error {
	wrong := 0
	for _, one := range found {
		if one.Severity == dsul.SeverityError {
			wrong++
		}
	}
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(append([]finding{}, found...)); err != nil {
			return err
		}
	} else {
		for _, one := range found {
			_, _ = fmt.Fprintf(out, "%s:%d:%d: %s: %s (%s)\n", one.File, max(one.Line, 1), max(one.Column, 1), one.Severity, one.said(), one.Code)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("errors: %d, warnings: %d", wrong, len(found)-wrong)
	}
	return nil
}

// said is the message with its place inside the document.
func (f finding) said() string {
	if f.Path == "" {
		return f.Message
	}
	return f.Path + ": " + f.Message
}
