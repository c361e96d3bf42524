package locks_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/sqldb"
)

const (
	// takers want the lock at the same time; so many of them want it for an import.
	takers, importers = 200, 9
	importing         = "import_in_progress"
)

// TestLockOverProcesses lets two hundred want the lock of one workspace at the same time through three processes, by hand and for
// imports, while LOCKS_KILLS times a process is killed and started again, until LOCKS_EVENTS things were seen. What a process was
// killed under may have been done or not. The history is that of one lock, an import that was accepted is there, one that lost
// its lock is not, and in the end nothing is locked.
func TestLockOverProcesses(t *testing.T) {
	t.Parallel()
	seed := uint64(number(t, "LOCKS_SEED", int(time.Now().UnixNano()&math.MaxInt32)))
	kills, events := number(t, "LOCKS_KILLS", 8), number(t, "LOCKS_EVENTS", 5000)
	h := newHouse(t)
	t.Logf("LOCKS_SEED=%d", seed)
	var made struct{ ID string }
	h.must(http.MethodPost, "/v2/workspaces", map[string]any{"name": "Mine"}, &made)
	c := &contest{house: h, id: made.ID, at: "/v2/workspaces/" + made.ID, seen: newHistory(), imported: map[string]bool{}}
	c.record()
	var running sync.WaitGroup
	for i := range takers {
		w := &taker{contest: c, number: i, random: rand.New(rand.NewPCG(seed, uint64(i)))}
		if i < importers {
			w.newKey()
		}
		running.Go(w.run)
	}
	n := &nemesis{contest: c, random: rand.New(rand.NewPCG(seed, takers))}
	n.run(kills, events)
	c.enough.Store(true)
	running.Wait()
	c.wantUnlocked()
	changes := c.changes()
	if why := c.seen.linear(changes, c.clearedBy()); why != "" {
		t.Error(why)
	}
	c.wantImported()
	t.Logf("%d seen, %d kills: the lock changed %d times, %d had it by hand, %d were refused, %d imports were accepted and %d lost it, %d requests were cut off",
		c.seen.count(), kills, len(changes), c.won.Load(), c.refused.Load(), c.accepted.Load(), c.lost.Load(), c.cut.Load())
}

// contest is the lock that everybody wants.
type contest struct {
	*house

	id, at string
	seen   *history
	enough atomic.Bool
	// impatient is that somebody clears the lock, whoever has it.
	impatient atomic.Bool

	won, refused, accepted, lost, cut atomic.Int64

	mu       sync.Mutex
	imported map[string]bool // whether what an import brings has to be there; absent when nobody knows
}

// holder is what a lock is called here: by its reason, which is another one each time, or for an import by whose it is since when.
func holder(reason, by string, at int64) string {
	if reason == importing {
		return fmt.Sprintf("%s@%d", by, at)
	}
	return reason
}

// record makes the database keep every change of the lock.
func (c *contest) record() {
	c.t.Helper()
	err := c.db.Tx(c.t.Context(), func(tx *sqldb.Tx) error {
		for _, sql := range []string{
			`CREATE TABLE test_locks (epoch BIGINT NOT NULL, reason TEXT NOT NULL, by TEXT NOT NULL, at BIGINT NOT NULL)`,
			`CREATE FUNCTION test_lock() RETURNS trigger AS $$ BEGIN
			INSERT INTO test_locks VALUES (NEW.lock_epoch, NEW.lock_reason, NEW.lock_by, NEW.lock_at); RETURN NULL; END $$ LANGUAGE plpgsql`,
			`CREATE TRIGGER test_lock AFTER UPDATE ON ws_workspaces FOR EACH ROW
			WHEN ((OLD.lock_epoch, OLD.lock_reason, OLD.lock_by, OLD.lock_at) IS DISTINCT FROM (NEW.lock_epoch, NEW.lock_reason, NEW.lock_by, NEW.lock_at)) EXECUTE FUNCTION test_lock()`,
		} {
			if _, err := tx.Exec(c.t.Context(), sql); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		c.t.Fatal(err)
	}
}

// changes are those of the lock, as the database kept them.
func (c *contest) changes() (all []change) {
	c.t.Helper()
	rows, err := c.db.Query(c.t.Context(), `SELECT epoch, reason, by, at FROM test_locks`)
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var one change
		var reason, by string
		var at int64
		if err := rows.Scan(&one.epoch, &reason, &by, &at); err != nil {
			c.t.Fatal(err)
		}
		if one.holder = holder(reason, by, at); reason == importing {
			one.key = by
		}
		all = append(all, one)
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	return all
}

// clearedBy tells which request cleared the lock of whom, as the events of the workspace do.
func (c *contest) clearedBy() map[string]string {
	c.t.Helper()
	rows, err := c.db.Query(c.t.Context(), `SELECT body FROM bus_events WHERE workspace_id = $1 AND type = $2`, c.id, "workspaces.writeLock.cleared")
	if err != nil {
		c.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	by := map[string]string{}
	for rows.Next() {
		var text string
		var body struct {
			Source  struct{ CorrelationID string }
			Payload struct {
				WriteLock struct {
					Reason, LockedBy string
					LockedAt         time.Time
				}
			}
		}
		if err := rows.Scan(&text); err != nil {
			c.t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text), &body); err != nil {
			c.t.Fatal(err)
		}
		lock := body.Payload.WriteLock
		by[holder(lock.Reason, lock.LockedBy, lock.LockedAt.UnixMilli())] = body.Source.CorrelationID
	}
	if err := rows.Err(); err != nil {
		c.t.Fatal(err)
	}
	return by
}

// stored is the lock as it is stored, and how often the content was changed.
type stored struct {
	holder          string
	epoch, revision int64
}

func (c *contest) look() (s stored) {
	var reason, by string
	var at int64
	const sql = `SELECT lock_reason, lock_by, lock_at, lock_epoch, content_revision FROM ws_workspaces WHERE id = $1`
	if err := c.db.QueryRow(c.t.Context(), sql, c.id).Scan(&reason, &by, &at, &s.epoch, &s.revision); err != nil {
		c.t.Error(err)
	}
	s.holder = holder(reason, by, at)
	return s
}

// sees looks at the lock, and notes what it was.
func (c *contest) sees() stored {
	call := c.seen.now()
	s := c.look()
	back := c.seen.now()
	c.seen.note(func() {
		c.seen.looks = append(c.seen.looks, look{span: span{call, back}, holder: s.holder, epoch: s.epoch})
	})
	return s
}

// wantUnlocked fails when the lock of somebody who is gone stays.
func (c *contest) wantUnlocked() {
	c.t.Helper()
	until := time.Now().Add(recoveredWithin)
	for s := c.look(); s.holder != ""; s = c.look() {
		if time.Now().After(until) {
			c.t.Fatalf("still locked %v after the last one: %+v", recoveredWithin, s)
		}
		wait(c.t.Context(), 100*time.Millisecond)
	}
	for _, p := range c.places {
		if got := c.call(p, request{method: http.MethodPatch, path: c.at, body: map[string]any{"description": "at " + p.port}}); got.status != http.StatusOK {
			c.t.Errorf("an edit after all: %s", got)
		}
	}
}

// wantImported fails unless what was accepted is there, and what was refused is not.
func (c *contest) wantImported() {
	c.t.Helper()
	var found struct{ Automations map[string]json.RawMessage }
	c.must(http.MethodGet, c.at, nil, &found)
	for slug, want := range c.imported {
		if _, there := found.Automations[slug]; there != want {
			c.t.Errorf("the import %s: there %v, want %v", slug, there, want)
		}
	}
}
