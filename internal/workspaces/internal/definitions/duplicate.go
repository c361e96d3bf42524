package definitions

import (
	"context"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// Content is the documents of a workspace, or of a version of it, that a caller may read.
type Content struct {
	Workspace workspaces.Workspace
	Files     []File
}

// File is a document with its text.
type File struct {
	store.Entry

	Text []byte
}

// Content reads the documents of a workspace: as they are now, or those of a native version.
func (d *Definitions) Content(ctx context.Context, ref, version string) (Content, error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return Content{}, err
	}
	if err := d.readsAll(ctx, v); err != nil {
		return Content{}, err
	}
	files, err := d.files(ctx, d.DB, v.Workspace.ID, version)
	return Content{Workspace: v.Workspace, Files: files}, err
}

// TreeOf lists the documents of a workspace that the caller may read: as they are now, or those of a native version.
func (d *Definitions) TreeOf(ctx context.Context, ref, version string) (workspaces.Workspace, []store.Entry, error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return workspaces.Workspace{}, nil, err
	}
	if err := d.readsAll(ctx, v); err != nil {
		return workspaces.Workspace{}, nil, err
	}
	if version == Current {
		tree, err := store.Tree(ctx, d.DB, v.Workspace.ID)
		return v.Workspace, tree, err
	}
	kept, err := d.nativeVersion(ctx, d.DB, v.Workspace.ID, version)
	if err != nil {
		return workspaces.Workspace{}, nil, err
	}
	tree, err := store.GetTree(ctx, d.DB, v.Workspace.ID, kept.Tree)
	return v.Workspace, tree, err
}

// Files reads the documents of a workspace inside a transaction: as they are now, or those of a native version. It asks
// nobody whether they may be read.
func (d *Definitions) Files(ctx context.Context, r sqldb.Reader, workspaceID, version string) ([]File, error) {
	return d.files(ctx, r, workspaceID, version)
}

func (d *Definitions) files(ctx context.Context, r sqldb.Reader, workspaceID, version string) (files []File, err error) {
	if version == Current {
		err := store.EachText(ctx, r, workspaceID, func(doc store.Document, text []byte) error {
			files = append(files, File{Entry: store.Entry{Path: doc.Path, Ext: doc.Ext, Hash: doc.Hash}, Text: text})
			return nil
		})
		return files, err
	}
	kept, err := d.nativeVersion(ctx, r, workspaceID, version)
	if err != nil {
		return nil, err
	}
	tree, err := store.GetTree(ctx, r, workspaceID, kept.Tree)
	if err != nil {
		return nil, err
	}
	for _, entry := range tree {
		text, err := store.Text(ctx, r, workspaceID, entry.Hash)
		if err != nil {
			return nil, err
		}
		files = append(files, File{Entry: entry, Text: text})
	}
	return files, nil
}

// copied ends the name of a duplicate.
const copied = " - Copie"

// longestName is the longest name of a workspace.
const longestName = 60

// originals are the keys of an index that are about the original alone: which it is, where it is served, and where it is
// pushed to.
func originals() []string {
	return []string{"id", "customDomains", "repositories", "platformRepositories"}
}

// DuplicateIndex is the index of a duplicate: under another name and slug, and without the keys and the labels that single
// out the original.
func DuplicateIndex(text []byte, name, slug string) (*dsul.Document, error) {
	index, problems := dsul.Parse(dsul.Index, "", text)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	runes := []rune(name)
	name = strings.TrimSpace(string(runes[:min(len(runes), longestName-len(copied))])) + copied
	text, err := splice.Set(text, []string{"name"}, scalar("!!str", name))
	if err != nil {
		return nil, err
	}
	if text, err = splice.Set(text, []string{"slug"}, scalar("!!str", slug)); err != nil {
		return nil, err
	}
	for _, key := range originals() {
		if text, err = splice.Delete(text, []string{key}); err != nil {
			return nil, err
		}
	}
	if labels := Labels(index); len(labels) > 0 {
		kept := slices.DeleteFunc(labels, func(l string) bool { return l == "suggestions" || strings.HasPrefix(l, "production:") })
		if text, err = splice.Set(text, []string{"labels"}, texts(kept)); err != nil {
			return nil, err
		}
	}
	duplicate, problems := dsul.Parse(dsul.Index, "", text)
	return duplicate, problems.Err()
}

func texts(list []string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, text := range list {
		n.Content = append(n.Content, scalar("!!str", text))
	}
	return n
}

// removeOnDuplicate is the reason of rules that are for the original alone.
const removeOnDuplicate = "REMOVE_ON_DUPLICATE"

// DuplicateSecurity is the security of a duplicate: without the rules that are for the original alone.
func DuplicateSecurity(text []byte) ([]byte, error) {
	doc, problems := dsul.Parse(dsul.Security, "", text)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	rules := doc.Get("authorizations", "rules")
	if rules == nil || rules.Kind != yaml.SequenceNode {
		return text, nil
	}
	kept := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, rule := range rules.Content {
		if !forOriginal(rule) {
			kept.Content = append(kept.Content, rule)
		}
	}
	if len(kept.Content) == len(rules.Content) {
		return text, nil
	}
	return splice.Set(text, []string{"authorizations", "rules"}, kept)
}

func forOriginal(rule *yaml.Node) bool {
	for i := 0; rule.Kind == yaml.MappingNode && i+1 < len(rule.Content); i += 2 {
		if rule.Content[i].Value == "reason" && rule.Content[i+1].Value == removeOnDuplicate {
			return true
		}
	}
	return false
}

// Fill puts documents with their texts into a workspace that has just been made.
func (e *Edit) Fill(ctx context.Context, files []File) error {
	for _, file := range files {
		kind, slug, _ := dsul.SplitPath(file.Path)
		doc, problems := dsul.Parse(kind, slug, file.Text)
		if err := problems.Err(); err != nil {
			return err
		}
		if err := e.Put(ctx, doc, file.Ext); err != nil {
			return err
		}
	}
	return nil
}
