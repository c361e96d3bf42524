package webhooks

import (
	"context"
	"errors"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// visit is a caller that may manage the webhooks of a workspace.
type visit struct {
	workspaceID string
	ability     *access.Ability
	// readable are the events that the caller may read.
	readable access.Filter
}

// enter opens a visit. Webhooks are a part of the workspace: whoever may update it may see and change them. Somebody who may
// read no events has no use for them, and is refused.
func (w *Webhooks) enter(ctx context.Context, r sqldb.Reader, ref string) (*visit, error) {
	id, err := w.Resolve(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	ability, err := w.Access.Load(ctx, r, id)
	if err != nil {
		return nil, err
	}
	if err := ability.Check(access.ActionUpdate, access.SubjectWorkspaces, nil); err != nil {
		return nil, asNamed(err, ref)
	}
	readable, err := w.readable(ability)
	if err != nil {
		return nil, asNamed(err, ref)
	}
	return &visit{workspaceID: id, ability: ability, readable: readable}, nil
}

// readable gives the events that somebody may read, as a condition on ev_messages; an error when there are none.
func (w *Webhooks) readable(ability *access.Ability) (access.Filter, error) {
	some, err := ability.Filter(access.ActionRead, access.SubjectEvents, columns(access.Dialect(w.DB.Driver()), ability.WorkspaceID()))
	if err != nil {
		return some, err
	}
	if some.Nothing || some.Everything { // with everything comes the question whether there is such a workspace
		return some, ability.Check(access.ActionRead, access.SubjectEvents, nil)
	}
	return some, nil
}

// firstFree is the number of the first parameter of a condition on ev_messages.
const firstFree = 3

// columns maps what rules say of events to the messages.
func columns(dialect access.Dialect, workspaceID string) access.List {
	inBody := func(key string) access.Column {
		if dialect == access.PostgreSQL {
			return access.Column{SQL: `(m.body::json -> '` + key + `')::text`, Kind: access.JSON}
		}
		return access.Column{SQL: `(m.body -> '$.` + key + `')`, Kind: access.JSON}
	}
	return access.List{
		Dialect: dialect, First: firstFree, Known: map[string]string{"source.workspaceId": workspaceID},
		Columns: map[string]access.Column{
			"type": {SQL: "m.type", Kind: access.Text}, "source": inBody("source"), "target": inBody("target"), "payload": inBody("payload"),
		},
	}
}

// asNamed keeps a refusal from telling the id of a workspace that was named by its slug.
func asNamed(err error, ref string) error {
	if refusal, ok := errors.AsType[*errs.Error](err); ok && refusal.Code == errs.WorkspaceAccessDenied {
		return refusal.With("workspaceId", ref)
	}
	return err
}

// author names the caller as whoever changed something: a user by the id, a key by its own.
func author(p access.Principal) string {
	if p.UserID != "" {
		return p.UserID
	}
	return p.Key()
}

// reader is the account or the key that a subscription reads events as.
type reader struct {
	UserID       string `json:"userId,omitempty"`
	KeyID        string `json:"keyId,omitempty"`
	KeyWorkspace string `json:"keyWorkspace,omitempty"`
}

func readerOf(p access.Principal) reader {
	return reader{UserID: p.UserID, KeyID: p.KeyID, KeyWorkspace: p.KeyWorkspace}
}

// errNoAccess tells that the reader of a subscription may read nothing any more.
var errNoAccess = errors.New("the reader of the subscription has no access to the events of the workspace")

// abilityOf loads what the reader of a subscription may do now; errNoAccess when that is nothing.
func (w *Webhooks) abilityOf(ctx context.Context, workspaceID string, who reader) (*access.Ability, error) {
	p := access.Principal{Kind: access.Key, Credential: access.ByAPIKey, KeyID: who.KeyID, KeyWorkspace: who.KeyWorkspace}
	if who.UserID != "" {
		var err error
		if p, err = w.People.Principal(ctx, w.DB, who.UserID); errs.CodeOf(err) == errs.NotFound {
			return nil, errNoAccess
		} else if err != nil {
			return nil, err
		}
	}
	ability, err := w.Access.Load(access.With(ctx, p), w.DB, workspaceID)
	if err != nil {
		return nil, err
	}
	_, err = w.readable(ability)
	if _, refused := errors.AsType[*errs.Error](err); refused {
		return nil, errNoAccess
	}
	return ability, err
}
