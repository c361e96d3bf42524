package signals_test

import (
	"context"
	"encoding/json"
	"testing"

	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func sameJSON(t *testing.T, a, b string) bool {
	t.Helper()
	return value.DeepEqual(machinetest.Value(t, a), machinetest.Value(t, b))
}

// noted is a durable journal with transactions.
type noted struct {
	*machinetest.Journal
	db *sqldb.DB
}

func (noted) Durable() bool { return true }

func (noted) RunID() string { return "run-1" }

func (n noted) Once(ctx context.Context, place string, do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (result any, err error) {
	return n.Journal.Once(ctx, place, func(ctx context.Context, _ *sqldb.Tx) (any, error) {
		err = n.db.Tx(ctx, func(tx *sqldb.Tx) (err error) {
			result, err = do(ctx, tx)
			return err
		})
		return result, err
	})
}
