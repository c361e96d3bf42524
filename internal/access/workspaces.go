package access

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"atelier/internal/sqldb"
)

// Workspaces turns the question which workspaces the caller may read into a condition on the rows of a list of workspaces.
// Grants answer it for nearly all of them; the documents that can say otherwise are looked at one by one.
func (e *Enforcer) Workspaces(ctx context.Context, r sqldb.Reader, list List) (Filter, error) {
	caller := From(ctx)
	w := &sqlWriter{list: list}
	switch {
	case caller.Kind == Internal:
		return w.filter(sqlFalse), nil
	case caller.SuperAdmin:
		return w.filter(sqlTrue), nil
	case caller.Kind == Key:
		a, err := e.Load(ctx, r, caller.KeyWorkspace)
		if err != nil {
			return w.filter(sqlFalse), err
		}
		return a.Filter(ActionRead, SubjectWorkspaces, list)
	}
	abilities, err := e.special(ctx, r)
	if err != nil {
		return w.filter(sqlFalse), err
	}
	cases, err := w.special(abilities)
	if err != nil {
		return w.filter(sqlFalse), err
	}
	granted := fmt.Sprintf(`EXISTS (SELECT 1 FROM access_grants AS g WHERE g.subject_type = 'workspaces' AND g.subject_id = %s
		AND g.target IN (%s, '*') AND (g.role <> '' OR (g.policies & %d) <> 0))`, list.Columns["id"].SQL, w.bind(grantTarget(caller)), readBit)
	if cases == "" {
		return w.filter("(" + granted + ")"), nil
	}
	return w.filter("(CASE" + cases + " ELSE " + granted + " END)"), nil
}

// grantTarget is how grants name the caller; a caller without an account has none of them.
func grantTarget(caller Principal) string {
	if caller.UserID == "" {
		return ""
	}
	return userTarget(caller.UserID)
}

// specialRows picks the workspaces whose document has a say in who may read them: by its rules, or by the roles that it
// assigns and that the workspace is shared with.
const specialRows = `(opens_reading = 1 OR workspace_id IN (SELECT workspace_id FROM access_grants
	WHERE subject_type = 'workspaces' AND target LIKE 'role:%' AND target <> 'role:superadmin'))`

// special loads the caller's abilities in those workspaces, with two queries for all that is remembered.
func (e *Enforcer) special(ctx context.Context, r sqldb.Reader) ([]*Ability, error) {
	found, err := sqldb.All(ctx, r, func(rows *sql.Rows) (k documentKey, err error) { return k, rows.Scan(&k.workspaceID, &k.digest) },
		`SELECT workspace_id, digest FROM access_security WHERE `+specialRows+` ORDER BY workspace_id`)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	caller := From(ctx)
	grants, err := sqldb.All(ctx, r, scanGrant, `SELECT `+grantColumns+` FROM access_grants
		WHERE subject_type = 'workspaces' AND (target = $1 OR target = '*' OR target LIKE 'role:%')
			AND workspace_id IN (SELECT workspace_id FROM access_security WHERE `+specialRows+`) ORDER BY target DESC`, grantTarget(caller))
	if err != nil {
		return nil, err
	}
	byWorkspace := map[string][]ObjectGrant{}
	for _, g := range grants {
		byWorkspace[g.WorkspaceID] = append(byWorkspace[g.WorkspaceID], g)
	}
	abilities := make([]*Ability, 0, len(found))
	for _, key := range found {
		a := &Ability{caller: caller, workspaceID: key.workspaceID, topics: topicsFrom(ctx), exists: true}
		if a.doc, err = e.compiled(ctx, r, key); err != nil {
			return nil, err
		}
		a.take(byWorkspace[key.workspaceID])
		abilities = append(abilities, a)
	}
	return abilities, nil
}

// special writes the cases of those workspaces: the ones that are open and the ones that are closed to the caller as two
// lists, and where it depends on the fields of the workspace each for itself.
func (w *sqlWriter) special(abilities []*Ability) (string, error) {
	var open, closed []string
	var cases strings.Builder
	id := w.list.Columns["id"].SQL
	known := w.list.Known
	defer func() { w.list.Known = known }()
	for _, a := range abilities {
		w.list.Known = map[string]string{"id": a.workspaceID}
		readable, err := a.filter(w, ActionRead, SubjectWorkspaces)
		switch {
		case err != nil:
			return "", err
		case readable == sqlTrue:
			open = append(open, a.workspaceID)
		case readable == sqlFalse:
			closed = append(closed, a.workspaceID)
		default:
			fmt.Fprintf(&cases, " WHEN %s = %s THEN %s", id, w.bind(a.workspaceID), readable)
		}
	}
	return w.member(id, open, sqlTrue) + w.member(id, closed, sqlFalse) + cases.String(), nil
}

// member writes the case of the ids of a list, which is one parameter however long it is.
func (w *sqlWriter) member(id string, ids []string, result string) string {
	if len(ids) == 0 {
		return ""
	}
	list, _ := json.Marshal(ids) // texts can always be written
	values := fmt.Sprintf("SELECT value FROM json_each(%s)", w.bind(string(list)))
	if w.list.Dialect == PostgreSQL {
		values = fmt.Sprintf("SELECT jsonb_array_elements_text((%s)::jsonb)", w.bind(string(list)))
	}
	return fmt.Sprintf(" WHEN %s IN (%s) THEN %s", id, values, result)
}
