package collections_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// journal does effects in transactions, as that of a run does which nobody begins anew.
type journal struct{ db *sqldb.DB }

func (j journal) Once(ctx context.Context, _ string, do func(context.Context, *sqldb.Tx) (any, error)) (out any, err error) {
	err = j.db.Tx(ctx, func(tx *sqldb.Tx) error {
		out, err = do(ctx, tx)
		return err
	})
	return out, err
}

func (journal) Durable() bool { return false }
func (journal) RunID() string { return "" }

// kit is collections on a database, and a workspace that uses them.
type kit struct {
	t     testing.TB
	db    *sqldb.DB
	clock *clock.Manual
	c     *collections.Collections
	bench *machinetest.Bench
	place collections.Place

	mu   sync.Mutex
	told []collections.Announcement
}

func newKit(t testing.TB, db *sqldb.DB, change ...func(*collections.Limits)) *kit {
	t.Helper()
	k := &kit{t: t, db: db, clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), bench: machinetest.New(t)}
	limits := collections.DefaultLimits()
	for _, one := range change {
		one(&limits)
	}
	k.c = collections.New(collections.Deps{DB: db, Clock: k.clock, Announce: k.announce, Limits: limits})
	k.bench.Run.Journal = journal{db}
	k.place = collections.Place{WorkspaceID: k.bench.Home.WorkspaceID}
	return k
}

func (k *kit) announce(_ context.Context, _ *sqldb.Tx, change collections.Announcement) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.told = append(k.told, change)
	return nil
}

// each runs a test on both databases.
func each(t *testing.T, run func(t *testing.T, k *kit), change ...func(*collections.Limits)) {
	t.Helper()
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) { run(t, newKit(t, db, change...)) }, collections.Migrations())
}

// try calls a function of the module.
func (k *kit) try(function, parameters string) (any, error) {
	k.t.Helper()
	do, ok := k.c.Module()[function]
	if !ok {
		k.t.Fatalf("there is no function %s", function)
	}
	return do(k.bench.Frame(), machinetest.Object(k.t, parameters))
}

// call calls a function that must succeed and gives its result as JSON.
func (k *kit) call(function, parameters string) string {
	k.t.Helper()
	out, err := k.try(function, parameters)
	if err != nil {
		k.t.Fatalf("%s %s: %v", function, parameters, err)
	}
	return machinetest.JSON(out)
}

// want calls a function and compares its result.
func (k *kit) want(function, parameters, want string) {
	k.t.Helper()
	if got := k.call(function, parameters); got != want {
		k.t.Errorf("%s %s\n got %s\nwant %s", function, parameters, got, want)
	}
}

// refused calls a function that must fail in a way.
func (k *kit) refused(function, parameters, name, message string) {
	k.t.Helper()
	out, err := k.try(function, parameters)
	wantFailure(k.t, err, name, message)
	if err == nil {
		k.t.Errorf("%s %s gave %s", function, parameters, machinetest.JSON(out))
	}
}

func wantFailure(t testing.TB, err error, name, message string) {
	t.Helper()
	failure, ok := errors.AsType[*machine.Failure](err)
	if !ok || failure.Name != name || !strings.Contains(failure.Message, message) {
		t.Errorf("error %v, want %s with %q", err, name, message)
	}
}

// tx runs work in a transaction.
func (k *kit) tx(do func(ctx context.Context, tx *sqldb.Tx) error) error {
	ctx := k.t.Context()
	return k.db.Tx(ctx, func(tx *sqldb.Tx) error { return do(ctx, tx) })
}

// usage is what is counted for the workspace, and what there really is.
func (k *kit) wantUsageRight() {
	k.t.Helper()
	var counted, records, bytes, sum, there int64
	ctx := k.t.Context()
	row := k.db.QueryRow(ctx, `SELECT collections, records, bytes FROM collection_usage WHERE workspace_id = $1`, k.place.WorkspaceID)
	if err := row.Scan(&counted, &records, &bytes); err != nil {
		k.t.Fatal(err)
	}
	if err := k.db.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(LENGTH(body) + 128), 0) FROM collection_records`).Scan(&there, &sum); err != nil {
		k.t.Fatal(err)
	}
	if records != there || bytes != sum {
		k.t.Errorf("%d records of %d bytes are counted, there are %d of %d", records, bytes, there, sum)
	}
	var inRows, bytesInRows, rows int64
	err := k.db.QueryRow(ctx, `SELECT COUNT(*), COALESCE(SUM(records), 0), COALESCE(SUM(bytes), 0) FROM collections`).Scan(&rows, &inRows, &bytesInRows)
	if err != nil || inRows != there || bytesInRows != sum || rows != counted {
		k.t.Errorf("collections count %d records of %d bytes, there are %d of %d (%v)", inRows, bytesInRows, there, sum, err)
	}
}
