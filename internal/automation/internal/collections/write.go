package collections

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// isID tells that a text may be the id of a record.
func isID(text string) bool {
	const longest = 64
	if text == "" || len(text) > longest {
		return false
	}
	for i := range len(text) {
		if !isNameByte(text[i]) {
			return false
		}
	}
	return true
}

func isNameByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_' || b == '-'
}

// Insert adds records and gives them as they are stored.
func (c *Collections) Insert(ctx context.Context, tx *sqldb.Tx, place Place, name string, data []any) ([]*value.Object, error) {
	col, err := lock(ctx, tx, place, name)
	if err != nil {
		return nil, err
	}
	records, err := c.insert(ctx, tx, col, data)
	if err != nil {
		return nil, err
	}
	out := make([]*value.Object, len(records))
	for i, r := range records {
		out[i] = r.shown
	}
	return out, nil
}

func (c *Collections) insert(ctx context.Context, tx *sqldb.Tx, col *collection, data []any) ([]*record, error) {
	if len(data) > c.deps.Limits.Batch {
		return nil, tooLarge("One call writes at most %d records; write them in parts.", c.deps.Limits.Batch)
	}
	records, bytes, err := c.fresh(ctx, col, data)
	if err != nil || len(records) == 0 {
		return records, err
	}
	const rows = 40 // of one statement: what binding its parameters takes grows faster than their number
	for part := range slices.Chunk(records, rows) {
		if err := col.store(ctx, tx, part); err != nil {
			return nil, err
		}
		var all entries
		for _, r := range part {
			if err := all.of(col.schema.indexes, col.schema.unique, r); err != nil {
				return nil, err
			}
		}
		if err := all.store(ctx, tx, col); err != nil {
			return nil, err
		}
	}
	return records, c.count(ctx, tx, col, int64(len(records)), bytes)
}

// fresh makes records of what is to be added. None is older than the newest of the collection, so that their order is that of time.
func (c *Collections) fresh(ctx context.Context, col *collection, data []any) (records []*record, bytes int64, err error) {
	col.newest = max(c.now(), col.newest)
	const half = 12 // digits of an id: of the time, and of chance
	base, _ := strconv.ParseUint(c.deps.IDs.User()[half:], 16, 64)
	by := author(ctx)
	for i, item := range data {
		fields, ok := item.(*value.Object)
		if !ok {
			return nil, 0, invalid("A record is an object of fields and values.")
		}
		id, err := givenID(fields)
		if err != nil {
			return nil, 0, err
		}
		if id == "" {
			id = fmt.Sprintf("%012x%012x", col.newest, base>>1+uint64(i))
		}
		body, err := col.schema.body(fields, nil)
		if err != nil {
			return nil, 0, err
		}
		col.sequence++
		r := &record{id: id, sequence: col.sequence, created: col.newest, updated: col.newest, createdBy: by, updatedBy: by}
		if r.text, err = c.write(body); err != nil {
			return nil, 0, err
		}
		r.show(col.schema, body)
		bytes += r.size()
		records = append(records, r)
	}
	return records, bytes, nil
}

// givenID is the id that a new record brings; empty when it has none. The other fields of the system cannot be chosen.
func givenID(fields *value.Object) (string, error) {
	for name, v := range fields.All() {
		if isSystem(name) && name != fieldID && value.Exists(v) {
			return "", invalid("The field %s is set by the platform; leave it out.", name)
		}
	}
	v := fields.Get(fieldID)
	if !value.Exists(v) {
		return "", nil
	}
	id, ok := v.(string)
	if !ok || !isID(id) {
		return "", invalid("_id is a text of at most 64 letters, digits, - and _; leave it out to get one.")
	}
	return id, nil
}

// store adds records.
func (col *collection) store(ctx context.Context, tx *sqldb.Tx, records []*record) error {
	const columns = 8
	args := make([]any, 0, len(records)*columns)
	rows := make([]string, 0, len(records))
	for _, r := range records {
		rows = append(rows, "("+sqldb.In(len(args)+1, columns)+")")
		args = append(args, col.id, r.id, r.sequence, r.text, r.created, r.updated, r.createdBy, r.updatedBy)
	}
	n, err := tx.Exec(ctx, `INSERT INTO collection_records (collection_id, `+recordColumns+`) VALUES `+strings.Join(rows, ", ")+`
		ON CONFLICT (collection_id, id) DO NOTHING`, args...)
	if err == nil && n != int64(len(records)) {
		return duplicate([]string{fieldID})
	}
	return err
}

func duplicate(fields []string) error {
	return machine.Fail(Duplicate, "Another record has the same "+strings.Join(fields, ", ")+"; change the values, or use upsert to update the record that has them.").
		With(map[string]any{"fields": fields})
}

// update stores the new state of a record and what indexes know of it.
func (c *Collections) update(ctx context.Context, tx *sqldb.Tx, col *collection, before, now *record) error {
	if err := col.rewrite(ctx, tx, now); err != nil {
		return err
	}
	var old, next entries
	if err := old.of(col.schema.indexes, col.schema.unique, before); err != nil {
		return err
	}
	if err := next.of(col.schema.indexes, col.schema.unique, now); err != nil {
		return err
	}
	gone, made := old.without(&next), next.without(&old)
	if err := gone.remove(ctx, tx, col); err != nil {
		return err
	}
	return made.store(ctx, tx, col)
}

// rewrite stores the new state of a record.
func (col *collection) rewrite(ctx context.Context, tx *sqldb.Tx, r *record) error {
	_, err := tx.Exec(ctx, `UPDATE collection_records SET body = $1, updated_at = $2, updated_by = $3 WHERE collection_id = $4 AND id = $5`,
		r.text, r.updated, r.updatedBy, col.id, r.id)
	return err
}
