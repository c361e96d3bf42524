package collections

import (
	"context"
	"sync/atomic"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Methods gives the instructions of an instance of the built-in app Collection. Its configuration says which collection it is, and how
// that is defined; the definition is applied when the instance is first used after it changed. The collection belongs to where the app
// is imported, so that the module finds it there by its name.
func (c *Collections) Methods(home *machine.Home) map[string]Function {
	place := placeOf(home)
	if home.Parent != nil {
		place = placeOf(home.Parent)
	}
	one := &instance{c: c, place: place, config: home.Config}
	out := map[string]Function{}
	for name, do := range dataFunctions() {
		out[name] = func(f *machine.Frame, parameters *value.Object) (any, error) {
			collection, err := one.ready(f.Context())
			if err != nil {
				return nil, err
			}
			return do(call{frame: f, c: c, place: place, collection: collection, parameters: parameters})
		}
	}
	return out
}

// instance is an instance of the app.
type instance struct {
	c       *Collections
	place   Place
	config  *value.Object
	applied atomic.Bool
}

// ready gives the name of the collection, after the definition was applied. Two that are first at the same time both apply it, which
// changes nothing the second time.
func (i *instance) ready(ctx context.Context) (string, error) {
	if i.config == nil {
		return "", misconfigured("The app Collection needs collectionName and properties in its configuration.")
	}
	name, _ := i.config.Get("collectionName").(string)
	if !isID(name) {
		return "", misconfigured("collectionName, in the configuration of the app Collection, has at most 64 letters, digits, - and _.")
	}
	if i.applied.Load() {
		return name, nil
	}
	d := Definition{Name: name, Properties: i.config.Get("properties"), Indexes: i.config.Get("indexes"), Uniques: i.config.Get("uniques")}
	d.applied = digest(jsonText([]any{d.Properties, d.Indexes, d.Uniques}))
	col, err := find(ctx, i.c.deps.DB, i.place, name)
	if err != nil && !sqldb.IsNotFound(err) {
		return "", err
	}
	if err != nil || col.applied != d.applied {
		err = i.c.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			_, err := i.c.Define(ctx, tx, i.place, d)
			return err
		})
		if err != nil {
			return "", err
		}
	}
	i.applied.Store(true)
	return name, nil
}
