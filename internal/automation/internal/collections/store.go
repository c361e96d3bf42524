package collections

import (
	"context"
	"database/sql"
	"math"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/sqldb"
)

// collection is a collection as it is stored.
type collection struct {
	id, name         string
	place            Place
	schema           *Schema
	applied          string
	records, bytes   int64
	sequence, newest int64
	created, updated int64
}

const collectionColumns = `id, name, definition, applied, records, bytes, sequence, newest, created_at, updated_at`

func scanCollection(place Place, row func(...any) error) (*collection, error) {
	col := &collection{place: place}
	var definition string
	err := row(&col.id, &col.name, &definition, &col.applied, &col.records, &col.bytes, &col.sequence, &col.newest, &col.created, &col.updated)
	if err != nil {
		return nil, err
	}
	col.schema, err = loadSchema(definition)
	return col, err
}

// find reads a collection; sql.ErrNoRows when there is none.
func find(ctx context.Context, r sqldb.Reader, place Place, name string) (*collection, error) {
	return scanCollection(place, r.QueryRow(ctx, `SELECT `+collectionColumns+` FROM collections
		WHERE workspace_id = $1 AND namespace = $2 AND name = $3`, place.WorkspaceID, place.Instance, name).Scan)
}

// open reads a collection for who only reads.
func open(ctx context.Context, r sqldb.Reader, place Place, name string) (*collection, error) {
	col, err := find(ctx, r, place, name)
	return col, orUnknown(err, name)
}

// lock reads a collection for who writes, and keeps other writers off until the transaction ends. Writers of one collection follow
// each other, so none of them decides by what another is about to change.
func lock(ctx context.Context, tx *sqldb.Tx, place Place, name string) (*collection, error) {
	col, err := scanCollection(place, tx.QueryRow(ctx, `UPDATE collections SET revision = revision
		WHERE workspace_id = $1 AND namespace = $2 AND name = $3 RETURNING `+collectionColumns,
		place.WorkspaceID, place.Instance, name).Scan)
	return col, orUnknown(err, name)
}

func orUnknown(err error, name string) error {
	if sqldb.IsNotFound(err) {
		return unknown(name)
	}
	return err
}

func unknown(name string) error {
	return machine.Fail(machine.ObjectNotFound, "There is no collection "+shorten(name)+". Create it with updateSchema, or by an instance of the app Collection.")
}

// list reads the collections of a place, by their names.
func list(ctx context.Context, r sqldb.Reader, place Place) ([]*collection, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (*collection, error) { return scanCollection(place, rows.Scan) },
		`SELECT `+collectionColumns+` FROM collections WHERE workspace_id = $1 AND namespace = $2 ORDER BY name`, place.WorkspaceID, place.Instance)
}

// add creates an empty collection, unless there is one of the name.
func (c *Collections) add(ctx context.Context, tx *sqldb.Tx, col *collection) error {
	n, err := tx.Exec(ctx, `INSERT INTO collections (id, workspace_id, namespace, name, definition, applied, revision, records, bytes, sequence, newest, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, 1, 0, 0, 0, 0, $7, $7) ON CONFLICT (workspace_id, namespace, name) DO NOTHING`,
		col.id, col.place.WorkspaceID, col.place.Instance, col.name, col.schema.text(), col.applied, c.now())
	if err != nil || n == 0 {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO collection_usage (workspace_id, collections, records, bytes) VALUES ($1, 0, 0, 0)
		ON CONFLICT (workspace_id) DO NOTHING`, col.place.WorkspaceID)
	if err != nil {
		return err
	}
	return c.use(ctx, tx, col.place, usage{collections: 1})
}

// redefine stores the definition and the name of a collection that is locked.
func (c *Collections) redefine(ctx context.Context, tx *sqldb.Tx, col *collection) error {
	_, err := tx.Exec(ctx, `UPDATE collections SET name = $1, definition = $2, applied = $3, revision = revision + 1, updated_at = $4 WHERE id = $5`,
		col.name, col.schema.text(), col.applied, c.now(), col.id)
	return err
}

// usage is what a change adds to a workspace, or takes from it.
type usage struct{ collections, records, bytes int64 }

// use counts what a change adds. It fails when the workspace would have more than it may; what only takes away never fails.
func (c *Collections) use(ctx context.Context, tx *sqldb.Tx, place Place, by usage) error {
	if by == (usage{}) {
		return nil
	}
	limit := func(by, most int64) int64 {
		if by > 0 {
			return most
		}
		return math.MaxInt64
	}
	l := c.deps.Limits
	n, err := tx.Exec(ctx, `UPDATE collection_usage SET collections = collections + $1, records = records + $2, bytes = bytes + $3
		WHERE workspace_id = $4 AND collections + $1 <= $5 AND records + $2 <= $6 AND bytes + $3 <= $7`,
		by.collections, by.records, by.bytes, place.WorkspaceID,
		limit(by.collections, l.Collections), limit(by.records, l.Records), limit(by.bytes, l.Bytes))
	if err != nil || n == 1 {
		return err
	}
	return machine.Fail(machine.QuotaExceeded, "The collections of this workspace have no room for this: delete records or collections that are not needed, or ask the operator for more.").
		With(map[string]any{"maxCollections": l.Collections, "maxRecords": l.Records, "maxBytes": l.Bytes})
}

// count notes in the row of the collection what a change added, and counts it for the workspace.
func (c *Collections) count(ctx context.Context, tx *sqldb.Tx, col *collection, records, bytes int64) error {
	col.records += records
	col.bytes += bytes
	_, err := tx.Exec(ctx, `UPDATE collections SET records = $1, bytes = $2, sequence = $3, newest = $4 WHERE id = $5`,
		col.records, col.bytes, col.sequence, col.newest, col.id)
	if err != nil {
		return err
	}
	return c.use(ctx, tx, col.place, usage{records: records, bytes: bytes})
}

// empty deletes everything in a collection that is locked.
func empty(ctx context.Context, tx *sqldb.Tx, col *collection) error {
	for _, statement := range []string{
		`DELETE FROM collection_terms WHERE collection_id = $1`,
		`DELETE FROM collection_uniques WHERE collection_id = $1`,
		`DELETE FROM collection_records WHERE collection_id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, col.id); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes a collection that is locked, with everything in it.
func (c *Collections) remove(ctx context.Context, tx *sqldb.Tx, col *collection) error {
	if err := empty(ctx, tx, col); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `DELETE FROM collections WHERE id = $1`, col.id); err != nil {
		return err
	}
	return c.use(ctx, tx, col.place, usage{collections: -1, records: -col.records, bytes: -col.bytes})
}
