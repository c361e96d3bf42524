package access

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"atelier/internal/sqldb"
)

// WorkspaceFields reads the fields of workspaces that conditions look at, by id. It leaves out those that do not exist.
type WorkspaceFields func(ctx context.Context, r sqldb.Reader, ids []string) (map[string]Object, error)

// Workspaces turns the question which workspaces the caller may read into a condition on the rows of a list of workspaces.
// Grants answer it for nearly all of them. Where a document can say otherwise it is asked here, so that the condition has a
// few parameters whatever others write into theirs; one that cannot be asked opens nothing.
func (e *Enforcer) Workspaces(ctx context.Context, r sqldb.Reader, list List, fields WorkspaceFields) (Filter, error) {
	caller := From(ctx)
	w := &sqlWriter{list: list}
	switch {
	case caller.Kind == Internal:
		return w.filter(sqlFalse), nil
	case caller.SuperAdmin:
		return w.filter(sqlTrue), nil
	case caller.Kind == Key:
		a, err := e.Load(ctx, r, caller.KeyWorkspace)
		if err == nil && a.refused {
			err = refusedKey()
		}
		if err != nil {
			return w.filter(sqlFalse), err
		}
		return a.Filter(ActionRead, SubjectWorkspaces, list)
	}
	open, closed, err := e.special(ctx, r, list.Dialect, fields)
	if err != nil {
		return w.filter(sqlFalse), err
	}
	id := list.Columns["id"].SQL
	cases := w.member(id, open, sqlTrue) + w.member(id, closed, sqlFalse)
	granted := fmt.Sprintf(`EXISTS (SELECT 1 FROM access_grants AS g WHERE g.subject_type = 'workspaces' AND g.subject_id = %s
		AND g.target IN (%s, '*') AND (g.role <> '' OR (g.policies & %d) <> 0))`, id, w.bind(grantTarget(caller)), readBit)
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

// special decides about those workspaces: which are open to the caller, and which are not although they were shared.
func (e *Enforcer) special(ctx context.Context, r sqldb.Reader, dialect Dialect, fields WorkspaceFields) (open, closed []string, err error) {
	found, err := sqldb.All(ctx, r, func(rows *sql.Rows) (k documentKey, err error) { return k, rows.Scan(&k.workspaceID, &k.digest) },
		`SELECT workspace_id, digest FROM access_security WHERE `+specialRows+` ORDER BY workspace_id`)
	if err != nil || len(found) == 0 {
		return nil, nil, err
	}
	documents, err := e.readings(ctx, r, dialect, found)
	if err != nil {
		return nil, nil, err
	}
	grants, err := specialGrants(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	objects, err := fields(ctx, r, asking(found, documents))
	if err != nil {
		return nil, nil, err
	}
	for _, key := range found {
		shared, object := grants[key.workspaceID], objects[key.workspaceID]
		readable := false
		if d := documents[key.workspaceID]; d != nil && (object != nil || !d.asks()) {
			a := &Ability{caller: From(ctx), workspaceID: key.workspaceID, topics: topicsFrom(ctx), exists: true, doc: d}
			a.take(shared)
			readable = a.Decide(ActionRead, SubjectWorkspaces, object).Allowed
		}
		switch {
		case readable:
			open = append(open, key.workspaceID)
		case len(shared) > 0:
			closed = append(closed, key.workspaceID)
		}
	}
	return open, closed, ctx.Err()
}

// asks tells whether the document looks at the fields of the workspace.
func (d *document) asks() bool {
	return slices.ContainsFunc(d.rules[SubjectWorkspaces], func(r *rule) bool { return len(r.written) > 0 })
}

func asking(found []documentKey, documents map[string]*document) (ids []string) {
	for _, key := range found {
		if d := documents[key.workspaceID]; d != nil && d.asks() {
			ids = append(ids, key.workspaceID)
		}
	}
	return ids
}

// readings gives what decides about reading the workspaces, from memory when it is there. Nil is one that cannot be read.
func (e *Enforcer) readings(ctx context.Context, r sqldb.Reader, dialect Dialect, keys []documentKey) (map[string]*document, error) {
	out := make(map[string]*document, len(keys))
	var missing []string
	for _, key := range keys {
		if d, ok := e.reading.GetIfPresent(key); ok {
			out[key.workspaceID] = d
		} else {
			missing = append(missing, key.workspaceID)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	list, _ := json.Marshal(missing) // texts can always be written
	_, err := sqldb.All(ctx, r, func(rows *sql.Rows) (none struct{}, err error) {
		var key documentKey
		var text string
		if err := rows.Scan(&key.workspaceID, &key.digest, &text); err != nil {
			return none, err
		}
		if d, err := compileReading(key.workspaceID, text); err == nil {
			out[key.workspaceID] = d
			e.reading.Set(key, d)
		}
		return none, nil
	}, `SELECT workspace_id, digest, reading FROM access_security WHERE workspace_id IN (`+dialect.Elements("$1")+`)`, string(list))
	return out, err
}

// specialGrants reads the grants of those workspaces that may be about the caller.
func specialGrants(ctx context.Context, r sqldb.Reader) (map[string][]ObjectGrant, error) {
	grants, err := sqldb.All(ctx, r, scanGrant, `SELECT `+grantColumns+` FROM access_grants
		WHERE subject_type = 'workspaces' AND (target = $1 OR target = '*' OR target LIKE 'role:%')
			AND workspace_id IN (SELECT workspace_id FROM access_security WHERE `+specialRows+`) ORDER BY target DESC`, grantTarget(From(ctx)))
	byWorkspace := map[string][]ObjectGrant{}
	for _, g := range grants {
		byWorkspace[g.WorkspaceID] = append(byWorkspace[g.WorkspaceID], g)
	}
	return byWorkspace, err
}

// member writes the case of the ids of a list, which is one parameter however long it is.
func (w *sqlWriter) member(id string, ids []string, result string) string {
	if len(ids) == 0 {
		return ""
	}
	list, _ := json.Marshal(ids) // texts can always be written
	return fmt.Sprintf(" WHEN %s IN (%s) THEN %s", id, w.list.Dialect.Elements(w.bind(string(list))), result)
}

// Elements writes a query for the texts of a list that is given as one parameter, a JSON text.
func (d Dialect) Elements(parameter string) string {
	if d == PostgreSQL {
		return "SELECT jsonb_array_elements_text((" + parameter + ")::jsonb)"
	}
	return "SELECT value FROM json_each(" + parameter + ")"
}
