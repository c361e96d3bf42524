package collections_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/sqldb"
)

// Whether an index is used when very many records match is a question of time only.
func TestManyMatches(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", `{"collection":"many","properties":{"n":"integer","kind":"string"},"indexes":[{"properties":"kind"},{"properties":["kind","n"]}]}`)
		const records = 3000
		data := make([]any, records)
		for i := range data {
			kind := "common"
			if i >= records-1500 {
				kind = "late"
			}
			data[i] = machine.Payload("_id", fmt.Sprint("r", i), "n", float64(i%100), "kind", kind)
		}
		err := k.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := k.c.Insert(ctx, tx, k.place, "many", data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		k.want("count", `{"collection":"many","query":{"kind":"late"}}`, `1500`)
		k.want("findMany", `{"collection":"many","query":{"kind":"late"},"options":{"limit":2,"fields":["n"]}}`, `[{"_id":"r1500","n":0},{"_id":"r1501","n":1}]`)
		k.want("findMany", `{"collection":"many","query":{"kind":"late"},"options":{"limit":1,"skip":1499,"fields":["n"]}}`, `[{"_id":"r2999","n":99}]`)
		k.want("findMany", `{"collection":"many","query":{"kind":"common"},"sort":{"createdAt":-1},"options":{"limit":1,"fields":["n"]}}`, `[{"_id":"r1499","n":99}]`)
		k.want("findMany", `{"collection":"many","query":{"kind":"late"},"sort":{"n":-1},"options":{"limit":2,"fields":["n"]}}`, `[{"_id":"r2999","n":99},{"_id":"r2899","n":99}]`)
		k.want("updateMany", `{"collection":"many","query":{"kind":"late"},"data":{"kind":"early"}}`, `{"matchedCount":1500,"modifiedCount":1500}`)
		k.want("deleteMany", `{"collection":"many","query":{"kind":"early","n":{"$lt":50}}}`, `{"deletedCount":750}`)
		k.want("distinct", `{"collection":"many","field":"kind","opts":{"count":true}}`, `[{"value":"common","count":1500},{"value":"early","count":750}]`)
		// Indexes that come later know all of them, and so does a change of type.
		k.call("updateSchema", `{"collection":"many","properties":{"n":"json","kind":"text"},"indexes":[{"properties":"n"}]}`)
		k.want("count", `{"collection":"many","query":{"n":7}}`, `15`)
		k.wantUsageRight()
	})
}

// A result may not take more memory than there is for it, in whatever way it comes.
func TestResultsAreBounded(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", `{"collection":"large","properties":{"text":"text","kind":"string"},"indexes":[{"properties":"kind"}]}`)
		for i := range 10 {
			k.call("create", fmt.Sprintf(`{"collection":"large","data":{"_id":"r%d","kind":"x","text":"%s%d"}}`, i, strings.Repeat("x", 500), i))
		}
		for _, rest := range []string{``, `,"query":{"kind":"x"}`, `,"sort":{"text":1}`, `,"sort":{"text":-1}`} {
			k.refused("findMany", `{"collection":"large"`+rest+`}`, collections.TooLarge, "bytes")
			k.call("findMany", `{"collection":"large","options":{"limit":2}`+rest+`}`)
		}
		k.refused("distinct", `{"collection":"large","field":"text"}`, collections.TooLarge, "too long")
		k.refused("aggregate", `{"collection":"large","steps":[{"$project":{"text":1}}]}`, collections.TooLarge, "bytes")
		k.refused("aggregate", `{"collection":"large","query":{"kind":"x"},"steps":[{"$count":"n"}]}`, collections.TooLarge, "bytes")
		k.want("aggregate", `{"collection":"large","steps":[{"$count":"n"}]}`, `[{"n":10}]`)
	}, func(l *collections.Limits) { l.Result = 2000 })
}

// Values of all kinds have one order, in lists and objects as well.
func TestOrderOfKinds(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", `{"collection":"kinds","properties":{"v":"json"},"uniques":[{"properties":"v"}]}`)
		k.call("bulkCreate", `{"collection":"kinds","data":[{"v":true},{"v":false},{"v":[2]},{"v":[1,5]},{"v":[1]},{"v":{"b":1}},{"v":{"a":2}},{"v":"b"},{"v":"a"},{"v":2},{"v":-1},{"v":null},{}]}`)
		k.want("aggregate", `{"collection":"kinds","steps":[{"$sort":{"v":1}},{"$project":{"_id":0,"v":1}}]}`,
			`[{"v":null},{"v":null},{"v":-1},{"v":2},{"v":"a"},{"v":"b"},{"v":{"a":2}},{"v":{"b":1}},{"v":[1]},{"v":[1,5]},{"v":[2]},{"v":false},{"v":true}]`)
		// What is equal is equal whatever the order of its keys.
		k.call("create", `{"collection":"kinds","data":{"v":{"x":1,"y":[{"p":1,"q":2}]}}}`)
		k.refused("create", `{"collection":"kinds","data":{"v":{"y":[{"q":2,"p":1}],"x":1}}}`, collections.Duplicate, "v")
		k.want("count", `{"collection":"kinds","query":{"v":{"y":[{"q":2,"p":1}],"x":1}}}`, `1`)
		// A null is not held by a unique.
		k.call("create", `{"collection":"kinds","data":{}}`)
	})
}

func TestUpsertByID(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		options := `"options":{"onConflictFields":["_id"]}`
		k.want("upsert", `{"collection":"people","data":{"_id":"a","age":5},`+options+`}`, `{"acknowledged":true,"upsertedCount":0,"modifiedCount":1,"upsertedIds":[]}`)
		k.want("upsert", `{"collection":"people","data":{"_id":"a"},`+options+`}`, `{"acknowledged":true,"upsertedCount":0,"modifiedCount":0,"upsertedIds":[]}`)
		k.want("upsert", `{"collection":"people","data":{"_id":"z","name":"Zoe"},`+options+`}`, `{"acknowledged":true,"upsertedCount":1,"modifiedCount":0,"upsertedIds":["z"]}`)
		k.want("findOne", `{"collection":"people","query":{"_id":"a"},"options":{"fields":["age"]}}`, `{"_id":"a","age":5}`)
	})
}
