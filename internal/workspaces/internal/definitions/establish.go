package definitions

import (
	"context"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/dsul"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/store"
)

// Establish stores a new workspace with its first documents: an index, and the security that it is given, which is that of
// every new workspace when there is none. They are kept as what nobody has edited yet. Whoever calls it gives somebody the
// workspace. A slug that is taken is a unique failure.
func (d *Definitions) Establish(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, index *dsul.Document) error {
	if err := store.Insert(ctx, tx, w); err != nil {
		return err
	}
	if err := d.Access.InitSecurity(ctx, tx, w.ID); err != nil {
		return err
	}
	if err := d.firstDocuments(ctx, tx, w, index); err != nil {
		return err
	}
	tree, err := d.KeepTree(ctx, tx, w.ID)
	if err != nil {
		return err
	}
	return store.PutVersion(ctx, tx, w.ID, store.Version{Kind: store.First, Tree: tree, Revision: w.Revision, CreatedAt: w.CreatedAt, CreatedBy: w.CreatedBy})
}

// firstDocuments gives a workspace its index and the security that access keeps of it as documents.
func (d *Definitions) firstDocuments(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, index *dsul.Document) error {
	saved, err := access.LoadSecurity(ctx, tx, w.ID)
	if err != nil {
		return err
	}
	security, problems := dsul.Parse(dsul.Security, "", saved.Document)
	if err := problems.Err(); err != nil {
		return errs.Wrap(err, "read the security of a workspace")
	}
	revision := store.Revision{Revision: w.Revision, Reason: Edited, CreatedAt: w.UpdatedAt, CreatedBy: w.UpdatedBy}
	for _, doc := range []*dsul.Document{index, security} {
		summary, err := json.Marshal(doc.Summary())
		if err != nil {
			return err
		}
		hash, err := store.PutText(ctx, tx, w.ID, doc.Text)
		if err != nil {
			return err
		}
		stored := store.Document{
			Path: string(doc.Kind), Ext: ".yml", Hash: hash, Size: int64(len(doc.Text)), Revision: w.Revision, Summary: string(summary), Registered: registers(doc),
			CreatedAt: w.UpdatedAt, CreatedBy: w.UpdatedBy, UpdatedAt: w.UpdatedAt, UpdatedBy: w.UpdatedBy,
		}
		if err := store.PutDocument(ctx, tx, w.ID, stored); err != nil {
			return err
		}
		revision.Changes = append(revision.Changes, store.Change{Path: stored.Path, AfterHash: hash, AfterExt: stored.Ext})
	}
	return store.AddRevision(ctx, tx, w.ID, revision)
}

// TellCreated stores the events of a new workspace.
func (d *Definitions) TellCreated(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace) error {
	saved, err := access.LoadSecurity(ctx, tx, w.ID)
	if err != nil {
		return err
	}
	if err := d.Emit(ctx, tx, w.ID, &catalogue.WorkspaceCreated{Workspace: Facts(w)}); err != nil {
		return err
	}
	return d.audit(ctx, tx, w.ID, SecurityUpdated(w.ID, nil, saved.Security))
}

// Audit stores the event of a security-relevant act of the caller.
func (d *Definitions) Audit(ctx context.Context, tx *sqldb.Tx, workspaceID string, act envelope.Act) error {
	return d.audit(ctx, tx, workspaceID, act)
}

// NewIndex writes the index of a workspace from what is known of it.
func NewIndex(w workspaces.Workspace) *dsul.Document {
	root := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	add := func(key string, value *yaml.Node) { root.Content = append(root.Content, scalar("!!str", key), value) }
	add("name", scalar("!!str", w.Name))
	add("slug", scalar("!!str", w.Slug))
	if w.Description != "" {
		add("description", scalar("!!str", w.Description))
	}
	if len(w.Labels) > 0 {
		list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, label := range w.Labels {
			list.Content = append(list.Content, scalar("!!str", label))
		}
		add("labels", list)
	}
	doc, _ := dsul.Parse(dsul.Index, "", dsul.Encode(root))
	return doc
}

// Backfill gives the workspaces that were made before there were documents their index and security.
func (d *Definitions) Backfill(ctx context.Context) error {
	ids, err := store.WithoutIndex(ctx, d.DB)
	if err != nil {
		return err
	}
	for _, id := range ids {
		err := d.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			w, err := store.Hold(ctx, tx, id)
			if err != nil {
				return err
			}
			if _, err := store.GetDocument(ctx, tx, id, string(dsul.Index)); err == nil {
				return nil // another instance was first
			}
			w.Revision++
			if err := store.Save(ctx, tx, w); err != nil {
				return err
			}
			return d.firstDocuments(ctx, tx, w, NewIndex(w))
		})
		if err != nil && !sqldb.IsNotFound(err) {
			return errs.Wrap(err, "give a workspace its index")
		}
	}
	return nil
}
