package collections

import (
	"context"
	"slices"

	"atelier/internal/automation/internal/collections/internal/query"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Selection is which records are changed or deleted.
type Selection struct {
	Query any
	// One is only the first of them.
	One bool
	// All allows a query that leaves no record out.
	All bool
}

// Changed is how many records a change found, and how many of these are different now.
type Changed struct{ Matched, Modified int }

// Update changes the records that match.
func (c *Collections) Update(ctx context.Context, tx *sqldb.Tx, place Place, name string, which Selection, data any) (Changed, error) {
	col, err := lock(ctx, tx, place, name)
	if err != nil {
		return Changed{}, err
	}
	q, err := which.compile(col)
	if err != nil {
		return Changed{}, err
	}
	change, err := col.change(data)
	if err != nil {
		return Changed{}, err
	}
	ids, err := c.selected(ctx, tx, col, q, which.One)
	if err != nil {
		return Changed{}, err
	}
	return c.apply(ctx, tx, col, ids, change)
}

// compile reads the query. One that matches everything is a mistake more often than not, such as a variable that is missing.
func (s Selection) compile(col *collection) (*query.Query, error) {
	q, err := query.Compile(s.Query, col.schema)
	if err == nil && q.Everything() && !s.All {
		return nil, invalid("The query is empty, so this would be done to all records. Say allowMatchAll: true, or overrideSecurity: true, if that is meant.")
	}
	return q, err
}

// selected gives the ids of the records that match, the oldest first.
func (c *Collections) selected(ctx context.Context, tx *sqldb.Tx, col *collection, q *query.Query, one bool) ([]string, error) {
	if one {
		records, err := c.best(ctx, c.scan(tx, col), &finding{query: q, limit: 1})
		if err != nil || len(records) == 0 {
			return nil, err
		}
		return []string{records[0].id}, nil
	}
	var ids []string
	err := c.scan(tx, col).each(ctx, q, func(r *record) (bool, error) {
		if len(ids) == c.deps.Limits.Changes {
			return false, tooLarge("One call changes or deletes at most %d records; narrow the query down and do it in parts.", c.deps.Limits.Changes)
		}
		ids = append(ids, r.id)
		return true, nil
	})
	return ids, err
}

// change compiles a change of records of the collection.
func (col *collection) change(data any) (*query.Update, error) {
	change, err := query.CompileUpdate(data, col.schema)
	if err != nil {
		return nil, err
	}
	for _, field := range change.Fields() {
		if isSystem(field) {
			return nil, invalid("The field %s is set by the platform; leave it out of the change.", field)
		}
	}
	return change, nil
}

// apply changes records that are locked.
func (c *Collections) apply(ctx context.Context, tx *sqldb.Tx, col *collection, ids []string, change *query.Update) (done Changed, err error) {
	grown := int64(0)
	for part := range slices.Chunk(ids, held) {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		records, err := col.byIDs(ctx, tx, part)
		if err != nil {
			return done, err
		}
		for _, before := range records {
			now, err := c.changed(ctx, col, before, change)
			if err != nil {
				return done, err
			}
			done.Matched++
			if now == nil {
				continue
			}
			if err := c.update(ctx, tx, col, before, now); err != nil {
				return done, err
			}
			done.Modified++
			grown += now.size() - before.size()
		}
	}
	if done.Modified == 0 {
		return done, nil
	}
	return done, c.count(ctx, tx, col, 0, grown)
}

// changed gives the new state of a record; nil when it is the old one.
func (c *Collections) changed(ctx context.Context, col *collection, before *record, change *query.Update) (*record, error) {
	fields, err := change.Apply(before.shown)
	if err != nil {
		return nil, err
	}
	needed := map[string]bool{}
	for _, field := range change.Fields() {
		needed[field] = true
	}
	body, err := col.schema.body(fields, needed)
	if err != nil {
		return nil, err
	}
	now := *before
	if now.text, err = c.write(body); err != nil {
		return nil, err
	}
	now.show(col.schema, body)
	if value.DeepEqual(now.shown, before.shown) {
		return nil, nil //nolint:nilnil // there is nothing to change, and that is no error
	}
	now.updated, now.updatedBy = max(c.now(), before.updated), author(ctx)
	now.show(col.schema, body)
	return &now, nil
}

// Delete deletes the records that match and tells how many they were.
func (c *Collections) Delete(ctx context.Context, tx *sqldb.Tx, place Place, name string, which Selection) (int64, error) {
	col, err := lock(ctx, tx, place, name)
	if err != nil {
		return 0, err
	}
	q, err := which.compile(col)
	if err != nil {
		return 0, err
	}
	if q.Everything() && !which.One {
		deleted := col.records
		if err := empty(ctx, tx, col); err != nil {
			return 0, err
		}
		return deleted, c.count(ctx, tx, col, -col.records, -col.bytes)
	}
	ids, err := c.selected(ctx, tx, col, q, which.One)
	if err != nil {
		return 0, err
	}
	return c.drop(ctx, tx, col, ids)
}

// drop deletes records that are locked.
func (c *Collections) drop(ctx context.Context, tx *sqldb.Tx, col *collection, ids []string) (deleted int64, err error) {
	bytes := int64(0)
	for part := range slices.Chunk(ids, held) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		records, err := col.byIDs(ctx, tx, part)
		if err != nil {
			return 0, err
		}
		var known entries
		args := []any{col.id}
		for _, r := range records {
			if err := known.of(col.schema.indexes, col.schema.unique, r); err != nil {
				return 0, err
			}
			bytes += r.size()
			args = append(args, r.id)
		}
		if err := known.remove(ctx, tx, col); err != nil {
			return 0, err
		}
		n, err := tx.Exec(ctx, `DELETE FROM collection_records WHERE collection_id = $1 AND id IN (`+sqldb.In(2, len(records))+`)`, args...)
		if err != nil {
			return 0, err
		}
		deleted += n
	}
	if deleted == 0 {
		return 0, nil
	}
	return deleted, c.count(ctx, tx, col, -deleted, -bytes)
}
