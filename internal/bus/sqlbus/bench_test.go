package sqlbus_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// BenchmarkAppend64 is 64 callers that each wait for their event of about 300 bytes to be durable.
func BenchmarkAppend64(b *testing.B) {
	eachEngine(b, func(b *testing.B, log *sqlbus.Log, _ *sqldb.DB) {
		b.Helper()
		append64(b, func(ctx context.Context, r bus.Record) error {
			_, err := log.Append(ctx, r)
			return err
		})
	})
}

// BenchmarkAppendTx64 is 64 callers that each write a row of their own and its event in one transaction.
func BenchmarkAppendTx64(b *testing.B) {
	eachEngine(b, func(b *testing.B, log *sqlbus.Log, db *sqldb.DB) {
		b.Helper()
		ctx := b.Context()
		err := db.Tx(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `CREATE TABLE things (id TEXT NOT NULL PRIMARY KEY, n BIGINT NOT NULL)`)
			return err
		})
		if err != nil {
			b.Fatal(err)
		}
		append64(b, func(ctx context.Context, r bus.Record) error {
			return db.Tx(ctx, func(tx *sqldb.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO things (id, n) VALUES ($1, 1)
					ON CONFLICT (id) DO UPDATE SET n = things.n + 1`, r.WorkspaceID)
				if err != nil {
					return err
				}
				_, err = log.AppendTx(ctx, tx, r)
				return err
			})
		})
	})
}

func eachEngine(b *testing.B, run func(*testing.B, *sqlbus.Log, *sqldb.DB)) {
	b.Helper()
	engines := map[string]func(testing.TB, ...sqldb.Migrations) *sqldb.DB{"sqlite": sqldbtest.SQLite, "postgresql": sqldbtest.Postgres}
	for name, open := range engines {
		b.Run(name, func(b *testing.B) {
			db := open(b, sqlbus.Migrations())
			log, err := sqlbus.Open(db, clock.System{}, slog.New(slog.DiscardHandler))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = log.Close() })
			run(b, log, db)
		})
	}
}

func append64(b *testing.B, one func(context.Context, bus.Record) error) {
	b.Helper()
	const callers = 64
	body := fmt.Appendf(nil, `{"payload":%q}`, strings.Repeat("x", 285))
	var callersDone sync.WaitGroup
	b.ResetTimer()
	for caller := range callers {
		callersDone.Go(func() {
			record := bus.Record{WorkspaceID: fmt.Sprint("workspace-", caller), Type: "bench", Body: body}
			for n := caller; n < b.N; n += callers {
				if err := one(b.Context(), record); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	callersDone.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkConsume is one consumer that works off a backlog and acknowledges every hundred events durably.
func BenchmarkConsume(b *testing.B) {
	eachEngine(b, func(b *testing.B, log *sqlbus.Log, _ *sqldb.DB) {
		b.Helper()
		fill(b, log, b.N)
		var left atomic.Int64
		left.Store(int64(b.N))
		ctx, cancel := context.WithCancel(b.Context())
		b.ResetTimer()
		err := log.Consume(ctx, bus.Consumer{Name: "bench", FromStart: true, Handle: func(_ context.Context, events []bus.Event) error {
			if left.Add(-int64(len(events))) == 0 {
				b.StopTimer()
				cancel()
			}
			return nil
		}})
		cancel()
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
	})
}

// BenchmarkDelivery is the time from the start of an append to the handler, one event at a time.
func BenchmarkDelivery(b *testing.B) {
	eachEngine(b, func(b *testing.B, log *sqlbus.Log, db *sqldb.DB) {
		b.Helper()
		record := bus.Record{WorkspaceID: "a", Type: "bench", Body: []byte(`{}`)}
		arrived := make(chan struct{})
		ctx, cancel := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() {
			_ = log.Consume(ctx, bus.Consumer{Name: "bench", FromStart: true, Handle: func(context.Context, []bus.Event) error {
				arrived <- struct{}{}
				return nil
			}})
		})
		ways := map[string]func() error{
			"append": func() error { _, err := log.Append(ctx, record); return err },
			"append_tx": func() error {
				return db.Tx(ctx, func(tx *sqldb.Tx) error { _, err := log.AppendTx(ctx, tx, record); return err })
			},
		}
		for name, one := range ways {
			b.Run(name, func(b *testing.B) {
				for range b.N {
					if err := one(); err != nil {
						b.Fatal(err)
					}
					<-arrived
				}
			})
		}
		cancel()
		running.Wait()
	})
}

func fill(b *testing.B, log *sqlbus.Log, count int) {
	b.Helper()
	const chunk = 1000
	body := fmt.Appendf(nil, `{"payload":%q}`, strings.Repeat("x", 285))
	for count > 0 {
		records := make([]bus.Record, min(count, chunk))
		for n := range records {
			records[n] = bus.Record{WorkspaceID: fmt.Sprint("workspace-", n%64), Type: "bench", Body: body}
		}
		if _, err := log.Append(b.Context(), records...); err != nil {
			b.Fatal(err)
		}
		count -= len(records)
	}
}
