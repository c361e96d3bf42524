package collections

import (
	"context"
	"database/sql"
	"fmt"

	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// record is a record as it is stored.
type record struct {
	id                   string
	sequence             int64
	created, updated     int64
	createdBy, updatedBy string
	// text is the body, shown what automations see.
	text  string
	shown *value.Object
}

// overhead is what a record takes besides its text, about.
const overhead = 128

func (r *record) size() int64 { return int64(len(r.text)) + overhead }

const recordColumns = `id, sequence, body, created_at, updated_at, created_by, updated_by`

func (col *collection) scanRecord(rows *sql.Rows) (*record, error) {
	r := &record{}
	if err := rows.Scan(&r.id, &r.sequence, &r.text, &r.created, &r.updated, &r.createdBy, &r.updatedBy); err != nil {
		return nil, err
	}
	body, err := decode(r.text)
	if err != nil {
		return nil, fmt.Errorf("a record of a collection: %w", err)
	}
	r.show(col.schema, body)
	return r, nil
}

// show makes what automations see of a body: every declared field, null where there is nothing, and those of the system.
func (r *record) show(s *Schema, body *value.Object) {
	const system = 5
	out := value.NewObject(len(s.properties) + system)
	out.Set(fieldID, r.id)
	for _, p := range s.properties {
		v := body.Get(p.name)
		if (v == value.Undefined{}) {
			v = nil
		}
		out.Set(p.name, v)
	}
	out.Set(fieldCreatedAt, sqldb.Time(r.created).Format(momentForm))
	out.Set(fieldUpdatedAt, sqldb.Time(r.updated).Format(momentForm))
	out.Set(fieldCreatedBy, orNull(r.createdBy))
	out.Set(fieldUpdatedBy, orNull(r.updatedBy))
	r.shown = out
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// body checks the fields of an object and gives what is stored of it. Needed tells which fields must have a value when they may not be
// null; nil is all of them.
func (s *Schema) body(fields *value.Object, needed map[string]bool) (*value.Object, error) {
	for name := range fields.All() {
		if err := s.Check(name); err != nil {
			return nil, err
		}
	}
	out := value.NewObject(len(s.properties))
	for _, p := range s.properties {
		v := fields.Get(p.name)
		if !value.Exists(v) {
			if !p.nullable && (needed == nil || needed[p.name]) {
				return nil, invalid("The field %q cannot be null: it takes %s.", p.name, p.takes())
			}
			continue
		}
		checked, err := p.check(v)
		if err != nil {
			return nil, err
		}
		out.Set(p.name, checked)
	}
	return out, nil
}

// write makes the text of a body.
func (c *Collections) write(body *value.Object) (string, error) {
	text, ok := value.JSON(body, "", c.deps.Limits.Record)
	if !ok {
		return "", tooLarge("A record may take at most %d bytes; put large contents into files.", c.deps.Limits.Record)
	}
	return text, nil
}

// held is how many records are kept at once by who changes them.
const held = 50

// byIDs reads records, in no order.
func (col *collection) byIDs(ctx context.Context, r sqldb.Reader, ids []string) ([]*record, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, 0, len(ids)+1)
	args = append(args, col.id)
	for _, id := range ids {
		args = append(args, id)
	}
	return sqldb.All(ctx, r, col.scanRecord, `SELECT `+recordColumns+` FROM collection_records
		WHERE collection_id = $1 AND id IN (`+sqldb.In(2, len(ids))+`)`, args...)
}

// page reads the records behind a place in their order.
func (col *collection) page(ctx context.Context, r sqldb.Reader, from int64, most int) ([]*record, error) {
	return sqldb.All(ctx, r, col.scanRecord, `SELECT `+recordColumns+` FROM collection_records
		WHERE collection_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3`, col.id, from, most)
}
