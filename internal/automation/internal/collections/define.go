package collections

import (
	"context"
	"errors"
	"slices"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Definition is how a collection is to be.
type Definition struct {
	Name string
	// OldName is the collection that gets the name; empty when none is renamed.
	OldName                      string
	Properties, Indexes, Uniques any
	// applied is the digest of the app configuration it comes from; empty when it comes from elsewhere.
	applied string
}

// checkName refuses what cannot be the name of a collection.
func checkName(name string) error {
	if !isID(name) {
		return invalid("The name of a collection has at most 64 letters, digits, - and _.")
	}
	return nil
}

// Define creates a collection, or changes its definition. New indexes and uniques are built from the records that are there; a unique
// that these break, or a type that they do not fit, is refused.
func (c *Collections) Define(ctx context.Context, tx *sqldb.Tx, place Place, d Definition) (*Schema, error) {
	if err := checkName(d.Name); err != nil {
		return nil, err
	}
	schema, err := ParseSchema(d.Properties, d.Indexes, d.Uniques)
	if err != nil {
		return nil, err
	}
	col, created, err := c.claim(ctx, tx, place, d, schema)
	if err != nil {
		return nil, err
	}
	renamed := d.OldName != "" && d.OldName != d.Name
	applied := d.applied
	if applied == "" {
		applied = col.applied
	}
	same := jsonText(col.schema.Definition()) == jsonText(schema.Definition())
	if same && !created && !renamed && col.applied == applied {
		return col.schema, nil
	}
	todo := schema.follow(col.schema)
	col.schema, col.name, col.applied = schema, d.Name, applied
	if err := c.migrate(ctx, tx, col, todo); err != nil {
		return nil, err
	}
	if err := c.redefine(ctx, tx, col); err != nil {
		return nil, err
	}
	if same && !created && !renamed {
		return schema, nil
	}
	return schema, c.announce(ctx, tx, col, d, renamed)
}

// claim locks the collection, which it creates when there is none.
func (c *Collections) claim(ctx context.Context, tx *sqldb.Tx, place Place, d Definition, schema *Schema) (col *collection, created bool, err error) {
	if d.OldName != "" && d.OldName != d.Name {
		_, err := find(ctx, tx, place, d.Name)
		if err == nil {
			return nil, false, invalid("There is a collection %s already; %s cannot get its name.", d.Name, shorten(d.OldName))
		}
		if !sqldb.IsNotFound(err) {
			return nil, false, err
		}
		col, err = lock(ctx, tx, place, d.OldName)
		return col, false, err
	}
	id := c.deps.IDs.File()
	blank := *schema
	blank.indexes, blank.unique = nil, nil // they get their slots as those that are added later do
	fresh := &collection{id: id, name: d.Name, place: place, schema: &blank}
	if err := c.add(ctx, tx, fresh); err != nil {
		return nil, false, err
	}
	col, err = lock(ctx, tx, place, d.Name)
	return col, err == nil && col.id == id, err
}

func (c *Collections) announce(ctx context.Context, tx *sqldb.Tx, col *collection, d Definition, renamed bool) error {
	change := Announcement{
		Namespace: col.place.namespace(), WorkspaceID: col.place.WorkspaceID, AppSlug: col.place.AppSlug, Instance: col.place.Instance,
		Collection: col.name, Schema: col.schema.Definition(), Properties: col.schema.Properties(),
		Indexes: col.schema.Indexes(), Uniques: col.schema.Uniques(),
	}
	if renamed {
		change.OldCollection = d.OldName
	}
	return c.deps.Announce(ctx, tx, change)
}

// migrate makes the records of a collection what its new definition says.
func (c *Collections) migrate(ctx context.Context, tx *sqldb.Tx, col *collection, todo changes) error {
	for _, slot := range todo.dropped {
		for _, statement := range []string{
			`DELETE FROM collection_terms WHERE collection_id = $1 AND slot = $2`,
			`DELETE FROM collection_uniques WHERE collection_id = $1 AND slot = $2`,
		} {
			if _, err := tx.Exec(ctx, statement, col.id, slot); err != nil {
				return err
			}
		}
	}
	if col.records == 0 || len(todo.check)+len(todo.indexes)+len(todo.uniques) == 0 {
		return nil
	}
	batch := &entries{}
	grown, from := int64(0), int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		records, err := col.page(ctx, tx, from, held)
		if err != nil {
			return err
		}
		if len(records) == 0 {
			break
		}
		from = records[len(records)-1].sequence
		for _, r := range records {
			more, err := c.refit(ctx, tx, col, r, todo.check)
			if err != nil {
				return err
			}
			grown += more
			if err := batch.of(todo.indexes, todo.uniques, r); err != nil {
				return err
			}
		}
		if err := batch.flush(ctx, tx, col, chunk); err != nil {
			return err
		}
	}
	if err := batch.flush(ctx, tx, col, 0); err != nil {
		return err
	}
	if grown == 0 {
		return nil
	}
	return c.count(ctx, tx, col, 0, grown)
}

// flush stores the entries when there are more than some.
func (e *entries) flush(ctx context.Context, tx *sqldb.Tx, col *collection, some int) error {
	n := len(e.terms)
	for _, held := range e.held {
		n += len(held)
	}
	if n <= some {
		return nil
	}
	err := e.store(ctx, tx, col)
	*e = entries{}
	if failure, ok := errors.AsType[*machine.Failure](err); ok && failure.Name == Duplicate {
		return machine.Fail(machine.Configuration, "Records that are there have the same values in fields that are declared as unique. Change the records first, then declare it.").
			With(failure.Details)
	}
	return err
}

// refit checks the values of fields whose type has changed and stores them in their new form. It tells by how much the record grew.
// What indexes know of these fields is made anew in any case.
func (c *Collections) refit(ctx context.Context, tx *sqldb.Tx, col *collection, r *record, fields []string) (int64, error) {
	body := value.NewObject(len(col.schema.properties))
	for _, p := range col.schema.properties {
		if v := r.shown.Get(p.name); value.Exists(v) {
			body.Set(p.name, v)
		}
	}
	changed := false
	for _, name := range fields {
		v := body.Get(name)
		if !value.Exists(v) {
			continue
		}
		fit, err := col.schema.byName[name].check(v)
		if err != nil {
			return 0, misconfigured("The type of %q cannot be %s: the record %s holds something else. Change the records first.", name, col.schema.byName[name].kind, r.id)
		}
		if !value.DeepEqual(fit, v) {
			changed = true
			body.Set(name, fit)
		}
	}
	if !changed {
		return 0, nil
	}
	text, err := c.write(body)
	if err != nil {
		return 0, err
	}
	grown := int64(len(text) - len(r.text))
	r.text = text
	r.show(col.schema, body)
	return grown, col.rewrite(ctx, tx, r)
}

// Drop deletes collections and tells how many there were. All are locked before the first is deleted, in the order of their names.
func (c *Collections) Drop(ctx context.Context, tx *sqldb.Tx, place Place, names []string) (deleted int, err error) {
	var all []*collection
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		col, err := lock(ctx, tx, place, name)
		if failure, ok := errors.AsType[*machine.Failure](err); ok && failure.Name == machine.ObjectNotFound {
			continue
		}
		if err != nil {
			return 0, err
		}
		all = append(all, col)
	}
	for _, col := range all {
		if err := c.remove(ctx, tx, col); err != nil {
			return 0, err
		}
	}
	return len(all), nil
}
