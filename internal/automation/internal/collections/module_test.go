package collections_test

import (
	"strings"
	"testing"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
)

const people = `{"collection":"people","properties":{
	"name":{"type":"string","nullable":false},"age":{"type":"integer"},"tags":{"type":"array"},"born":{"type":"date"},"extra":{"type":"json"},"active":"boolean"},
	"indexes":[{"properties":"age"},{"name":"both","properties":["active","name"]},{"properties":["tags"]}],"uniques":[{"properties":["name"]}]}`

// populated has three people.
func populated(k *kit) {
	k.t.Helper()
	k.call("updateSchema", people)
	k.want("bulkCreate", `{"collection":"people","data":[
		{"_id":"a","name":"Ada","age":36,"tags":["math","code"],"born":"1815-12-10","extra":{"a":{"b":1}},"active":true},
		{"_id":"b","name":"Bob","age":20,"tags":[],"active":false},
		{"_id":"c","name":"Cid","tags":["code"],"extra":[{"x":1,"y":2},{"x":3,"y":4}]}]}`,
		`{"acknowledged":true,"insertedCount":3,"insertedIds":["a","b","c"]}`)
}

func TestInsert(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		k.want("findMany", `{"collection":"people","query":{"name":"Bob"}}`,
			`[{"_id":"b","name":"Bob","age":20,"tags":[],"born":null,"extra":null,"active":false,"createdAt":"2023-11-14T22:13:20.000Z","updatedAt":"2023-11-14T22:13:20.000Z","createdBy":"user-1","updatedBy":"user-1"}]`)
		out, err := k.try("create", `{"collection":"people","data":{"name":"Dee"}}`)
		id, _ := value.Get(out, "insertedId").(string)
		if err != nil || len(id) != 24 || value.Get(out, "acknowledged") != true {
			t.Errorf("%v, %v", machinetest.JSON(out), err)
		}
		out, err = k.try("insert", `{"collection":"people","outputMode":"entity","data":{"name":"Eve","born":"2000-01-02T03:04:05+02:00"}}`)
		if err != nil || value.Get(out, "born") != "2000-01-02T01:04:05.000Z" || value.Get(out, "age") != nil {
			t.Errorf("%v, %v", machinetest.JSON(out), err)
		}
		k.want("count", `{"collection":"people"}`, `5`)
		for _, test := range []struct{ data, name, message string }{
			{`{"name":"Ada"}`, collections.Duplicate, "name"},
			{`{"_id":"a","name":"x"}`, collections.Duplicate, "_id"},
			{`{"age":1}`, machine.InvalidArguments, `"name" cannot be null`},
			{`{"name":null}`, machine.InvalidArguments, `"name" cannot be null`},
			{`{"name":"x","nick":"y"}`, machine.InvalidArguments, `no field "nick"`},
			{`{"name":"x","age":1.5}`, machine.InvalidArguments, "a whole number"},
			{`{"name":5}`, machine.InvalidArguments, "a text"},
			{`{"name":"x","tags":[1]}`, machine.InvalidArguments, "a list of texts"},
			{`{"name":"x","born":"soon"}`, machine.InvalidArguments, "a date"},
			{`{"name":"x","createdAt":"2020-01-01"}`, machine.InvalidArguments, "set by the platform"},
			{`{"name":"x","_id":"a b"}`, machine.InvalidArguments, "_id"},
			{`[]`, machine.InvalidArguments, "an object"},
		} {
			k.refused("create", `{"collection":"people","data":`+test.data+`}`, test.name, test.message)
		}
		k.refused("bulkCreate", `{"collection":"people","data":[{"name":"x"},{"name":"x"}]}`, collections.Duplicate, "name")
		k.refused("create", `{"collection":"nobody","data":{}}`, machine.ObjectNotFound, "nobody")
		k.refused("create", `{"data":{}}`, machine.InvalidArguments, "parameters.collection")
		k.want("count", `{"collection":"people"}`, `5`)
		k.wantUsageRight()
	})
}

func TestFind(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		for _, test := range []struct{ query, ids string }{
			{`{}`, "a b c"},
			{`{"_id":"b"}`, "b"},
			{`{"_id":{"$in":["c","a","nobody",5]}}`, "a c"},
			{`{"age":36}`, "a"},
			{`{"age":null}`, "c"},
			{`{"age":{"$ne":36}}`, "b c"},
			{`{"age":{"$gt":20}}`, "a"},
			{`{"age":{"$gte":20,"$lt":36}}`, "b"},
			{`{"age":{"$lte":36}}`, "a b"},
			{`{"age":{"$in":[36,null]}}`, "a c"},
			{`{"age":{"$in":[]}}`, ""},
			{`{"age":{"$nin":[36]}}`, "b c"},
			{`{"age":"36"}`, ""},
			{`{"age":{"$exists":true}}`, "a b"},
			{`{"age":{"$exists":false}}`, "c"},
			{`{"name":{"$regex":"^[ab]","$options":"i"}}`, "a b"},
			{`{"name":{"$not":{"$regex":"^A"}}}`, "b c"},
			{`{"tags":"code"}`, "a c"},
			{`{"tags":["code"]}`, "c"},
			{`{"tags":[]}`, "b"},
			{`{"tags":{"$all":["code","math"]}}`, "a"},
			{`{"tags":{"$size":1}}`, "c"},
			{`{"tags":{"$elemMatch":{"$gt":"l","$lt":"n"}}}`, "a"},
			{`{"born":"1815-12-10T00:00:00Z"}`, "a"},
			{`{"born":{"$lt":"1900-01-01"}}`, "a"},
			{`{"extra.a.b":1}`, "a"},
			{`{"extra.a.b":{"$exists":true}}`, "a"},
			{`{"extra.x":3}`, "c"},
			{`{"extra.1.y":4}`, "c"},
			{`{"extra":{"$elemMatch":{"x":1,"y":2}}}`, "c"},
			{`{"extra":{"$elemMatch":{"x":1,"y":4}}}`, ""},
			{`{"extra":{"$elemMatch":{"$or":[{"x":9},{"y":4}]}}}`, "c"},
			{`{"$or":[{"name":"Ada"},{"age":20}]}`, "a b"},
			{`{"$nor":[{"name":"Ada"},{"age":20}]}`, "c"},
			{`{"$and":[{"age":{"$gt":1}},{"active":false}]}`, "b"},
			{`{"active":true,"name":{"$gte":"A"}}`, "a"},
			{`{"name":"Ada","age":20}`, ""},
			{`{"createdBy":"user-1"}`, "a b c"},
			{`{"createdAt":{"$gt":1700000000000}}`, ""},
		} {
			k.want("findMany", `{"collection":"people","options":{"fields":["name"]},"query":`+test.query+`}`, shown(test.ids))
		}
		for _, test := range []struct{ query, message string }{
			{`{"nick":1}`, `no field "nick"`},
			{`{"$or":[{"nick":1}]}`, `no field "nick"`},
			{`{"$where":"1"}`, "$where"},
			{`{"age":{"$where":"1"}}`, "$where"},
			{`{"$expr":{}}`, "$expr"},
			{`{"age":{"$gt":[1]}}`, "$gt"},
			{`{"$and":[]}`, "$and"},
			{`{"age":{"$in":5}}`, "$in"},
			{`{"name":{"$regex":"("}}`, "$regex"},
			{`{"name":{"$regex":"a","$options":"x"}}`, "$options"},
			{`{"age":{"$gt":1,"x":2}}`, "same object"},
			{`[]`, "A query is an object"},
			{`{"name":{"$regex":"` + strings.Repeat("a", 1025) + `"}}`, "$regex"},
			{`{"age":{"$exists":1}}`, "$exists"},
			{`{"age":{"$not":5}}`, "$not"},
			{strings.Repeat(`{"$and":[`, 30) + `{}` + strings.Repeat(`]}`, 30), "deep"},
		} {
			k.refused("findMany", `{"collection":"people","query":`+test.query+`}`, machine.InvalidArguments, test.message)
		}
	})
}

// shown is what a search gives that only wants names.
func shown(ids string) string {
	names := map[string]string{"a": "Ada", "b": "Bob", "c": "Cid"}
	var rows []string
	for id := range strings.FieldsSeq(ids) {
		rows = append(rows, `{"_id":"`+id+`","name":"`+names[id]+`"}`)
	}
	return "[" + strings.Join(rows, ",") + "]"
}

func TestFindOptions(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		for _, test := range []struct{ rest, ids string }{
			{`"sort":{"name":-1}`, "c b a"},
			{`"sort":{"age":1}`, "c b a"},
			{`"sort":"-age"`, "a b c"},
			{`"sort":[["active","desc"],["name",1]]`, "a b c"},
			{`"sort":{"createdAt":-1}`, "c b a"},
			{`"sort":{"createdAt":"asc"}`, "a b c"},
			{`"sort":{"name":1},"options":{"limit":1,"page":2,"fields":["name"]}`, "b"},
			{`"options":{"limit":1,"skip":2,"fields":["name"]}`, "c"},
			{`"options":{"limit":2,"page":2,"fields":["name"]}`, "c"},
			{`"options":{"page":2,"fields":["name"]}`, ""},
			{`"sort":{"age":1},"options":{"skip":5,"fields":["name"]}`, ""},
		} {
			parameters := `{"collection":"people",` + test.rest
			if !strings.Contains(test.rest, "options") {
				parameters += `,"options":{"fields":["name"]}`
			}
			k.want("findMany", parameters+`}`, shown(test.ids))
		}
		k.want("findOne", `{"collection":"people","query":{"age":20},"options":{"fields":{"name":1,"_id":0}}}`, `{"name":"Bob"}`)
		k.want("findOne", `{"collection":"people","query":{"age":99}}`, `null`)
		k.want("findAndCount", `{"collection":"people","query":{"tags":"code"},"options":{"limit":1,"fields":"name"}}`, `[[{"_id":"a","name":"Ada"}],2]`)
		k.want("count", `{"collection":"people","query":{"age":{"$gt":1}}}`, `2`)
		for _, options := range []string{`{"limit":0}`, `{"limit":10001}`, `{"page":0}`, `{"skip":-1}`, `{"limit":"5"}`, `{"fields":["nick"]}`, `{"fields":5}`, `5`} {
			k.refused("findMany", `{"collection":"people","options":`+options+`}`, machine.InvalidArguments, "")
		}
		for _, sort := range []string{`{"nick":1}`, `{"age":2}`, `5`, `[[1]]`} {
			k.refused("findMany", `{"collection":"people","sort":`+sort+`}`, machine.InvalidArguments, "")
		}
	})
}

func TestUpdate(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		k.clock.Advance(1000 * 1000 * 1000)
		for _, test := range []struct{ function, query, data, matched, modified string }{
			{"updateOne", `{"age":36}`, `{"age":37}`, "1", "1"},
			{"updateOne", `{"age":36}`, `{"age":38}`, "0", "0"},
			{"updateOne", `{"age":37}`, `{"age":37}`, "1", "0"},
			{"updateMany", `{"age":{"$exists":true}}`, `{"$inc":{"age":2},"$set":{"active":true}}`, "2", "2"},
			{"updateMany", `{"name":"Bob"}`, `{"$push":{"tags":"new"}}`, "1", "1"},
			{"updateMany", `{"name":"Bob"}`, `{"$push":{"tags":{"$each":["new","old"]}}}`, "1", "1"},
			{"updateMany", `{"tags":"code"}`, `{"$addToSet":{"tags":"code"}}`, "2", "0"},
			{"updateMany", `{"tags":"code"}`, `{"$addToSet":{"tags":{"$each":["code","more"]}}}`, "2", "2"},
			{"updateOne", `{"name":"Bob"}`, `{"$pull":{"tags":"new"}}`, "1", "1"},
			{"updateOne", `{"name":"Cid"}`, `{"$pull":{"extra":{"x":{"$gt":2}}}}`, "1", "1"},
			{"updateOne", `{"name":"Ada"}`, `{"$set":{"extra.a.c.d":5}}`, "1", "1"},
			{"updateOne", `{"name":"Cid"}`, `{"$inc":{"extra.0.x":10}}`, "1", "1"},
			{"updateOne", `{"name":"Ada"}`, `{"born":null}`, "1", "1"},
		} {
			k.want(test.function, `{"collection":"people","query":`+test.query+`,"data":`+test.data+`}`, `{"matchedCount":`+test.matched+`,"modifiedCount":`+test.modified+`}`)
		}
		k.want("findMany", `{"collection":"people","options":{"fields":["age","tags","extra","active","born"]}}`,
			`[{"_id":"a","age":39,"tags":["math","code","more"],"born":null,"extra":{"a":{"b":1,"c":{"d":5}}},"active":true},`+
				`{"_id":"b","age":22,"tags":["old"],"born":null,"extra":null,"active":true},`+
				`{"_id":"c","age":null,"tags":["code","more"],"born":null,"extra":[{"x":11,"y":2}],"active":null}]`)
		// The indexes know it too.
		k.want("findMany", `{"collection":"people","query":{"age":39},"options":{"fields":["name"]}}`, shown("a"))
		k.want("findMany", `{"collection":"people","query":{"age":36}}`, `[]`)
		k.want("findMany", `{"collection":"people","query":{"tags":"more"},"options":{"fields":["name"]}}`, shown("a c"))
		k.want("findMany", `{"collection":"people","query":{"active":true,"name":"Bob"},"options":{"fields":["name"]}}`, shown("b"))
		k.want("findOne", `{"collection":"people","query":{"_id":"a"},"options":{"fields":["createdAt","updatedAt"]}}`,
			`{"_id":"a","createdAt":"2023-11-14T22:13:20.000Z","updatedAt":"2023-11-14T22:13:21.000Z"}`)
		for _, test := range []struct{ data, name, message string }{
			{`{"name":"Bob"}`, collections.Duplicate, "name"},
			{`{"name":null}`, machine.InvalidArguments, "null"},
			{`{"nick":1}`, machine.InvalidArguments, "nick"},
			{`{"$unset":{"age":1}}`, machine.InvalidArguments, "$unset"},
			{`{"$inc":{"name":1}}`, machine.InvalidArguments, "numbers"},
			{`{"$inc":{"age":0.5}}`, machine.InvalidArguments, "whole"},
			{`{"$push":{"age":1}}`, machine.InvalidArguments, "lists"},
			{`{"age":1,"$inc":{"age":1}}`, machine.InvalidArguments, "same object"},
			{`{"createdBy":"me"}`, machine.InvalidArguments, "platform"},
			{`{}`, machine.InvalidArguments, "data"},
			{`{"_id":"z"}`, machine.InvalidArguments, "_id"},
			{`{"$set":5}`, machine.InvalidArguments, "$set"},
		} {
			k.refused("updateOne", `{"collection":"people","query":{"name":"Ada"},"data":`+test.data+`}`, test.name, test.message)
		}
		k.wantUsageRight()
	})
}

func TestEmptyQueriesAreNotForWriting(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		for _, query := range []string{``, `"query":null,`, `"query":{},`, `"query":{"$and":[{}]},`, `"query":{"$or":[{},{"age":1}]},`} {
			k.refused("updateMany", `{"collection":"people",`+query+`"data":{"age":1}}`, machine.InvalidArguments, "allowMatchAll")
			k.refused("deleteMany", `{"collection":"people",`+query+`"x":1}`, machine.InvalidArguments, "allowMatchAll")
			k.refused("deleteOne", `{"collection":"people",`+query+`"overrideSecurity":"yes"}`, machine.InvalidArguments, "allowMatchAll")
		}
		k.want("updateMany", `{"collection":"people","query":{},"data":{"age":1},"allowMatchAll":true}`, `{"matchedCount":3,"modifiedCount":3}`)
		k.want("updateOne", `{"collection":"people","data":{"age":2},"overrideSecurity":true}`, `{"matchedCount":1,"modifiedCount":1}`)
		k.want("deleteOne", `{"collection":"people","overrideSecurity":true}`, `{"deletedCount":1}`)
		k.want("findMany", `{"collection":"people","options":{"fields":["name"]}}`, shown("b c"))
		k.wantUsageRight()
		k.want("deleteMany", `{"collection":"people","allowMatchAll":true}`, `{"deletedCount":2}`)
		k.want("count", `{"collection":"people"}`, `0`)
		k.wantUsageRight()
	})
}

func TestDelete(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		k.want("deleteMany", `{"collection":"people","query":{"age":99}}`, `{"deletedCount":0}`)
		k.want("deleteOne", `{"collection":"people","query":{"tags":"code"}}`, `{"deletedCount":1}`)
		k.want("findMany", `{"collection":"people","query":{"tags":"code"},"options":{"fields":["name"]}}`, shown("c"))
		k.want("deleteMany", `{"collection":"people","query":{"name":{"$in":["Bob","Cid"]}}}`, `{"deletedCount":2}`)
		k.wantUsageRight()
		k.want("create", `{"collection":"people","data":{"_id":"a","name":"Ada"}}`, `{"acknowledged":true,"insertedId":"a"}`)
		var left int
		if err := k.db.QueryRow(t.Context(), `SELECT (SELECT COUNT(*) FROM collection_terms) + (SELECT COUNT(*) FROM collection_uniques)`).Scan(&left); err != nil || left != 4 {
			t.Errorf("%d entries, %v, want those of one record", left, err)
		}
	})
}

func TestUpsert(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		upsert := func(data, options string) string {
			return `{"collection":"people","data":` + data + `,"options":` + options + `}`
		}
		k.want("upsert", upsert(`{"name":"Ada","age":1}`, `{"onConflictFields":["name"],"onInsertValues":{"active":false}}`),
			`{"acknowledged":true,"upsertedCount":0,"modifiedCount":1,"upsertedIds":[]}`)
		k.want("upsert", upsert(`{"_id":"d","name":"Dee","age":1}`, `{"onConflictFields":["name"],"onInsertValues":{"active":false,"age":7}}`),
			`{"acknowledged":true,"upsertedCount":1,"modifiedCount":0,"upsertedIds":["d"]}`)
		k.want("findMany", `{"collection":"people","query":{"age":1},"options":{"fields":["active"]}}`, `[{"_id":"a","active":true},{"_id":"d","active":false}]`)
		k.want("bulkUpsert",
			upsert(`[{"_id":"e","name":"Eve","born":"2000-01-01"},{"name":"Eva","born":"2000-01-01T00:00:00Z"}]`, `{"onConflictFields":"born"}`),
			`{"acknowledged":true,"upsertedCount":1,"modifiedCount":1,"upsertedIds":["e"]}`)
		k.want("findOne", `{"collection":"people","query":{"_id":"e"},"options":{"fields":["name"]}}`, `{"_id":"e","name":"Eva"}`)
		k.refused("upsert", upsert(`{"name":"Ada"}`, `{}`), machine.InvalidArguments, "onConflictFields")
		k.refused("upsert", upsert(`{"name":"Ada"}`, `{"onConflictFields":["nick"]}`), machine.InvalidArguments, "nick")
		k.refused("upsert", upsert(`{"age":1}`, `{"onConflictFields":["name"]}`), machine.InvalidArguments, "name")
		k.refused("upsert", upsert(`5`, `{"onConflictFields":["name"]}`), machine.InvalidArguments, "data")
		k.wantUsageRight()
	})
}
