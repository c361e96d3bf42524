package collections_test

import (
	"context"
	"fmt"
	"testing"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// many has 100,000 records.
func many(b *testing.B, db *sqldb.DB) *kit {
	b.Helper()
	k := newKit(b, db)
	k.call("updateSchema", `{"collection":"many","properties":{"n":"integer","group":"string","status":"string","name":"string","note":"text"},
		"indexes":[{"properties":"n"},{"properties":["group","n"]},{"properties":"status"}],"uniques":[{"properties":"name"}]}`)
	const records, batch = 100_000, 5_000
	for from := 0; from < records; from += batch {
		data := make([]any, 0, batch)
		for i := from; i < from+batch; i++ {
			data = append(data, machine.Payload("n", float64(i), "group", fmt.Sprint("group ", i%1000), "status", [...]string{"open", "closed"}[i%2],
				"name", fmt.Sprint("name ", i), "note", "a note of some length, as records have them, about the things that happened"))
		}
		err := k.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := k.c.Insert(ctx, tx, k.place, "many", data)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return k
}

func BenchmarkAmong100000(b *testing.B) {
	for engine, open := range map[string]func(testing.TB, ...sqldb.Migrations) *sqldb.DB{"sqlite": sqldbtest.SQLite, "postgresql": sqldbtest.Postgres} {
		b.Run(engine, func(b *testing.B) {
			k := many(b, open(b, collections.Migrations()))
			for name, find := range map[string]string{
				"unique":     `{"query":{"name":"name 70000"}}`,
				"point":      `{"query":{"n":70000}}`,
				"range":      `{"query":{"n":{"$gte":70000,"$lt":70050}}}`,
				"compound":   `{"query":{"group":"group 7","n":{"$gt":50000}}}`,
				"half":       `{"query":{"status":"open"}}`,
				"newest":     `{"sort":{"createdAt":-1}}`,
				"everything": `{"query":{"note":"nothing"}}`,
			} {
				b.Run(name, func(b *testing.B) {
					parameters := machinetest.Object(b, find)
					parameters.Set("collection", "many")
					do, frame := k.c.Module()["findMany"], k.bench.Frame()
					for b.Loop() {
						if _, err := do(frame, parameters); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}
