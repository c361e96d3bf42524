package bustest

import (
	"context"
	"database/sql"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

func sharing(tr trial) {
	t, f := tr.t, tr.Fixture
	first, second := f.Open(t, clock.System{}), f.Open(t, clock.System{})
	c := &collector{}
	consumer := bus.Consumer{Name: reader, FromStart: true, Handle: c.handle}
	stop := start(t, first, consumer)
	eventually(t, "the first instance to hold everything", holdsAll(t, f))
	start(t, second, consumer)
	eventually(t, "the partitions to be shared evenly", sharedByTwo(t, f))
	want := mustAppend(t, first, spread(200)...)
	eventually(t, "all events to be handled", c.has(want))
	if n := len(c.all()); n != len(want) {
		t.Errorf("%d events were handled, want each of %d once", n, len(want))
	}
	stop()
	eventually(t, "the second instance to hold everything", holdsAll(t, f))
	want = mustAppend(t, first, spread(200)...)
	eventually(t, "all events to be handled by the second", c.has(want))
	c.inOrder(t)
}

func sharedByTwo(t *testing.T, f Fixture) func() bool {
	t.Helper()
	return func() bool {
		h := holders(t, f)
		for owner, count := range h {
			if owner == "" || count != bus.Partitions/2 {
				return false
			}
		}
		return len(h) == 2
	}
}

// now is the database's time in milliseconds, as the leases see it.
func now(db *sqldb.DB) string {
	if db.Driver() == "sqlite" {
		return `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`
	}
	return `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
}

// steal gives all partitions to an instance that does nothing, as one that was killed.
func steal(t *testing.T, f Fixture, lease time.Duration) {
	t.Helper()
	exec(t, f.DB, `UPDATE bus_cursors SET owner = 'dead', epoch = epoch + 1, expires_at = `+now(f.DB)+` + $1
		WHERE consumer = $2`, lease.Milliseconds(), reader)
	exec(t, f.DB, `INSERT INTO bus_members (consumer, owner, expires_at) VALUES ($1, 'dead', `+now(f.DB)+` + $2)`,
		reader, lease.Milliseconds())
}

func takeover(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	c := &collector{}
	consumer := bus.Consumer{Name: reader, FromStart: true, Handle: c.handle}
	stop := start(t, log, consumer)
	done := mustAppend(t, log, spread(100)...)
	eventually(t, "the first events to be handled", c.has(done))
	stop()
	steal(t, f, Lease)
	died := time.Now()
	want := mustAppend(t, log, spread(100)...)
	start(t, log, consumer)
	eventually(t, "the events to be handled", c.has(want))
	if took := time.Since(died); took < Lease*9/10 {
		t.Errorf("the partitions were taken after %s, before the lease of %s had ended", took, Lease)
	}
	c.inOrder(t)
	eventually(t, "everything to be held by the living", holdsAll(t, f))
}

// fencing steals the partitions at the worst moment the engine allows: in the middle of the handler's transaction, or,
// where there is a single writer, right before it.
func fencing(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	exec(t, f.DB, `CREATE TABLE effects (pos BIGINT NOT NULL)`)
	singleWriter := f.DB.Driver() == "sqlite"
	var attempts atomic.Int32
	start(t, log, bus.Consumer{Name: reader, FromStart: true, HandleTx: func(ctx context.Context, tx *sqldb.Tx, events []bus.Event) error {
		if attempts.Add(1) == 2 && !singleWriter {
			steal(t, f, time.Hour) //nolint:contextcheck // someone else does it
		}
		_, err := tx.Exec(ctx, `INSERT INTO effects (pos) VALUES ($1)`, int64(events[0].Position))
		return err
	}})
	effects := func() int64 { return queryInt(t, f.DB, `SELECT COUNT(*) FROM effects`) }
	mustAppend(t, log, record("a", 0))
	eventually(t, "the first event to have its effect", func() bool { return effects() == 1 })
	if singleWriter {
		steal(t, f, time.Hour)
	}
	mustAppend(t, log, record("a", 1))
	eventually(t, "the partitions to be stolen", func() bool { return holders(t, f)["dead"] == bus.Partitions })
	beat := `SELECT MIN(expires_at) FROM bus_members WHERE consumer = 'reader' AND owner <> 'dead'`
	seen := queryInt(t, f.DB, beat)
	eventually(t, "the holder to look around", func() bool { return queryInt(t, f.DB, beat) > seen })
	if n := effects(); n != 1 {
		t.Fatalf("%d effects, but only one was made while the partition was held", n)
	}
	bury(t, f)
	eventually(t, "the second event to have its effect", func() bool { return effects() == 2 })
	mustAppend(t, log, record("a", 2))
	eventually(t, "the third event to have its effect", func() bool { return effects() == 3 })
	if n := queryInt(t, f.DB, `SELECT COUNT(DISTINCT pos) FROM effects`); n != 3 {
		t.Errorf("3 effects of %d events: one was handled twice", n)
	}
	t.Logf("%d attempts for 3 effects", attempts.Load())
}

// bury ends the lease of the dead.
func bury(t *testing.T, f Fixture) {
	t.Helper()
	exec(t, f.DB, `UPDATE bus_cursors SET expires_at = 1 WHERE consumer = 'reader'`)
	exec(t, f.DB, `DELETE FROM bus_members WHERE owner = 'dead'`)
}

// frozen keeps the row of one partition locked, as a holder does that was stopped in the middle of a commit.
func frozen(tr trial) {
	t, f := tr.t, tr.Fixture
	if f.DB.Driver() == "sqlite" {
		t.Log("with a single writer a frozen transaction is a frozen process: there is nobody left to stop")
		return
	}
	log := f.Open(t, clock.System{})
	c := &collector{}
	consumer := bus.Consumer{Name: reader, FromStart: true, Handle: c.handle}
	stop := start(t, log, consumer)
	eventually(t, "everything to be held", holdsAll(t, f))
	stop()
	steal(t, f, time.Millisecond)
	locked, thaw, thawed := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		ctx := context.WithoutCancel(t.Context())
		thawed <- f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE bus_cursors SET cursor = cursor WHERE consumer = 'reader' AND partition = 3`)
			_, beat := tx.Exec(ctx, `UPDATE bus_members SET expires_at = expires_at WHERE owner = 'dead'`)
			close(locked)
			<-thaw
			return errors.Join(err, beat)
		})
	}()
	wait(t, "the row to be locked", locked)
	start(t, log, consumer)
	var good, held []bus.Event
	for _, e := range mustAppend(t, log, spread(200)...) {
		if e.Position.Partition() == 3 {
			held = append(held, e)
		} else {
			good = append(good, e)
		}
	}
	eventually(t, "the other partitions to be handled", c.has(good))
	from := queryInt(t, f.DB, `SELECT SUM(epoch) FROM bus_cursors WHERE consumer = 'reader' AND partition <> 3`)
	renewed := func() int64 {
		return queryInt(t, f.DB, `SELECT MIN(expires_at) FROM bus_cursors WHERE consumer = 'reader' AND partition <> 3`)
	}
	before := renewed()
	eventually(t, "a whole lease to pass", func() bool { return renewed() > before+Lease.Milliseconds() })
	if n := queryInt(t, f.DB, `SELECT SUM(epoch) FROM bus_cursors WHERE consumer = 'reader' AND partition <> 3`); n != from {
		t.Errorf("the other partitions changed hands %d times", n-from)
	}
	close(thaw)
	if err := <-thawed; err != nil {
		t.Errorf("the frozen transaction: %v", err)
	}
	eventually(t, "the frozen partition to be handled", c.has(held))
}

func lostLease(tr trial) {
	t, f := tr.t, tr.Fixture
	log := f.Open(t, clock.System{})
	entered, ended := make(chan struct{}), make(chan error, 1)
	var calls atomic.Int32
	start(t, log, bus.Consumer{Name: reader, FromStart: true, Handle: func(ctx context.Context, _ []bus.Event) error {
		if calls.Add(1) > 1 {
			return nil
		}
		close(entered)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil // too late: this must not move the cursor
	}})
	mustAppend(t, log, record("a", 0))
	wait(t, "the handler to start", entered)
	steal(t, f, time.Hour)
	wait(t, "the handler's context to end", ended)
	if n := lagOf(t, log, reader); n != 1 {
		t.Errorf("the lag is %d: a holder without a lease moved the cursor", n)
	}
	bury(t, f)
	eventually(t, "the event to be handled again", func() bool { return lagOf(t, log, reader) == 0 })
}

func wait[T any](t *testing.T, what string, c <-chan T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case <-c:
	case <-ctx.Done():
		t.Fatalf("waited too long for %s", what)
	}
}

// skewed is a host clock that is wrong.
type skewed struct {
	clock.System
	by time.Duration
}

func (s skewed) Now() time.Time { return s.System.Now().Add(s.by) }

func wrongClock(tr trial) {
	t, f := tr.t, tr.Fixture
	c := &collector{}
	consumer := bus.Consumer{Name: reader, FromStart: true, Handle: c.handle}
	late, early := f.Open(t, skewed{by: -time.Hour}), f.Open(t, skewed{by: time.Hour})
	start(t, late, consumer)
	start(t, early, consumer)
	eventually(t, "the partitions to be shared evenly", sharedByTwo(t, f))
	renewed := func() (at sql.NullInt64) {
		if err := f.DB.QueryRow(t.Context(), `SELECT MIN(expires_at) FROM bus_cursors WHERE consumer = 'reader'`).Scan(&at); err != nil {
			t.Fatal(err)
		}
		return at
	}
	epochs := func() int64 {
		return queryInt(t, f.DB, `SELECT CAST(SUM(epoch) AS BIGINT) FROM bus_cursors WHERE consumer = 'reader'`)
	}
	before, from := epochs(), renewed()
	eventually(t, "a whole lease to pass", func() bool { return renewed().Int64 > from.Int64+Lease.Milliseconds() })
	if after := epochs(); after != before {
		t.Errorf("partitions changed hands %d times", after-before)
	}
	want := append(mustAppend(t, late, spread(50)...), mustAppend(t, early, spread(50)...)...)
	want = append(want, mustAppend(t, late, spread(50)...)...)
	eventually(t, "all events to be handled", c.has(want))
	c.inOrder(t)
}
