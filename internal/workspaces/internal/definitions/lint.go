package definitions

import (
	"context"
	"encoding/json"
	"sync"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
)

// References are what a linter knows beyond the documents of a workspace.
type References interface {
	// SecretNames lists the secrets of a workspace.
	SecretNames(ctx context.Context, r sqldb.Reader, workspaceID string) ([]string, error)
	// AppFacts tells what an app offers; false when there is no such app.
	AppFacts(ctx context.Context, r sqldb.Reader, appSlug, version string) (*dsul.AppFacts, bool, error)
	// AppShape tells what instances of an app depend on; nil when there is no such app.
	AppShape(ctx context.Context, r sqldb.Reader, appSlug, version string) (*AppShape, error)
}

// AppShape is what instances of an app depend on.
type AppShape struct {
	// Config is the schema of their configuration, as JSON; nil when there is none.
	Config json.RawMessage
	// Events are those of the app.
	Events dsul.Events
}

// mostLinted is how much text is looked at in one go: the nodes of all documents are in memory at once, and take a hundred
// times that.
const mostLinted = 16 << 20

// turn lets one at a time do something that takes much memory. The zero turn is free.
type turn struct {
	once  sync.Once
	taken chan struct{}
}

// take waits for the turn, or until the context ends; whoever got it gives it back.
func (t *turn) take(ctx context.Context) (giveBack func(), err error) {
	t.once.Do(func() { t.taken = make(chan struct{}, 1) })
	select {
	case t.taken <- struct{}{}:
		return func() { <-t.taken }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Lint finds what is wrong with the documents of a workspace. Drafts, by their path, are looked at in the place of what is
// stored; one with an empty text is taken for deleted. Very much text is refused, and one call at a time is served.
func (d *Definitions) Lint(ctx context.Context, ref string, drafts map[string]string) (dsul.Problems, error) {
	v, err := d.Door.May(ctx, d.DB, ref, access.ActionRead)
	if err != nil {
		return nil, err
	}
	if err := d.lintable(ctx, v.Workspace.ID, drafts); err != nil {
		return nil, err
	}
	giveBack, err := d.linting.take(ctx)
	if err != nil {
		return nil, err
	}
	defer giveBack()
	var problems dsul.Problems
	workspace := dsul.Workspace{}
	add := func(path string, text []byte) {
		kind, slug, _ := dsul.SplitPath(path)
		doc, found := dsul.Parse(kind, slug, text)
		problems = append(problems, found...)
		if doc == nil || doc.Root == nil {
			return
		}
		if kind == dsul.Security {
			_, err := access.ParseSecurity(text)
			problems = append(problems, doc.Refused("bad_security", err)...)
		}
		workspace.Documents = append(workspace.Documents, doc)
	}
	err = store.EachText(ctx, d.DB, v.Workspace.ID, func(document store.Document, text []byte) error {
		if _, replaced := drafts[document.Path]; !replaced {
			add(document.Path, text)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, path := range sortedKeys(drafts) {
		if drafts[path] != "" {
			add(path, []byte(drafts[path]))
		}
	}
	if err := d.know(ctx, v.Workspace.ID, &workspace); err != nil {
		return nil, err
	}
	return append(problems, workspace.Lint()...), nil
}

// lintable refuses more text than can be looked at at once.
func (d *Definitions) lintable(ctx context.Context, workspaceID string, drafts map[string]string) error {
	stored, err := store.Sizes(ctx, d.DB, workspaceID)
	if err != nil {
		return err
	}
	for path, draft := range drafts {
		stored[path] = int64(len(draft))
	}
	var total int64
	for _, size := range stored {
		total += size
	}
	if total <= mostLinted {
		return nil
	}
	return errs.New(errs.PayloadTooLarge, "The documents have more text than can be looked at at once; look at them singly, by sending an empty text for the others.").
		With("limit", mostLinted).With("size", total)
}

// know tells the linter what else there is.
func (d *Definitions) know(ctx context.Context, workspaceID string, workspace *dsul.Workspace) error {
	if d.References == nil {
		return nil
	}
	names, err := d.References.SecretNames(ctx, d.DB, workspaceID)
	if err != nil {
		return err
	}
	workspace.Secrets = make(map[string]bool, len(names))
	for _, name := range names {
		workspace.Secrets[name] = true
	}
	workspace.Apps = func(appSlug, version string) (*dsul.AppFacts, bool) {
		facts, known, err := d.References.AppFacts(ctx, d.DB, appSlug, version)
		return facts, known && err == nil
	}
	return nil
}
