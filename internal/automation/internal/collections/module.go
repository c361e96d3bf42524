package collections

import (
	"context"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Function is a function of the module, or an instruction of the app.
type Function = func(f *machine.Frame, parameters *value.Object) (any, error)

// frame is what functions need of the frame that calls them.
type frame interface {
	Context() context.Context
	Once(do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (any, error)
}

// call is a function that is being called on a collection.
type call struct {
	frame
	c          *Collections
	place      Place
	collection string
	parameters *value.Object
}

func (c call) get(name string) any { return c.parameters.Get(name) }

// data reads the functions that work on the records of one collection, by the names that the module and the app give them.
func dataFunctions() map[string]func(call) (any, error) {
	return map[string]func(call) (any, error){
		"create": call.create, "insert": call.create,
		"bulkCreate": call.createMany, "insertMany": call.createMany,
		"findMany": call.findMany, "find": call.findMany,
		"findOne": call.findOne, "findAndCount": call.findAndCount, "count": call.count,
		"updateOne": call.updateOne, "updateMany": call.updateMany,
		"upsert": call.upsert, "bulkUpsert": call.upsert,
		"deleteOne": call.deleteOne, "deleteMany": call.deleteMany,
		"distinct": call.distinct, "aggregate": call.aggregate,
	}
}

// placeFunctions are about the collections of a place.
func placeFunctions() map[string]func(call) (any, error) {
	return map[string]func(call) (any, error){
		"updateSchema": call.updateSchema, "listCollections": call.listCollections, "getCollectionSchemas": call.schemas,
		"getCollectionStats": call.stats, "inferCollectionSchema": call.infer, "deleteCollections": call.deleteCollections,
	}
}

// Module gives the functions of the module collections. The parameter collection names the collection.
func (c *Collections) Module() map[string]Function {
	out := map[string]Function{}
	for name, do := range dataFunctions() {
		out[name] = func(f *machine.Frame, parameters *value.Object) (any, error) {
			called, err := c.called(f, placeOf(f.Home()), parameters)
			if err != nil {
				return nil, err
			}
			return do(called)
		}
	}
	for name, do := range placeFunctions() {
		out[name] = func(f *machine.Frame, parameters *value.Object) (any, error) {
			collection, _ := parameters.Get("collection").(string)
			return do(call{frame: f, c: c, place: placeOf(f.Home()), collection: collection, parameters: parameters})
		}
	}
	return out
}

func (c *Collections) called(f frame, place Place, parameters *value.Object) (call, error) {
	name, ok := parameters.Get("collection").(string)
	if !ok || name == "" {
		return call{}, invalid("parameters.collection is the name of the collection.")
	}
	return call{frame: f, c: c, place: place, collection: name, parameters: parameters}, nil
}

// placeOf is where the automations of a home find collections.
func placeOf(home *machine.Home) Place {
	return Place{WorkspaceID: home.WorkspaceID, Instance: home.FullSlug, AppSlug: home.AppSlug}
}

// object makes an object of names and values.
func object(pairs ...any) *value.Object {
	o := value.NewObject(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if name, ok := pairs[i].(string); ok {
			o.Set(name, pairs[i+1])
		}
	}
	return o
}
