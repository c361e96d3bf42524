package assemble

import (
	"context"
	"maps"
	"slices"
	"strings"

	"atelier/internal/dsul"
	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/builtin"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

// What a tree may hold: apps in apps can be more than anybody meant.
const (
	maxPlaces = 500
	maxDepth  = 20
	maxSize   = 64 << 20
)

// use is an app in a version.
type use struct{ app, version string }

// version is a version of an app that was read.
type version struct {
	name      string
	documents []*dsul.Document
	// gone says why there is none.
	gone string
}

// walk fills a tree.
type walk struct {
	reader      *Reader
	r           sqldb.Reader
	tree        *assembly.Tree
	automations bool
	places      int
	// versions are those that were read, marks those of all apps that were looked for; empty for one that does not exist.
	versions map[use]*version
	marks    map[string]string
}

// apps gives the slugs of the apps that were looked for, and the marks of those that there are.
func (w *walk) apps() (slugs []string, mark string) {
	var marks []string
	for _, slug := range slices.Sorted(maps.Keys(w.marks)) {
		slugs = append(slugs, slug)
		if w.marks[slug] != "" {
			marks = append(marks, w.marks[slug])
		}
	}
	return slugs, strings.Join(marks, ",")
}

// parse reads texts of an app, or of the workspace, but not those of automations. One that cannot be read is left out: the
// others run.
func (w *walk) parse(app string, parts []store.Part) []*dsul.Document {
	documents := make([]*dsul.Document, 0, len(parts))
	for _, part := range parts {
		kind, slug, _ := dsul.SplitPath(part.Path)
		w.tree.Size += int64(len(part.Text))
		if kind == dsul.Automation {
			documents = append(documents, &dsul.Document{Kind: kind, Slug: slug, Text: []byte(part.Text)})
			continue
		}
		doc, _ := dsul.Parse(kind, slug, []byte(part.Text))
		if doc.Root == nil {
			w.skip(part.Path, app, "it cannot be read any more")
			continue
		}
		documents = append(documents, doc)
	}
	return documents
}

func (w *walk) skip(what, app, reason string) {
	w.tree.Skipped = append(w.tree.Skipped, assembly.Skip{What: what, App: app, Reason: reason})
}

// fill gives a place its documents, and reads the app instances among them. Above are the apps that the place is in.
func (w *walk) fill(ctx context.Context, place *assembly.Place, documents []*dsul.Document, above []string) error {
	split(documents, place)
	for _, instance := range place.Imports {
		summary := instance.Summary()
		if summary.Disabled {
			continue
		}
		made := &assembly.Place{App: summary.AppSlug, Instance: instance.Slug, Import: instance}
		reason, err := w.install(ctx, made, use{app: summary.AppSlug, version: summary.AppVersion}, above)
		if err != nil {
			return err
		}
		if reason != "" {
			w.skip(instance.Path(), summary.AppSlug, reason)
			continue
		}
		place.Instances = append(place.Instances, made)
	}
	return nil
}

// install fills an app instance. Otherwise it says why it is left out.
func (w *walk) install(ctx context.Context, place *assembly.Place, of use, above []string) (reason string, err error) {
	w.places++
	switch {
	case w.places > maxPlaces || len(above) >= maxDepth || w.tree.Size > maxSize:
		return "there are too many apps inside each other", nil
	case slices.Contains(above, of.app):
		return "the app contains itself", nil
	case of.app == "":
		return "it names no app", nil
	}
	word := strings.ReplaceAll(of.app, " ", "")
	place.Environment, place.Secrets = w.reader.environ("APP_CONFIG_"+word+"_"), w.reader.environ("APP_SECRET_"+word+"_")
	if _, known := builtin.Find(of.app); known {
		place.Builtin, place.Version = true, builtin.Version
		return "", nil
	}
	read, err := w.version(ctx, of)
	if err != nil || read.gone != "" {
		return read.gone, err
	}
	place.Version = read.name
	return "", w.fill(ctx, place, read.documents, append(slices.Clone(above), of.app))
}

// version reads a version of an app, once for the whole tree.
func (w *walk) version(ctx context.Context, of use) (*version, error) {
	if read := w.versions[of]; read != nil {
		return read, nil
	}
	read := &version{}
	mark, name, entries, err := store.AppTree(ctx, w.r, of.app, of.version)
	switch {
	case sqldb.IsNotFound(err):
		read.gone = "there is no such app"
	case err != nil:
		return read, err
	case name == "":
		read.gone = "the app has no such version"
	default:
		read.name = name
		if read.documents, err = w.documents(ctx, of.app, entries); err != nil {
			return read, err
		}
	}
	if _, seen := w.marks[of.app]; !seen { // the first one is the oldest: a later one could hide a change
		w.marks[of.app] = mark
	}
	w.versions[of] = read
	return read, nil
}

// documents reads what of a version of an app runs.
func (w *walk) documents(ctx context.Context, app string, entries []store.Entry) ([]*dsul.Document, error) {
	var hashes []string
	var wanted []store.Entry
	for _, entry := range entries {
		kind, _, ok := dsul.SplitPath(entry.Path)
		if !ok || kind == dsul.Page || kind == dsul.Security || kind == dsul.Automation && !w.automations {
			continue
		}
		wanted, hashes = append(wanted, entry), append(hashes, entry.Hash)
	}
	texts, err := store.AppTexts(ctx, w.r, app, hashes)
	if err != nil {
		return nil, err
	}
	parts := make([]store.Part, 0, len(wanted))
	for _, entry := range wanted {
		if text, there := texts[entry.Hash]; there { // otherwise the app is being deleted, and the stamp tells
			parts = append(parts, store.Part{Path: entry.Path, Text: text})
		}
	}
	return w.parse(app, parts), nil
}
