package collections_test

import (
	"sync"
	"testing"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
)

// method calls an instruction of an instance of the app.
func (k *kit) method(methods map[string]collections.Function, name, payload string) (string, error) {
	k.t.Helper()
	out, err := methods[name](k.bench.Frame(), machinetest.Object(k.t, payload))
	return machinetest.JSON(out), err
}

func TestApp(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		home := k.bench.AddInstance(k.bench.Home, "Users", "Collection")
		home.Config = machinetest.Object(t, `{"collectionName":"users","properties":{"mail":{"type":"string","nullable":false}},"uniques":[{"properties":["mail"]}]}`)
		methods := k.c.Methods(home)
		if got, err := k.method(methods, "find", `{"query":{}}`); err != nil || got != `[]` {
			t.Errorf("%s, %v", got, err)
		}
		if got, err := k.method(methods, "insert", `{"data":{"_id":"1","mail":"a@b"}}`); err != nil || got != `{"acknowledged":true,"insertedId":"1"}` {
			t.Errorf("%s, %v", got, err)
		}
		if _, err := k.method(methods, "insertMany", `{"data":[{"mail":"a@b"}]}`); err == nil {
			t.Error("the unique does not hold")
		}
		// The module of the workspace sees it too.
		k.want("find", `{"collection":"users","options":{"fields":["mail"]}}`, `[{"_id":"1","mail":"a@b"}]`)
		// A changed configuration is applied when it is first used, once.
		home = k.bench.AddInstance(k.bench.Home, "Users", "Collection")
		home.Config = machinetest.Object(t, `{"collectionName":"users","properties":{"mail":"string","name":"string"}}`)
		methods = k.c.Methods(home)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got, err := k.method(methods, "updateOne", `{"query":{"mail":"a@b"},"data":{"name":"A"}}`); err != nil {
					t.Errorf("%s, %v", got, err)
				}
			})
		}
		all.Wait()
		if len(k.told) != 2 {
			t.Errorf("%d announcements, want 2", len(k.told))
		}
		// What the module changes stays until the configuration changes.
		k.call("updateSchema", `{"collection":"users","properties":{"mail":"string","name":"string","more":"json"}}`)
		if got, err := k.method(k.c.Methods(home), "find", `{"query":{"more":null},"options":{"fields":["name"]}}`); err != nil || got != `[{"_id":"1","name":"A"}]` {
			t.Errorf("%s, %v", got, err)
		}
	})
}

func TestAppWithoutConfiguration(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		for _, config := range []string{`{}`, `{"collectionName":"a b"}`, `{"collectionName":"a"}`, `{"collectionName":"a","properties":{"x":"word"}}`} {
			home := k.bench.AddInstance(k.bench.Home, "Users", "Collection")
			home.Config = machinetest.Object(t, config)
			_, err := k.method(k.c.Methods(home), "find", `{}`)
			wantFailure(t, err, machine.Configuration, "")
		}
	})
}

// Collections of an app instance are its own.
func TestNamespaces(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", people)
		home := k.bench.AddInstance(k.bench.Home, "Shop", "shop")
		automation := k.bench.AddTo(home, "inner", "do: []")
		frame := k.bench.Machine.Frame(t.Context(), k.bench.Run, automation, machine.Payload())
		out, err := k.c.Module()["listCollections"](frame, machine.Payload())
		if err != nil || machinetest.JSON(out) != `[]` {
			t.Errorf("%s, %v", machinetest.JSON(out), err)
		}
		if _, err := k.c.Module()["updateSchema"](frame, machinetest.Object(t, `{"collection":"people","properties":{"x":"string"}}`)); err != nil {
			t.Fatal(err)
		}
		if last := k.told[1]; last.Namespace != "wks1234/Shop" || last.AppSlug != "shop" || last.Instance != "Shop" {
			t.Errorf("%+v", last)
		}
		k.refused("findMany", `{"collection":"people","query":{"x":1}}`, machine.InvalidArguments, `"x"`)
	})
}

// Nobody's update is lost, and nobody inserts what another has inserted meanwhile.
func TestConcurrentWriters(t *testing.T) {
	each(t, func(t *testing.T, k *kit) {
		k.call("updateSchema", `{"collection":"counters","properties":{"name":"string","n":"integer","list":"array"},"indexes":[{"properties":"n"}]}`)
		k.call("create", `{"collection":"counters","data":{"_id":"x","name":"x","n":0}}`)
		const writers, rounds = 8, 10
		var all sync.WaitGroup
		for range writers {
			all.Go(func() {
				for range rounds {
					for function, parameters := range map[string]string{
						"updateOne": `{"collection":"counters","query":{"_id":"x"},"data":{"$inc":{"n":1},"$push":{"list":"x"}}}`,
						"upsert":    `{"collection":"counters","data":{"name":"y","n":5},"options":{"onConflictFields":["name"]}}`,
						"create":    `{"collection":"counters","data":{"name":"z"}}`,
					} {
						if _, err := k.try(function, parameters); err != nil {
							t.Errorf("%s: %v", function, err)
						}
					}
				}
			})
		}
		all.Wait()
		k.want("findMany", `{"collection":"counters","query":{"n":80},"options":{"fields":["n"]}}`, `[{"_id":"x","n":80}]`)
		k.want("count", `{"collection":"counters","query":{"list":{"$size":80}}}`, `1`)
		k.want("count", `{"collection":"counters","query":{"name":"y"}}`, `1`)
		k.want("count", `{"collection":"counters"}`, `82`)
		k.wantUsageRight()
	})
}
