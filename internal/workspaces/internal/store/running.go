package store

import (
	"context"
	"database/sql"
	"encoding/json"

	"atelier/internal/sqldb"
)

// Mark is what tells that something changed of which a running workspace is made.
type Mark struct {
	Revision               int64
	SuspendedAt, DeletedAt int64
	Slug, Name             string
	SuspendedReason        string
	// Secrets, Apps and Registry are texts that differ when these do.
	Secrets, Apps, Registry string
}

// appMark is a text that differs for every version that an app has as its newest one.
const appMark = `a.slug || ':' || a.version || ':' || a.created_at || ':' || a.updated_at`

// MarkOf reads the mark of a workspace, with that of some apps, in one query; sql.ErrNoRows when there is no such workspace.
// One in the bin is there.
func MarkOf(ctx context.Context, r sqldb.Reader, workspaceID string, apps []string) (m Mark, err error) {
	marks, args := `''`, []any{workspaceID, "\n"}
	if len(apps) > 0 {
		marks = `COALESCE((SELECT STRING_AGG(` + appMark + `, ',' ORDER BY a.slug) FROM ws_apps a WHERE a.slug IN (` + sqldb.In(len(args)+1, len(apps)) + `)), '')`
	}
	for _, slug := range apps {
		args = append(args, slug)
	}
	err = r.QueryRow(ctx, `SELECT w.revision, w.suspended_at, w.suspended_reason, w.deleted_at, w.slug, w.name,
		COALESCE((SELECT STRING_AGG(s.id || ':' || s.version, ',' ORDER BY s.name) FROM ws_secrets s WHERE s.workspace_id = w.id), ''), `+marks+`,
		COALESCE((SELECT STRING_AGG(o.slug || '/' || o.id || '/' || o.name, $2 ORDER BY o.slug) FROM ws_documents d JOIN ws_workspaces o ON o.id = d.workspace_id
			WHERE d.registered = 1 AND o.deleted_at = 0), '')
		FROM ws_workspaces w WHERE w.id = $1`, args...).
		Scan(&m.Revision, &m.SuspendedAt, &m.SuspendedReason, &m.DeletedAt, &m.Slug, &m.Name, &m.Secrets, &m.Apps, &m.Registry)
	return m, err
}

// Part is a document with its text.
type Part struct{ Path, Text string }

// Parts reads what of a workspace runs, in the order of the paths: its index, its app instances and, unless they are left
// out, its automations.
func Parts(ctx context.Context, r sqldb.Reader, workspaceID string, automations bool) ([]Part, error) {
	where := `(d.path = 'index' OR d.path LIKE 'imports/%')`
	if automations {
		where = `(d.path = 'index' OR d.path LIKE 'imports/%' OR d.path LIKE 'automations/%')`
	}
	return sqldb.All(ctx, r, scanPart, `SELECT d.path, t.body FROM ws_documents d JOIN ws_texts t ON t.owner = d.workspace_id AND t.hash = d.hash
		WHERE d.workspace_id = $1 AND `+where+` ORDER BY d.path`, workspaceID)
}

func scanPart(rows *sql.Rows) (p Part, err error) { return p, rows.Scan(&p.Path, &p.Text) }

// AppTree finds the documents of a version of an app, of the newest when the version is empty or current. It gives the
// mark of the app, and the name of the version, which is empty when there is no such version; sql.ErrNoRows without an app.
func AppTree(ctx context.Context, r sqldb.Reader, slug, version string) (mark, name string, tree []Entry, err error) {
	var text string
	err = r.QueryRow(ctx, `SELECT `+appMark+`, COALESCE(v.name, ''), COALESCE(t.body, '[]') FROM ws_apps a
		LEFT JOIN ws_app_versions v ON v.app_slug = a.slug AND v.name = CASE WHEN $2 IN ('', 'current') THEN a.version ELSE $2 END
		LEFT JOIN ws_texts t ON t.owner = 'app/' || a.slug AND t.hash = v.tree
		WHERE a.slug = $1`, slug, version).Scan(&mark, &name, &text)
	if err != nil {
		return "", "", nil, err
	}
	return mark, name, tree, json.Unmarshal([]byte(text), &tree)
}

// atOnce is how many texts are read in one query.
const atOnce = 500

// AppTexts reads texts of an app by their hashes; those that are gone are left out.
func AppTexts(ctx context.Context, r sqldb.Reader, slug string, hashes []string) (map[string]string, error) {
	texts := make(map[string]string, len(hashes))
	for len(hashes) > 0 {
		n := min(len(hashes), atOnce)
		args := []any{"app/" + slug}
		for _, hash := range hashes[:n] {
			args = append(args, hash)
		}
		hashes = hashes[n:]
		found, err := sqldb.All(ctx, r, scanPart, `SELECT hash, body FROM ws_texts WHERE owner = $1 AND hash IN (`+sqldb.In(2, n)+`)`, args...)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			texts[one.Path] = one.Text
		}
	}
	return texts, nil
}
