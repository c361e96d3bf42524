package collections_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/sqldb"
)

func TestDefinitionsChange(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		define := func(rest string) string { return `{"collection":"things",` + rest + `}` }
		k.want("updateSchema", define(`"properties":{"a":"string","n":{"type":"number","nullable":false}}`),
			`{"collection":"things","properties":{"a":{"type":"string","nullable":true},"n":{"type":"number","nullable":false}},"indexes":[],"uniques":[]}`)
		k.call("bulkCreate", `{"collection":"things","data":[{"_id":"1","a":"x","n":1},{"_id":"2","a":"x","n":2},{"_id":"3","a":"2020-01-01","n":3}]}`)
		// A unique that records break is refused, and changes nothing.
		k.refused("updateSchema", define(`"properties":{"a":"string","n":"number"},"uniques":[{"properties":"a"}]`), machine.Configuration, "unique")
		k.want("getCollectionSchemas", `{"collection":"things"}`,
			`[{"collection":"things","properties":{"a":{"type":"string","nullable":true},"n":{"type":"number","nullable":false}},"indexes":[],"uniques":[]}]`)
		// Indexes and uniques know the records that were there before.
		k.call("updateSchema", define(`"properties":{"a":"string","n":"number"},"indexes":[{"properties":["a","n"]}],"uniques":[{"properties":["n"]}]`))
		k.want("findMany", `{"collection":"things","query":{"a":"x","n":{"$gt":1}},"options":{"fields":["n"]}}`, `[{"_id":"2","n":2}]`)
		k.refused("create", `{"collection":"things","data":{"n":2}}`, collections.Duplicate, "n")
		// Those that stay are not built again, and those that go leave nothing behind.
		k.call("updateSchema", define(`"properties":{"a":"string","n":"number","more":"json"},"indexes":[{"properties":"n"},{"properties":["a","n"]}]`))
		k.want("create", `{"collection":"things","data":{"_id":"4","a":"y","n":2}}`, `{"acknowledged":true,"insertedId":"4"}`)
		k.want("count", `{"collection":"things","query":{"n":2}}`, `2`)
		k.want("count", `{"collection":"things","query":{"a":"x"}}`, `2`)
		// Values must fit a new type.
		k.refused("updateSchema", define(`"properties":{"a":"datetime","n":"number"}`), machine.Configuration, `"a" cannot be datetime`)
		k.call("deleteMany", `{"collection":"things","query":{"a":{"$in":["x","y"]}}}`)
		k.call("updateSchema", define(`"properties":{"a":"datetime","n":"number"},"indexes":[{"properties":"a"}]`))
		k.want("findMany", `{"collection":"things","query":{"a":{"$gte":"2020-01-01T00:00:00Z"}},"options":{"fields":["a"]}}`, `[{"_id":"3","a":"2020-01-01T00:00:00.000Z"}]`)
		k.wantUsageRight()
		// A field that goes is not shown; when it comes back its values must fit.
		k.call("updateSchema", define(`"properties":{"n":"number"}`))
		k.refused("findMany", `{"collection":"things","query":{"a":1}}`, machine.InvalidArguments, `"a"`)
		k.refused("updateSchema", define(`"properties":{"a":"number","n":"number"}`), machine.Configuration, `"a" cannot be number`)
		k.call("updateSchema", define(`"properties":{"a":"string","n":"number"},"uniques":[{"properties":["a","n"]}]`))
		k.want("count", `{"collection":"things","query":{"a":"2020-01-01T00:00:00.000Z","n":3}}`, `1`)
	})
}

func TestChangesOfDefinitionsAreAnnounced(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", people)
		k.call("updateSchema", people) // nothing changes
		k.call("updateSchema", `{"collection":"folk","oldCollection":"people","properties":{"name":"string"},"uniques":[{"properties":"name"}]}`)
		k.refused("updateSchema", `{"collection":"folk","oldCollection":"nobody","properties":{"name":"string"}}`, machine.InvalidArguments, "already")
		k.refused("updateSchema", `{"collection":"gone","oldCollection":"nobody","properties":{"name":"string"}}`, machine.ObjectNotFound, "nobody")
		if len(k.told) != 2 {
			t.Fatalf("%d announcements, want 2", len(k.told))
		}
		last := k.told[1]
		if last.Namespace != "wks1234" || last.WorkspaceID != "wks1234" || last.Collection != "folk" || last.OldCollection != "people" || k.told[0].OldCollection != "" ||
			machinetest.JSON(last.Properties) != `{"name":{"type":"string","nullable":true}}` || machinetest.JSON(last.Uniques) != `[{"properties":["name"]}]` || len(last.Indexes) != 0 {
			t.Errorf("%+v", last)
		}
		k.want("listCollections", `{}`, `["folk"]`)
	})
}

func TestWrongDefinitions(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for _, test := range []struct{ rest, name, message string }{
			{`"properties":{}`, machine.Configuration, "properties"},
			{`"properties":{"a":"word"}`, machine.Configuration, "string, text"},
			{`"properties":{"a":{}}`, machine.Configuration, "needs a type"},
			{`"properties":{"_id":"string"}`, machine.Configuration, "_id"},
			{`"properties":{"a.b":"string"}`, machine.Configuration, "a.b"},
			{`"properties":{"a":{"type":"string","default":1}}`, machine.Configuration, "default"},
			{`"properties":{"a":{"type":"string","nullable":"no"}}`, machine.Configuration, "nullable"},
			{`"properties":{"a":"string"},"indexes":[{"properties":"b"}]`, machine.Configuration, `"b"`},
			{`"properties":{"a":"string"},"indexes":[{"properties":["a","a"]}]`, machine.Configuration, "twice"},
			{`"properties":{"a":"string"},"uniques":[{"properties":[]}]`, machine.Configuration, "uniques"},
			{`"properties":{"a":"string"},"uniques":5`, machine.Configuration, "uniques"},
		} {
			k.refused("updateSchema", `{"collection":"x",`+test.rest+`}`, test.name, test.message)
		}
		k.refused("updateSchema", `{"collection":"x y","properties":{"a":"string"}}`, machine.InvalidArguments, "name")
		k.refused("updateSchema", `{"properties":{"a":"string"}}`, machine.InvalidArguments, "name")
	})
}

func TestTypes(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", `{"collection":"all","properties":{"string":"string","text":"text","date":"date","time":"time","datetime":"datetime","number":"number","double":"double","float":"float",
			"integer":"integer","decimal":"decimal","boolean":"boolean","uint8array":"uint8array","array":"array","enum":{"type":"enum","items":["a","b",1]},"enumArray":{"type":"enumArray","items":["a","b"]},"json":"json","blob":"blob"}}`)
		for _, test := range []struct{ field, value, want string }{
			{"string", `"é\u0000"`, `"é\u0000"`},
			{"string", `1`, ""},
			{"text", `"x"`, `"x"`},
			{"text", `true`, ""},
			{"date", `"2020-02-29"`, `"2020-02-29T00:00:00.000Z"`},
			{"date", `"2021-02-29"`, ""},
			{"date", `1582934400000`, `"2020-02-29T00:00:00.000Z"`},
			{"date", `1.5`, ""},
			{"datetime", `"2020-02-29T12:30:00.1234+01:00"`, `"2020-02-29T11:30:00.123Z"`},
			{"datetime", `"2020-02-29 12:30:00"`, `"2020-02-29T12:30:00.000Z"`},
			{"datetime", `true`, ""},
			{"time", `"12:30"`, `"12:30:00"`},
			{"time", `"12:30:15.5"`, `"12:30:15.500"`},
			{"time", `"25:00"`, ""},
			{"number", `1.5`, `1.5`},
			{"number", `"1"`, ""},
			{"double", `1e300`, `1e+300`},
			{"float", `-0.0`, `0`},
			{"decimal", `0.1`, `0.1`},
			{"integer", `9007199254740992`, `9007199254740992`},
			{"integer", `1.5`, ""},
			{"integer", `1e300`, ""},
			{"boolean", `false`, `false`},
			{"boolean", `0`, ""},
			{"uint8array", `[0,255]`, `"AP8="`},
			{"uint8array", `[256]`, ""},
			{"blob", `"AP8="`, `"AP8="`},
			{"blob", `"?"`, ""},
			{"blob", `5`, ""},
			{"array", `["a"]`, `["a"]`},
			{"array", `[1]`, ""},
			{"array", `"a"`, ""},
			{"enum", `"a"`, `"a"`},
			{"enum", `1`, `1`},
			{"enum", `"c"`, ""},
			{"enumArray", `["b","a"]`, `["b","a"]`},
			{"enumArray", `["c"]`, ""},
			{"enumArray", `"a"`, ""},
			{"json", `{"b":[1,null,{"a":"x"}],"a":2}`, `{"b":[1,null,{"a":"x"}],"a":2}`},
			{"json", `5`, `5`},
			{"json", strings.Repeat("[", 97) + strings.Repeat("]", 97), strings.Repeat("[", 97) + strings.Repeat("]", 97)},
		} {
			data := fmt.Sprintf(`{"collection":"all","outputMode":"entity","data":{%q:%s}}`, test.field, test.value)
			if test.want == "" {
				k.refused("create", data, machine.InvalidArguments, `"`+test.field+`"`)
				continue
			}
			out, err := k.try("create", data)
			if err != nil {
				t.Errorf("%s: %v", data, err)
				continue
			}
			id := machinetest.JSON(out)[8:32]
			k.want("findOne", fmt.Sprintf(`{"collection":"all","query":{"_id":%q},"options":{"fields":{%q:1,"_id":0}}}`, id, test.field), fmt.Sprintf(`{%q:%s}`, test.field, test.want))
		}
	})
}

// What is nested deeper than can be read back is not written.
func TestDepthOfJSON(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", `{"collection":"deep","properties":{"json":"json"}}`)
		for depth := 95; depth < 105; depth++ {
			var v any = []any{}
			for range depth {
				v = []any{v}
			}
			_, err := k.c.Module()["create"](k.bench.Frame(), machine.Payload("collection", "deep", "data", machine.Payload("json", v)))
			if err != nil {
				wantFailure(t, err, machine.InvalidArguments, `"json"`)
			}
			if (err == nil) != (depth < 99) {
				t.Errorf("%d deep: %v", depth, err)
			}
		}
		k.call("findMany", `{"collection":"deep"}`)
	})
}

func TestAboutCollections(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		populated(k)
		k.call("updateSchema", `{"collection":"another","properties":{"a":"string"}}`)
		k.want("listCollections", `{}`, `["another","people"]`)
		k.want("getCollectionStats", `{"collection":"another"}`,
			`{"collection":"another","count":0,"size":0,"averageSize":0,"indexes":0,"uniques":0,"createdAt":"2023-11-14T22:13:20.000Z","updatedAt":"2023-11-14T22:13:20.000Z"}`)
		if got := k.call("getCollectionStats", `{}`); strings.Count(got, `"collection"`) != 2 || !strings.Contains(got, `"count":3`) {
			t.Error(got)
		}
		k.refused("getCollectionStats", `{"collection":"nobody"}`, machine.ObjectNotFound, "nobody")
		k.want("getCollectionSchemas", `{"collections":["another"]}`, `[{"collection":"another","properties":{"a":{"type":"string","nullable":true}},"indexes":[],"uniques":[]}]`)
		k.want("inferCollectionSchema", `{"data":[{"a":1,"b":"x","c":"2020-01-01T00:00:00Z","d":["x"],"e":[1],"f":true,"g":null,"h":1},{"h":"x","c":"2020-01-02","b":"2020-01-02"}]}`,
			`{"properties":{"a":{"type":"number","nullable":true},"b":{"type":"string","nullable":true},"c":{"type":"datetime","nullable":true},"d":{"type":"array","nullable":true},"e":{"type":"json","nullable":true},"f":{"type":"boolean","nullable":true},"g":{"type":"json","nullable":true},"h":{"type":"json","nullable":true}}}`)
		if got := k.call("inferCollectionSchema", `{"collection":"people"}`); !strings.Contains(got, `"age":{"type":"number"`) || strings.Contains(got, "_id") {
			t.Error(got)
		}
		k.want("deleteCollections", `{"collections":["people","nobody"]}`, `{"deletedCount":1}`)
		k.want("listCollections", `{}`, `["another"]`)
		k.wantUsageRight()
		k.refused("deleteCollections", `{}`, machine.InvalidArguments, "collections")
		k.call("updateSchema", people)
		k.want("count", `{"collection":"people"}`, `0`)
	})
}

func TestQuotas(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", `{"collection":"a","properties":{"s":"string"}}`)
		k.call("updateSchema", `{"collection":"b","properties":{"s":"string"}}`)
		k.refused("updateSchema", `{"collection":"c","properties":{"s":"string"}}`, machine.QuotaExceeded, "")
		k.call("bulkCreate", `{"collection":"a","data":[{},{},{}]}`)
		k.refused("bulkCreate", `{"collection":"b","data":[{},{}]}`, machine.QuotaExceeded, "")
		k.call("create", `{"collection":"b","data":{"_id":"x"}}`)
		k.refused("create", `{"collection":"a","data":{}}`, machine.QuotaExceeded, "")
		k.refused("upsert", `{"collection":"a","data":{"s":"x"},"options":{"onConflictFields":"s"}}`, machine.QuotaExceeded, "")
		k.refused("updateOne", `{"collection":"b","query":{"_id":"x"},"data":{"s":"`+strings.Repeat("x", 1000)+`"}}`, machine.QuotaExceeded, "")
		k.want("listCollections", `{}`, `["a","b"]`)
		k.wantUsageRight()
		k.call("deleteOne", `{"collection":"a","allowMatchAll":true}`)
		k.call("create", `{"collection":"a","data":{}}`)
		k.call("deleteCollections", `{"collection":"b"}`)
		k.call("updateSchema", `{"collection":"c","properties":{"s":"string"}}`)
		k.wantUsageRight()
		// Others have room of their own, and are left alone by a purge.
		other := collections.Place{WorkspaceID: "other"}
		err := k.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := k.c.Define(ctx, tx, other, collections.Definition{Name: "a", Properties: machinetest.Object(t, `{"s":"string"}`)})
			if err != nil {
				return err
			}
			return k.c.PurgeWorkspace(ctx, tx, k.place.WorkspaceID)
		})
		if err != nil {
			t.Fatal(err)
		}
		k.want("listCollections", `{}`, `[]`)
		names, err := k.c.Names(t.Context(), k.db, other)
		if err != nil || len(names) != 1 {
			t.Errorf("%v, %v", names, err)
		}
		var left int
		if err := k.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM collection_records`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d records are left, %v", left, err)
		}
	}, func(l *collections.Limits) { l.Collections, l.Records, l.Bytes = 2, 4, 1000 })
}
