package definitions

import (
	"context"
	"encoding/json"
	"time"

	"go.yaml.in/yaml/v3"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/compare"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

// The states of a workspace that can be compared, besides its native versions by their names.
const (
	// LastPush is what was last pushed to a repository, LastImport what was last imported.
	LastPush   = "lastPush"
	LastImport = "lastImport"
	// InArchive is an archive that the caller sends.
	InArchive = "archive"
)

// DocumentDiff is how a document differs between two states of a workspace.
type DocumentDiff struct {
	Path   string `json:"path" doc:"The document, such as automations/hello."`
	Status string `json:"status" enum:"added,removed,changed" doc:"What happened to it."`
	// Insertions and Deletions count lines.
	Insertions int              `json:"insertions" doc:"How many lines were added."`
	Deletions  int              `json:"deletions" doc:"How many lines were removed."`
	Text       string           `json:"text" doc:"The change as a unified diff of the texts."`
	Keys       []compare.Change `json:"keys" nullable:"false" doc:"The change by key paths: what the text means, whatever it looks like."`
	Omitted    bool             `json:"omitted,omitempty" doc:"Whether the text and the key paths are left out, because there are too many changes to show."`
}

// mostShown is how many bytes of texts and values a comparison shows.
const mostShown = 8 << 20

// size is how much a document adds to a comparison.
func (d DocumentDiff) size() int {
	size := len(d.Text)
	for _, key := range d.Keys {
		size += len(key.Path) + len(key.From) + len(key.To)
	}
	return size
}

// Diff compares two states of a workspace that the caller may read, document by document. Uploaded are the documents of an
// archive, for the state InArchive.
func (d *Definitions) Diff(ctx context.Context, ref, from, to string, uploaded []File) ([]DocumentDiff, error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return nil, err
	}
	before, err := d.state(ctx, v.Workspace.ID, from, uploaded)
	if err != nil {
		return nil, err
	}
	after, err := d.state(ctx, v.Workspace.ID, to, uploaded)
	if err != nil {
		return nil, err
	}
	diffs, left := []DocumentDiff{}, mostShown
	for _, path := range unionOfKeys(before, after) {
		old, had := before[path]
		current, has := after[path]
		if had && has && old.Hash == current.Hash && old.Ext == current.Ext {
			continue
		}
		diff, err := d.diffOne(ctx, v.Workspace.ID, path, old, current)
		if err != nil {
			return nil, err
		}
		if left -= diff.size(); left < 0 {
			diff.Text, diff.Keys, diff.Omitted, left = "", []compare.Change{}, true, 0
		}
		diffs = append(diffs, diff)
	}
	return diffs, nil
}

func unionOfKeys(a, b map[string]File) []string {
	all := make(map[string]bool, len(a))
	for path := range a {
		all[path] = true
	}
	for path := range b {
		all[path] = true
	}
	return sortedKeys(all)
}

// state lists the documents of a state of a workspace. Texts that are stored are read when they are needed.
func (d *Definitions) state(ctx context.Context, workspaceID, name string, uploaded []File) (map[string]File, error) {
	documents := map[string]File{}
	var tree []store.Entry
	var err error
	switch name {
	case InArchive:
		if uploaded == nil {
			return nil, errs.Parameter("from", "send the archive with POST to compare with it")
		}
		for _, file := range uploaded {
			documents[file.Path] = file
		}
		return documents, nil
	case Current:
		tree, err = store.Tree(ctx, d.DB, workspaceID)
	case LastPush:
		tree, err = d.keptTree(ctx, workspaceID, store.Pushed, "The workspace has not been pushed yet.")
	case LastImport:
		tree, err = d.keptTree(ctx, workspaceID, store.Imported, "Nothing has been imported into the workspace yet.")
	default:
		var version store.Version
		if version, err = d.nativeVersion(ctx, d.DB, workspaceID, name); err == nil {
			tree, err = store.GetTree(ctx, d.DB, workspaceID, version.Tree)
		}
	}
	for _, entry := range tree {
		documents[entry.Path] = File{Entry: entry}
	}
	return documents, err
}

func (d *Definitions) keptTree(ctx context.Context, workspaceID, kind, otherwise string) ([]store.Entry, error) {
	kept, err := store.GetVersion(ctx, d.DB, workspaceID, kind, "")
	if sqldb.IsNotFound(err) {
		return nil, errs.New(errs.NotFound, otherwise).With("subjectType", "versions")
	}
	if err != nil {
		return nil, err
	}
	return store.GetTree(ctx, d.DB, workspaceID, kept.Tree)
}

// diffContext is how many unchanged lines a text diff shows around a change.
const diffContext = 3

func (d *Definitions) diffOne(ctx context.Context, workspaceID, path string, from, to File) (DocumentDiff, error) {
	diff := DocumentDiff{Path: path, Status: "changed"}
	switch {
	case from.Hash == "":
		diff.Status = "added"
	case to.Hash == "":
		diff.Status = "removed"
	}
	before, beforeText, err := d.side(ctx, workspaceID, path, from)
	if err != nil {
		return diff, err
	}
	after, afterText, err := d.side(ctx, workspaceID, path, to)
	if err != nil {
		return diff, err
	}
	var stats compare.Stats
	diff.Text, stats = compare.Unified(path+from.Ext, path+to.Ext, beforeText, afterText, diffContext)
	if diff.Status == "changed" && from.Ext != to.Ext {
		diff.Text = moved(path+from.Ext, path+to.Ext) + diff.Text
	}
	diff.Insertions, diff.Deletions = stats.Insertions, stats.Deletions
	diff.Keys = compare.Keys(before.root(), after.root())
	if diff.Keys == nil {
		diff.Keys = []compare.Change{}
	}
	return diff, nil
}

// moved is how git says that a file has another name. The names of documents need no quotes.
func moved(from, to string) string {
	return "diff --git a/" + from + " b/" + to + "\nsimilarity index 50%\nrename from " + from + "\nrename to " + to + "\n"
}

// side gives one side of a comparison: the document and its text, or nothing.
func (d *Definitions) side(ctx context.Context, workspaceID, path string, file File) (side, []byte, error) {
	if file.Hash == "" {
		return side{}, nil, nil
	}
	if file.Text == nil {
		parsed, text, err := d.parse(ctx, d.DB, workspaceID, store.Document{Path: path, Hash: file.Hash})
		return side{parsed}, text, err
	}
	kind, slug, _ := dsul.SplitPath(path)
	parsed, problems := dsul.Parse(kind, slug, file.Text)
	return side{parsed}, file.Text, problems.Err()
}

// Status is how a workspace stands against what was last imported.
type Status struct {
	ImportedAt time.Time
	// Findings are what the import reported, as JSON.
	Findings json.RawMessage
	// Changes are the documents that are different by now.
	Changes []StatusChange
	Metas   map[dsul.Kind]map[string]Meta
	Dirty   bool
}

// StatusChange is a document that was changed since the last import.
type StatusChange struct {
	Type     string    `json:"type" enum:"automations,imports,pages,index,security" doc:"The kind of document."`
	Slug     string    `json:"slug,omitempty" doc:"Its slug."`
	Current  string    `json:"currentChecksum,omitempty" doc:"The checksum it has; absent when it was deleted."`
	Expected string    `json:"expectedChecksum,omitempty" doc:"The checksum it had; absent when it is new."`
	At       time.Time `json:"updatedAt,omitzero" doc:"When it was changed."`
	By       string    `json:"updatedBy,omitempty" doc:"By whom."`
}

// Status tells what has changed in a workspace since the last import.
func (d *Definitions) Status(ctx context.Context, ref string) (status Status, err error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return status, err
	}
	status.Dirty = v.Workspace.Dirty()
	if status.Metas, err = d.Metas(ctx, v.Workspace.ID); err != nil {
		return status, err
	}
	kept, err := store.GetVersion(ctx, d.DB, v.Workspace.ID, store.Imported, "")
	if sqldb.IsNotFound(err) {
		return status, nil
	}
	if err != nil {
		return status, err
	}
	status.ImportedAt, status.Findings = kept.CreatedAt, json.RawMessage(kept.Description)
	tree, err := store.GetTree(ctx, d.DB, v.Workspace.ID, kept.Tree)
	if err != nil {
		return status, err
	}
	status.Changes, err = d.changesSince(ctx, v.Workspace.ID, tree)
	return status, err
}

func (d *Definitions) changesSince(ctx context.Context, workspaceID string, tree []store.Entry) ([]StatusChange, error) {
	now, err := store.Documents(ctx, d.DB, workspaceID, "")
	if err != nil {
		return nil, err
	}
	expected := make(map[string]string, len(tree))
	for _, entry := range tree {
		expected[entry.Path] = entry.Hash
	}
	changes := []StatusChange{}
	add := func(path, current, before string, at time.Time, by string) {
		kind, slug, _ := dsul.SplitPath(path)
		changes = append(changes, StatusChange{Type: string(kind), Slug: slug, Current: current, Expected: before, At: at, By: by})
	}
	for _, document := range now {
		if before := expected[document.Path]; before != document.Hash {
			add(document.Path, document.Hash, before, document.UpdatedAt, document.UpdatedBy)
		}
		delete(expected, document.Path)
	}
	for _, path := range sortedKeys(expected) {
		add(path, "", expected[path], time.Time{}, "")
	}
	return changes, nil
}

// side is a document of a comparison, which may be none.
type side struct{ document *dsul.Document }

func (s side) root() *yaml.Node {
	if s.document == nil {
		return nil
	}
	return s.document.Root
}
