package collections

import (
	"context"

	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

func (c call) create() (any, error) {
	data, ok := c.get("data").(*value.Object)
	if !ok {
		return nil, invalid("data is the record to add: an object of fields and values.")
	}
	entity := c.get("outputMode") == "entity"
	return c.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		made, err := c.c.Insert(ctx, tx, c.place, c.collection, []any{data})
		if err != nil {
			return nil, err
		}
		if entity {
			return made[0], nil
		}
		return object("acknowledged", true, "insertedId", made[0].Get(fieldID)), nil
	})
}

func (c call) createMany() (any, error) {
	data, ok := c.get("data").([]any)
	if !ok {
		return nil, invalid("data is the list of records to add.")
	}
	return c.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		made, err := c.c.Insert(ctx, tx, c.place, c.collection, data)
		if err != nil {
			return nil, err
		}
		ids := make([]any, len(made))
		for i, one := range made {
			ids[i] = one.Get(fieldID)
		}
		return object("acknowledged", true, "insertedCount", float64(len(ids)), "insertedIds", ids), nil
	})
}

// question reads the parameters of a search. What stands in options may stand beside them as well.
func (c call) question() (Find, error) {
	options := c.get("options")
	if _, ok := options.(*value.Object); !ok {
		if value.Exists(options) {
			return Find{}, invalid("options is an object: limit, page, skip, fields and sort.")
		}
		options = c.parameters
	}
	sort := c.get("sort")
	if !value.Exists(sort) {
		sort = value.Get(options, "sort")
	}
	return Find{Query: c.get("query"), Sort: sort, Options: options}, nil
}

func (c call) findMany() (any, error) {
	question, err := c.question()
	if err != nil {
		return nil, err
	}
	return unless(c.c.FindMany(c.Context(), c.c.deps.DB, c.place, c.collection, question))
}

func (c call) findOne() (any, error) {
	question, err := c.question()
	if err != nil {
		return nil, err
	}
	return c.c.FindOne(c.Context(), c.c.deps.DB, c.place, c.collection, question)
}

func (c call) findAndCount() (any, error) {
	question, err := c.question()
	if err != nil {
		return nil, err
	}
	return unless(c.c.FindAndCount(c.Context(), c.c.deps.DB, c.place, c.collection, question))
}

func (c call) count() (any, error) {
	return unless(c.c.Count(c.Context(), c.c.deps.DB, c.place, c.collection, c.get("query")))
}

// unless gives nothing when there is an error.
func unless[T any](v T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return v, nil
}

func (c call) selection(one bool) Selection {
	return Selection{Query: c.get("query"), One: one, All: c.get("overrideSecurity") == true || c.get("allowMatchAll") == true}
}

func (c call) updateOne() (any, error)  { return c.update(true) }
func (c call) updateMany() (any, error) { return c.update(false) }

func (c call) update(one bool) (any, error) {
	return c.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		done, err := c.c.Update(ctx, tx, c.place, c.collection, c.selection(one), c.get("data"))
		if err != nil {
			return nil, err
		}
		return object("matchedCount", float64(done.Matched), "modifiedCount", float64(done.Modified)), nil
	})
}

func (c call) deleteOne() (any, error)  { return c.delete(true) }
func (c call) deleteMany() (any, error) { return c.delete(false) }

func (c call) delete(one bool) (any, error) {
	return c.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		deleted, err := c.c.Delete(ctx, tx, c.place, c.collection, c.selection(one))
		if err != nil {
			return nil, err
		}
		return object("deletedCount", float64(deleted)), nil
	})
}

func (c call) upsert() (any, error) {
	options := c.get("options")
	u := Upsert{OnConflictFields: value.Get(options, "onConflictFields"), OnInsertValues: value.Get(options, "onInsertValues")}
	switch data := c.get("data").(type) {
	case []any:
		u.Data = data
	case *value.Object:
		u.Data = []any{data}
	default:
		return nil, invalid("data is a record, or a list of records: objects of fields and values.")
	}
	return c.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		done, err := c.c.Upsert(ctx, tx, c.place, c.collection, u)
		if err != nil {
			return nil, err
		}
		return object("acknowledged", true, "upsertedCount", float64(len(done.Inserted)), "modifiedCount", float64(done.Modified),
			"upsertedIds", value.From(done.Inserted)), nil
	})
}

// options are called opts by these functions; the long name will do.
func (c call) opts() any {
	if opts := c.get("opts"); value.Exists(opts) {
		return opts
	}
	return c.get("options")
}

func (c call) distinct() (any, error) {
	return unless(c.c.Distinct(c.Context(), c.c.deps.DB, c.place, c.collection, Distinct{Query: c.get("query"), Field: c.get("field"), Options: c.opts()}))
}

func (c call) aggregate() (any, error) {
	steps := c.get("steps")
	if !value.Exists(steps) {
		steps = c.get("pipeline")
	}
	return unless(c.c.Aggregate(c.Context(), c.c.deps.DB, c.place, c.collection, Aggregation{Query: c.get("query"), Steps: steps, Options: c.opts()}))
}

func (c call) updateSchema() (any, error) {
	old, _ := c.get("oldCollection").(string)
	d := Definition{
		Name: c.collection, OldName: old, Properties: c.get("properties"), Indexes: c.get("indexes"), Uniques: c.get("uniques"),
	}
	return c.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		schema, err := c.c.Define(ctx, tx, c.place, d)
		if err != nil {
			return nil, err
		}
		out := object("collection", d.Name)
		for key, v := range schema.Definition().All() {
			out.Set(key, v)
		}
		return out, nil
	})
}

func (c call) listCollections() (any, error) {
	return unless(c.c.Names(c.Context(), c.c.deps.DB, c.place))
}

// names are the collections that the parameters name: collections, or collection.
func (c call) names() ([]string, error) {
	if c.collection != "" {
		return []string{c.collection}, nil
	}
	list, ok := c.get("collections").([]any)
	if !ok && value.Exists(c.get("collections")) {
		return nil, invalid("collections is a list of names.")
	}
	names := make([]string, 0, len(list))
	for _, item := range list {
		name, ok := item.(string)
		if !ok {
			return nil, invalid("collections is a list of names.")
		}
		names = append(names, name)
	}
	return names, nil
}

func (c call) schemas() (any, error) {
	names, err := c.names()
	if err != nil {
		return nil, err
	}
	return unless(c.c.Schemas(c.Context(), c.c.deps.DB, c.place, names))
}

func (c call) stats() (any, error) {
	names, err := c.names()
	if err != nil {
		return nil, err
	}
	all, err := c.c.Stats(c.Context(), c.c.deps.DB, c.place, names)
	if err != nil {
		return nil, err
	}
	if c.collection == "" {
		return all, nil
	}
	if len(all) == 0 {
		return nil, unknown(c.collection)
	}
	return all[0], nil
}

func (c call) infer() (any, error) {
	return unless(c.c.Infer(c.Context(), c.c.deps.DB, c.place, c.collection, c.get("data")))
}

func (c call) deleteCollections() (any, error) {
	names, err := c.names()
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, invalid("collections is the list of the collections to delete.")
	}
	return c.Once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		deleted, err := c.c.Drop(ctx, tx, c.place, names)
		if err != nil {
			return nil, err
		}
		return object("deletedCount", float64(deleted)), nil
	})
}
