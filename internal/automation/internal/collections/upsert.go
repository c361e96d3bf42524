package collections

import (
	"context"

	"atelier/internal/automation/internal/collections/internal/query"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Upsert is records that are updated when they are there, and inserted otherwise.
type Upsert struct {
	Data []any
	// OnConflictFields are the fields that tell which record is meant; OnInsertValues are more fields of records that are inserted.
	OnConflictFields, OnInsertValues any
}

// Upserted is how many records were inserted and changed.
type Upserted struct {
	Inserted []string
	Modified int
}

// Upsert updates or inserts records. The collection is locked while it looks for them, so that two callers never insert the same one.
func (c *Collections) Upsert(ctx context.Context, tx *sqldb.Tx, place Place, name string, u Upsert) (out Upserted, err error) {
	if len(u.Data) > c.deps.Limits.Batch {
		return out, tooLarge("One call writes at most %d records; write them in parts.", c.deps.Limits.Batch)
	}
	col, err := lock(ctx, tx, place, name)
	if err != nil {
		return out, err
	}
	fields, extra, err := u.options(col)
	if err != nil {
		return out, err
	}
	work := &upserting{c: c, tx: tx, fields: fields, extra: extra}
	work.scan = c.scan(tx, col) // all records together may look at as many as one query may
	for _, item := range u.Data {
		data, ok := item.(*value.Object)
		if !ok {
			return out, invalid("A record is an object of fields and values.")
		}
		if err := work.one(ctx, data); err != nil {
			return out, err
		}
	}
	return work.done, nil
}

// upserting is what the records of one call have in common.
type upserting struct {
	c      *Collections
	tx     *sqldb.Tx
	scan   *scan
	fields []string
	extra  *value.Object
	done   Upserted
}

func (u Upsert) options(col *collection) (fields []string, extra *value.Object, err error) {
	switch given := u.OnConflictFields.(type) {
	case string:
		fields = []string{given}
	case []any:
		for _, item := range given {
			field, _ := item.(string)
			fields = append(fields, field)
		}
	}
	if len(fields) == 0 || len(fields) > maxFields {
		return nil, nil, invalid("options.onConflictFields names the one to %d fields that tell which record is meant.", maxFields)
	}
	for _, field := range fields {
		if err := col.schema.Check(field); err != nil {
			return nil, nil, err
		}
	}
	extra, ok := u.OnInsertValues.(*value.Object)
	if !ok && value.Exists(u.OnInsertValues) {
		return nil, nil, invalid("options.onInsertValues is an object of fields and values.")
	}
	return fields, extra, nil
}

// one does one record.
func (u *upserting) one(ctx context.Context, data *value.Object) error {
	col := u.scan.col
	same := value.NewObject(len(u.fields))
	for _, field := range u.fields {
		v := data.Get(field)
		if !value.Exists(v) {
			return invalid("The record has no value for %q, which options.onConflictFields names.", shorten(field))
		}
		same.Set(field, object("$eq", v))
	}
	q, err := query.Compile(same, col.schema)
	if err != nil {
		return err
	}
	found, err := u.c.best(ctx, u.scan, &finding{query: q, limit: 1})
	if err != nil {
		return err
	}
	if len(found) == 0 {
		made, err := u.c.insert(ctx, u.tx, col, []any{merged(data, u.extra)})
		if err != nil {
			return err
		}
		u.done.Inserted = append(u.done.Inserted, made[0].id)
		return nil
	}
	rest := without(data, fieldID)
	if rest.Len() == 0 {
		return nil
	}
	change, err := col.change(rest)
	if err != nil {
		return err
	}
	done, err := u.c.apply(ctx, u.tx, col, []string{found[0].id}, change)
	u.done.Modified += done.Modified
	return err
}

// merged gives an object with more fields; those it has count more.
func merged(data, extra *value.Object) *value.Object {
	if extra == nil {
		return data
	}
	out := value.NewObject(data.Len() + extra.Len())
	for name, v := range extra.All() {
		out.Set(name, v)
	}
	for name, v := range data.All() {
		out.Set(name, v)
	}
	return out
}

// without gives an object without a field.
func without(data *value.Object, field string) *value.Object {
	if !data.Has(field) {
		return data
	}
	out := merged(data, value.NewObject(0))
	out.Delete(field)
	return out
}
