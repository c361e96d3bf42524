package service

import (
	"context"
	"database/sql"
	"encoding/json"
	"math"
	"slices"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/contexts"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/model"
	"atelier/internal/automation/internal/modules/secrets"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// running gives models to runs.
type running struct{ models *model.Models }

// Of gives a workspace as it is now.
func (r running) Of(ctx context.Context, workspaceID string) (runs.Model, error) {
	m, err := r.models.Of(ctx, workspaceID)
	if err != nil {
		return runs.Model{}, err
	}
	schedules := func() []runs.Schedule {
		var all []runs.Schedule
		for _, one := range m.Schedules() {
			all = append(all, runs.Schedule{Automation: one.Automation, Crons: one.Crons})
		}
		return all
	}
	return runs.Model{Root: m.Root, Suspended: m.Suspended, Deleted: m.Deleted, Find: m.Find, Hears: m.Hears, Listeners: m.Listeners, Schedules: schedules}, nil
}

// people tells runs who it was that emitted an event.
type people struct {
	db        *sqldb.DB
	directory contexts.People
}

// Principal gives the caller that an account, or a session when no account is named, stands for.
func (p people) Principal(ctx context.Context, userID, sessionID string) (access.Principal, error) {
	if sessionID != "" {
		found, _, err := p.directory.Session(ctx, p.db, sessionID)
		if err == nil && (userID == "" || found.UserID == userID) || userID == "" {
			return found, err
		}
		if err != nil && errs.CodeOf(err) != errs.NotFound {
			return access.Principal{}, err
		}
	}
	found, err := p.directory.Principal(ctx, p.db, userID)
	found.SessionID = sessionID
	return found, err
}

// announce tells that the definition of a collection has changed.
func (s *Service) announce(ctx context.Context, tx *sqldb.Tx, change collections.Announcement) error {
	record, err := envelope.Native(ctx, "runtime", change.WorkspaceID, &catalogue.CollectionsUpdated{
		Namespace: change.Namespace, WorkspaceID: change.WorkspaceID, AppSlug: change.AppSlug, Collection: change.Collection, OldCollection: change.OldCollection,
		Schema: written(change.Schema), Properties: written(change.Properties), Indexes: written(change.Indexes), Uniques: written(change.Uniques),
	})
	if err != nil {
		return err
	}
	_, err = s.deps.Bus.AppendTx(ctx, tx, record)
	return err
}

// written is a value as JSON.
func written(v any) any {
	text, _ := value.JSON(v, "", math.MaxInt)
	return json.RawMessage(text)
}

// keyToken gives a token that acts with the key of a role for automations; empty when there is no such role.
func (s *Service) keyToken(f *machine.Frame, name string) (string, error) {
	key, err := access.RoleKey(f.Context(), s.deps.DB, f.Run().Root.WorkspaceID, name)
	if errs.CodeOf(err) == errs.NotFound {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return s.tokens.KeyToken(f, key)
}

// tidy removes expired secrets and what workspaces have left that are gone for good.
func (s *Service) tidy(ctx context.Context) error {
	return s.every(ctx, time.Hour, func(ctx context.Context) error {
		if _, err := s.secrets.Tidy(ctx); err != nil {
			return err
		}
		return s.purge(ctx)
	})
}

// purge forgets workspaces that are gone for good.
func (s *Service) purge(ctx context.Context) error {
	gone, err := s.gone(ctx)
	if err != nil {
		return err
	}
	for _, workspaceID := range gone {
		err := s.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			for _, forget := range s.forgetting() {
				if err := forget(ctx, tx, workspaceID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// gone lists workspaces that have left something here and do not exist any more.
func (s *Service) gone(ctx context.Context) ([]string, error) {
	left, err := sqldb.All(ctx, s.deps.DB, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT workspace_id FROM rt_contexts UNION SELECT workspace_id FROM rt_limits UNION SELECT workspace_id FROM run_secrets UNION SELECT workspace_id FROM collections
			UNION SELECT workspace_id FROM functions`)
	if err != nil || len(left) == 0 {
		return nil, err
	}
	const atOnce = 500
	var gone []string
	for some := range slices.Chunk(left, atOnce) {
		known, err := s.deps.Known(ctx, s.deps.DB, some)
		if err != nil {
			return nil, err
		}
		gone = append(gone, slices.DeleteFunc(some, func(id string) bool { return slices.Contains(known, id) })...)
	}
	return gone, nil
}

// forgetting is the table of what a workspace may have left.
func (s *Service) forgetting() []func(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	return []func(ctx context.Context, tx *sqldb.Tx, workspaceID string) error{
		s.contexts.Forget, s.limits.Forget, s.collections.PurgeWorkspace, secrets.PurgeWorkspace, code.Undeploy,
	}
}
