package versioning

import (
	"context"
	"maps"
	"slices"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/store"
)

// file is a document with its text.
type file struct {
	ext, hash string
	text      []byte
}

func fileOf(f archive.File) file { return file{ext: f.Ext, hash: store.Hash(f.Text), text: f.Text} }

// side is the documents of one side of a merge, by their paths.
type side map[string]file

func sideOf(files []archive.File) side {
	s := make(side, len(files))
	for _, f := range files {
		s[f.Path] = fileOf(f)
	}
	return s
}

// paths lists the documents in order.
func (s side) paths() []string { return slices.Sorted(maps.Keys(s)) }

// files are the documents in order.
func (s side) files() []archive.File {
	files := make([]archive.File, 0, len(s))
	for _, path := range s.paths() {
		files = append(files, archive.File{Path: path, Ext: s[path].ext, Text: s[path].text})
	}
	return files
}

// same tells whether two sides have the same document at a path, or neither has one.
func same(a, b side, path string) bool {
	x, inA := a[path]
	y, inB := b[path]
	return inA == inB && x.hash == y.hash && x.ext == y.ext
}

// equal tells whether two sides have the same documents.
func equal(a, b side) bool {
	if len(a) != len(b) {
		return false
	}
	for path := range a {
		if !same(a, b, path) {
			return false
		}
	}
	return true
}

// keep stores the documents of a side as a tree of the workspace, and gives its hash.
func keep(ctx context.Context, tx *sqldb.Tx, workspaceID string, s side) (string, error) {
	tree := make([]store.Entry, 0, len(s))
	for _, path := range s.paths() {
		hash, err := store.PutText(ctx, tx, workspaceID, s[path].text)
		if err != nil {
			return "", err
		}
		tree = append(tree, store.Entry{Path: path, Ext: s[path].ext, Hash: hash})
	}
	return store.PutTree(ctx, tx, workspaceID, tree)
}

// kept reads a side that was kept; the empty hash is the empty side.
func kept(ctx context.Context, r sqldb.Reader, workspaceID, hash string) (side, error) {
	if hash == "" {
		return side{}, nil
	}
	tree, err := store.GetTree(ctx, r, workspaceID, hash)
	if err != nil {
		return nil, err
	}
	s := make(side, len(tree))
	for _, entry := range tree {
		text, err := store.Text(ctx, r, workspaceID, entry.Hash)
		if err != nil {
			return nil, err
		}
		s[entry.Path] = file{ext: entry.Ext, hash: entry.Hash, text: text}
	}
	return s, nil
}

// local is a workspace at one moment, as others may see it.
type local struct {
	workspace workspaces.Workspace
	tree      []store.Entry
	side      side
}

// snapshot reads what leaves of a workspace.
func (v *Versioning) snapshot(ctx context.Context, workspaceID string) (local, error) {
	var now local
	// One transaction: the revision and the documents are of the same moment.
	err := v.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		if now.workspace, err = store.Get(ctx, tx, workspaceID); err != nil {
			return err
		}
		now.tree, err = store.Tree(ctx, tx, workspaceID)
		return err
	})
	if err != nil {
		return now, err
	}
	files, err := v.Archives.Leaving(ctx, workspaceID, now.tree)
	now.side = sideOf(files)
	return now, err
}
