package secrets

import (
	"context"
	"slices"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

const service = "workspaces"

// changes names the secrets that were changed.
type changes struct{ created, updated, deleted []string }

func (t steps) changes() changes {
	return changes{created: names(t.create), updated: names(t.update), deleted: t.remove}
}

func names(all []step) []string {
	out := make([]string, 0, len(all))
	for _, one := range all {
		out = append(out, one.Name)
	}
	return out
}

// only keeps the names that fulfil a condition.
func (c changes) only(keep func(name string) bool) changes {
	some := func(names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !keep(name) })
	}
	return changes{created: some(c.created), updated: some(c.updated), deleted: some(c.deleted)}
}

func (c changes) none() bool { return len(c.created)+len(c.updated)+len(c.deleted) == 0 }

// tell stores the event of a change: names, never values. The people of the workspace read its events, so the platform's own
// names are told of in the platform workspace instead; that something has changed is told here in any case.
func (s *Secrets) tell(ctx context.Context, tx *sqldb.Tx, workspaceID string, c changes) error {
	if c.none() {
		return nil
	}
	if workspaceID == access.PlatformWorkspace {
		return s.audit(ctx, tx, workspaceID, workspaceID, c)
	}
	if err := s.audit(ctx, tx, workspaceID, workspaceID, c.only(func(name string) bool { return !Reserved(name) })); err != nil {
		return err
	}
	if reserved := c.only(Reserved); !reserved.none() {
		return s.audit(ctx, tx, access.PlatformWorkspace, workspaceID, reserved)
	}
	return nil
}

// audit stores the event in one workspace of what was changed in another, or in itself.
func (s *Secrets) audit(ctx context.Context, tx *sqldb.Tx, in, of string, c changes) error {
	record, err := envelope.Audit(ctx, service, in, envelope.Act{
		TargetType: access.SubjectWorkspaces, TargetID: of,
		Payload: &catalogue.SecretsUpdated{Created: c.created, Updated: c.updated, Deleted: c.deleted},
	})
	if err != nil {
		return err
	}
	_, err = s.Bus.AppendTx(ctx, tx, record)
	return err
}
