package archive

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/errs"
)

// How long a text of .import.yml may be in characters, and a list in items.
const (
	maxText  = 200
	maxProse = 4000
	maxItems = 1000
)

// dependency is how what a workspace depends on begins.
const dependency = "app/"

var sumPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`) //nolint:gochecknoglobals // compiled once

// ParseImport reads the text of .import.yml. Keys it does not know are left out; a value of the wrong type is refused.
func ParseImport(text []byte) (*ImportInfo, error) {
	parsed, problems := dsul.Parse(dsul.Index, "", text)
	if err := problems.Err(); err != nil {
		return nil, inFile(err, importName)
	}
	r := &importReader{document: parsed}
	info := &ImportInfo{
		WorkspaceID: r.text(maxText, "workspaceId"),
		Groups:      r.list("groups"),
		DependsOn:   r.list("dependsOn"),
		App:         r.app(),
		Checksums:   r.checksums(),
	}
	if r.mapping("version") != nil {
		info.Version = VersionInfo{
			Type: r.text(maxText, "version", "type"), Name: r.text(maxText, "version", "name"),
			ExportedAt: r.time("version", "exportedAt"), ImportedAt: r.time("version", "importedAt"),
		}
	}
	for i, on := range info.DependsOn {
		if slug, ok := strings.CutPrefix(on, dependency); !ok || !dsul.ValidSlug(slug) {
			r.report("must be app/ and the slug of an app", fmt.Sprintf("dependsOn[%d]", i))
		}
	}
	if len(r.fields) > 0 {
		return nil, inFile(errs.Invalid(r.fields...), importName)
	}
	info.Notes = r.notes
	return info, nil
}

// inFile names the file in the fields of a validation failure.
func inFile(err error, name string) error {
	failure, ok := errors.AsType[*errs.Error](err)
	if !ok {
		return err
	}
	for i, field := range failure.Fields {
		if field.Field == "" {
			failure.Fields[i].Field = name
		} else {
			failure.Fields[i].Field = name + ": " + field.Field
		}
	}
	return failure
}

// within names the inner archive in the fields of a validation failure.
func (z *container) within(err error) error {
	if failure, ok := errors.AsType[*errs.Error](err); ok {
		for i, field := range failure.Fields {
			failure.Fields[i].Field = z.named(field.Field)
		}
	}
	return err
}

// importReader takes typed values out of the document and remembers what was wrong with them.
type importReader struct {
	document *dsul.Document
	fields   []errs.Field
	notes    []string
}

func (r *importReader) report(message string, path ...string) {
	if len(r.fields) < maxShown {
		r.fields = append(r.fields, errs.Field{Field: shown(strings.Join(path, ".")), Message: message})
	}
}

func (r *importReader) note(message string, path ...string) {
	if len(r.notes) < maxShown {
		r.notes = append(r.notes, shown(strings.Join(path, "."))+" "+message)
	}
}

// get is the value at a path, nil when it is absent or null.
func (r *importReader) get(path ...string) *yaml.Node {
	n := r.document.Get(path...)
	if n != nil && n.Kind == yaml.ScalarNode && dsul.Tag(n) == "!!null" {
		return nil
	}
	return n
}

// mapping is the map at a path.
func (r *importReader) mapping(path ...string) *yaml.Node {
	n := r.get(path...)
	if n != nil && n.Kind != yaml.MappingNode {
		r.report("must be a map of keys and values", path...)
		return nil
	}
	return n
}

// text is the scalar at a path as it was written: a version called 1.10 is not 1.1.
func (r *importReader) text(most int, path ...string) string {
	n := r.get(path...)
	if n == nil {
		return ""
	}
	return r.scalar(n, most, path...)
}

func (r *importReader) scalar(n *yaml.Node, most int, path ...string) string {
	switch {
	case n.Kind != yaml.ScalarNode:
		r.report("must be a text", path...)
	case utf8.RuneCountInString(n.Value) > most:
		r.report(fmt.Sprintf("may have at most %d characters", most), path...)
	default:
		return n.Value
	}
	return ""
}

// localized is the text at a path, or the English, or else the first one, of a text in several languages.
func (r *importReader) localized(most int, path ...string) string {
	n := r.get(path...)
	if n == nil || n.Kind != yaml.MappingNode || len(n.Content) < 2 {
		return r.text(most, path...)
	}
	language := "en"
	if r.get(append(path, language)...) == nil {
		language = n.Content[0].Value
	}
	r.note("is in several languages, of which one was read", path...)
	return r.text(most, append(path, language)...)
}

// list is the list of texts at a path.
func (r *importReader) list(path string) []string {
	n := r.get(path)
	switch {
	case n == nil:
		return nil
	case n.Kind != yaml.SequenceNode:
		r.report("must be a list of texts", path)
		return nil
	case len(n.Content) > maxItems:
		r.report(fmt.Sprintf("may have at most %d items", maxItems), path)
		return nil
	}
	items := make([]string, 0, len(n.Content))
	for i := range n.Content {
		at := fmt.Sprintf("%s[%d]", path, i)
		item := r.get(path, fmt.Sprint(i))
		if item == nil {
			r.report("must be a text", at)
			continue
		}
		items = append(items, r.scalar(item, maxText, at))
	}
	return items
}

func (r *importReader) time(path ...string) *time.Time {
	text := r.text(maxText, path...)
	if text == "" {
		return nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.report("must be a time such as 2026-01-31T12:00:00Z", path...)
		return nil
	}
	at = at.UTC()
	return &at
}

func (r *importReader) app() *AppInfo {
	if r.mapping("app") == nil {
		return nil
	}
	app := &AppInfo{
		Slug: r.text(maxText, "app", "slug"), Name: r.localized(maxText, "app", "name"), Description: r.localized(maxProse, "app", "description"),
	}
	if !dsul.ValidSlug(app.Slug) {
		r.report("must be a slug: letters, digits, spaces, _ and -, at most 100 characters", "app", "slug")
	}
	return app
}

// checksums reads those we can verify. Others, such as MD5, are left out with a note: they prove nothing.
func (r *importReader) checksums() map[string]map[string]string {
	kinds := r.mapping("checksums")
	if kinds == nil {
		return nil
	}
	all := map[string]map[string]string{}
	for i := 0; i+1 < len(kinds.Content); i += 2 {
		kind := kinds.Content[i].Value
		if !isFolder(kind) {
			r.note("is left out: there are checksums of automations, pages and imports", "checksums", kind)
			continue
		}
		if sums := r.sums(kind); len(sums) > 0 {
			all[kind] = sums
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}

func (r *importReader) sums(kind string) map[string]string {
	files := r.mapping("checksums", kind)
	if files == nil {
		return nil
	}
	sums := make(map[string]string, len(files.Content)/2)
	for i := 0; i+1 < len(files.Content); i += 2 {
		slug, value := files.Content[i].Value, files.Content[i+1]
		if value.Kind == yaml.AliasNode {
			value = value.Alias
		}
		sum := strings.ToLower(r.scalar(value, maxText, "checksums", kind, slug))
		switch {
		case !dsul.ValidSlug(slug):
			r.report("must be named by the slug of a file", "checksums", kind, slug)
		case sum == "":
		case !sumPattern.MatchString(sum):
			r.note("is left out: it is no SHA-256 checksum", "checksums", kind, slug)
		default:
			sums[slug] = sum
		}
	}
	return sums
}
