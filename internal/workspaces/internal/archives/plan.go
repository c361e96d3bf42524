package archives

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"

	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// planned names what an import is about to do, and refuses it when it was asked to be something else.
func (r *Result) planned(e *definitions.Edit, c *content, opts Options) error {
	facts := []any{"import", e.Workspace.ID, e.Workspace.ContentRevision, opts.Prune, r.Imported, r.Deleted}
	for _, doc := range c.all(true) {
		facts = append(facts, doc.Path(), store.Hash(doc.Text))
	}
	if e.Workspace.Revision <= 1 {
		facts[1], facts[2] = "", 0 // it is being made, and has another id every time
	}
	text, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(text)
	r.PlanID = base64.RawURLEncoding.EncodeToString(sum[:18])
	if opts.PlanID != "" && opts.PlanID != r.PlanID {
		return errs.New(errs.Conflict, "The workspace or the archive is not any more what this plan was made for, so it is not applied; ask for a new plan.").
			With("reason", "plan_stale").WithStatus(http.StatusConflict)
	}
	return nil
}

// excluding leaves those documents alone that the workspace keeps from imports: a repository of type archive says which.
func (o Options) excluding(ctx context.Context, e *definitions.Edit) (Options, error) {
	if o.pull.Also != nil {
		return o, nil // a pull has its own
	}
	index, err := e.Get(ctx, string(dsul.Index))
	if err != nil || index == nil {
		return o, err
	}
	all, err := repositories.Of(index.Parsed)
	if err != nil {
		return o, nil //nolint:nilerr // what cannot be read excludes nothing
	}
	for _, r := range all {
		if r.Kind != repositories.Archive {
			continue
		}
		before := o.pull.Keep
		o.pull.Keep = func(path string) bool { return r.Excludes(path) || before != nil && before(path) }
	}
	return o, nil
}
