package service_test

import (
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqldbtest"
	"atelier/internal/sqldb/sqlite"
	"atelier/internal/workspaces/service"
)

// eachCluster runs a test on instances that share nothing but a database, each with connections of its own.
func eachCluster(t *testing.T, instances int, run func(t *testing.T, houses []*house)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "shared.db")
		run(t, cluster(t, instances, func() (*sqldb.DB, error) { return sqlite.Open(t.Context(), path) }))
	})
	t.Run("postgresql", func(t *testing.T) {
		t.Parallel()
		address := sqldbtest.PostgresURL(t)
		run(t, cluster(t, instances, func() (*sqldb.DB, error) {
			return postgres.Open(t.Context(), postgres.Config{URL: address, MaxConns: 8})
		}))
	})
}

func cluster(t *testing.T, instances int, open func() (*sqldb.DB, error)) (houses []*house) {
	t.Helper()
	for i := range instances {
		db, err := open()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := db.Close(); err != nil {
				t.Errorf("close the database: %v", err)
			}
		})
		if i == 0 {
			if _, err := sqldb.Migrate(t.Context(), db, clock.System{}.Now(), sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), service.Migrations()); err != nil {
				t.Fatal(err)
			}
			houses = append(houses, newHouse(t, db))
			continue
		}
		houses = append(houses, houses[0].beside(db))
	}
	return houses
}

// beside is another instance on the same database, with the same people and the same time.
func (h *house) beside(db *sqldb.DB) *house {
	h.t.Helper()
	other := *h
	log, err := sqlbus.Open(db, h.clk, slog.New(slog.DiscardHandler))
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = log.Close() })
	other.db, other.deps.DB, other.deps.Bus, other.deps.Access = db, db, log, access.NewEnforcer(h.clk)
	built := service.New(other.deps)
	if err := built.Prepare(h.t.Context(), false); err != nil {
		h.t.Fatal(err)
	}
	other.built, other.door = built, built.API.Handler()
	return &other
}

// moment is a point of the history: a later one has a larger number.
type moment int64

// span is from before something was asked for until after it was answered. It happened somewhere in between.
type span struct{ from, to moment }

// tenure is that somebody had the lock: when it came to be theirs and when it ceased to be, and its epoch.
type tenure struct {
	by          string
	epoch       int64
	taken, left span
}

// refusal is that somebody was told who has the lock.
type refusal struct {
	holder string
	span
}

// history is what everybody has seen of a lock.
type history struct {
	ticks atomic.Int64

	mu       sync.Mutex
	tenures  []tenure
	refusals []refusal
}

func (h *history) during(fn func()) span {
	from := moment(h.ticks.Add(1))
	fn()
	return span{from, moment(h.ticks.Add(1))}
}

func (h *history) held(t tenure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.tenures = append(h.tenures, t)
}

// holders is how many have had the lock.
func (h *history) holders() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.tenures)
}

func (h *history) refused(r refusal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.refusals = append(h.refusals, r)
}

// linear tells why the history is not one of a lock that is taken and left at single moments by one after the other; empty
// when it is one. Epochs say in which order it was taken, so there is one order to try: everything must have a moment within
// its span, those of the tenures one after the other, and those of a refusal within the tenure of whom it names.
func (h *history) linear() string {
	slices.SortFunc(h.tenures, func(a, b tenure) int { return int(a.epoch - b.epoch) })
	named := map[string][]refusal{}
	for _, r := range h.refusals {
		named[r.holder] = append(named[r.holder], r)
	}
	now := moment(0)
	for i, t := range h.tenures {
		if i > 0 && t.epoch == h.tenures[i-1].epoch {
			return fmt.Sprintf("%s and %s both had the epoch %d", h.tenures[i-1].by, t.by, t.epoch)
		}
		taken, left := t.taken, t.left
		for _, r := range named[t.by] {
			taken.to, left.from = min(taken.to, r.to), max(left.from, r.from)
		}
		delete(named, t.by)
		for _, at := range []span{taken, left} {
			if now = max(now, at.from); now > at.to {
				return fmt.Sprintf("%s had the epoch %d while another one had the lock, or had it not when somebody was told so: %+v", t.by, t.epoch, t)
			}
		}
	}
	if len(named) > 0 {
		return fmt.Sprintf("somebody is named who never had the lock: %v", slices.Collect(maps.Keys(named)))
	}
	return ""
}

// A history of two who had the lock at the same time is found out, and so is whoever names one that has it not.
func TestHistoriesOfLocks(t *testing.T) {
	t.Parallel()
	a := tenure{by: "a", epoch: 1, taken: span{1, 2}, left: span{5, 6}}
	for name, test := range map[string]struct {
		tenures  []tenure
		refusals []refusal
		fine     bool
	}{
		"one after the other": {tenures: []tenure{a, {by: "b", epoch: 3, taken: span{3, 7}, left: span{8, 9}}}, refusals: []refusal{{"a", span{3, 4}}}, fine: true},
		"at the same time":    {tenures: []tenure{a, {by: "b", epoch: 3, taken: span{3, 4}, left: span{8, 9}}}},
		"the same epoch":      {tenures: []tenure{a, {by: "b", epoch: 1, taken: span{7, 8}, left: span{8, 9}}}},
		"an older epoch":      {tenures: []tenure{a, {by: "b", epoch: 0, taken: span{7, 8}, left: span{8, 9}}}},
		"named too late":      {tenures: []tenure{a}, refusals: []refusal{{"a", span{7, 8}}}},
		"named too early":     {tenures: []tenure{{by: "a", epoch: 1, taken: span{3, 4}, left: span{5, 6}}}, refusals: []refusal{{"a", span{1, 2}}}},
		"named for nothing":   {tenures: []tenure{a}, refusals: []refusal{{"b", span{1, 9}}}},
		"named after the next": {
			tenures: []tenure{a, {by: "b", epoch: 3, taken: span{5, 7}, left: span{10, 11}}}, refusals: []refusal{{"b", span{5, 6}}, {"a", span{7, 9}}},
		},
	} {
		h := &history{tenures: test.tenures, refusals: test.refusals}
		if why := h.linear(); (why == "") != test.fine {
			t.Errorf("%s: %q", name, why)
		}
	}
}

// Two hundred want the lock of one workspace at the same time, from three instances, until six have had it: by hand, for an
// import, and some die with it so that it has to expire. One has it at a time, everybody else hears who, and the history is that
// of one lock.
func TestLockOfThreeInstances(t *testing.T) {
	t.Parallel()
	eachCluster(t, 3, func(t *testing.T, houses []*house) {
		const wanting, holders = 200, 6
		at := houses[0].superAdmin().workspace("Mine")
		var all []*contender
		seen := &history{}
		for i := range wanting {
			c := houses[0].user("user-" + strconv.Itoa(i))
			c.who.SuperAdmin = true
			c.house = houses[i%len(houses)]
			all = append(all, &contender{caller: c, at: at, seen: seen})
		}
		var running sync.WaitGroup
		ready := make(chan struct{})
		for i, c := range all {
			running.Go(func() {
				<-ready
				want := []func() bool{c.locks, c.imports, c.dies}[i/len(houses)%3]
				for had := false; !had && seen.holders() < holders; {
					had = want()
				}
			})
		}
		close(ready)
		running.Wait()
		if why := seen.linear(); why != "" {
			t.Error(why)
		}
		t.Logf("%d had the lock, %d were refused", len(seen.tenures), len(seen.refusals))
		houses[1].wantUnlocked(houses[2].superAdmin(), at)
	})
}

// contender wants the lock of a workspace.
type contender struct {
	*caller

	at   string
	seen *history
}

// locks takes the lock by hand, tries whether others can write meanwhile, and leaves it.
func (c *contender) locks() (had bool) {
	t := tenure{by: c.who.UserID}
	var got *answer
	t.taken = c.seen.during(func() { got = c.post(c.at+"/writeLock", map[string]any{"reason": "release"}) })
	if !c.won(got, t.taken) {
		return false
	}
	t.epoch = c.epoch()
	c.tries()
	if now := c.epoch(); now != t.epoch {
		c.house.t.Errorf("the epoch went from %d to %d while %s had the lock", t.epoch, now, t.by)
	}
	t.left = c.seen.during(func() {
		for got = c.delete(c.at + "/writeLock"); got.status == http.StatusServiceUnavailable; {
			got = c.delete(c.at + "/writeLock")
		}
	})
	if got.status != http.StatusOK {
		c.house.t.Errorf("%s: %d %s", got.what, got.status, got.body)
	}
	c.seen.held(t)
	return true
}

// dies takes the lock and does nothing any more: it is somebody else's when it expires.
func (c *contender) dies() (had bool) {
	t := tenure{by: c.who.UserID}
	var got *answer
	t.taken = c.seen.during(func() { got = c.post(c.at+"/writeLock", map[string]any{"reason": "release"}) })
	if !c.won(got, t.taken) {
		return false
	}
	t.epoch = c.epoch()
	t.left = c.seen.during(func() { c.house.clk.Advance(c.house.deps.LockTimeout) })
	c.seen.held(t)
	return true
}

// imports has the lock for as long as an import takes.
func (c *contender) imports() (had bool) {
	t := tenure{by: c.who.UserID}
	var got *answer
	t.taken = c.seen.during(func() {
		got = c.bring(c.at+"/import", pack("index.yml", "name: Mine\n", "automations/"+t.by+".yml", "name: a\ndo: []\n"))
	})
	if got.status == http.StatusUnprocessableEntity {
		return false // time leapt while it was being read, which is before it wants the lock
	}
	won := c.won(got, t.taken)
	t.left = t.taken
	// One that failed for want of room in the storage may have had the lock, too.
	const sql = `SELECT epoch FROM ws_operations WHERE started_by = $1`
	if err := c.house.db.QueryRow(c.house.t.Context(), sql, t.by).Scan(&t.epoch); err != nil {
		if won || !sqldb.IsNotFound(err) {
			c.house.t.Error(err)
		}
		return false
	}
	c.seen.held(t)
	return true
}

// tries edits as somebody else would, which is refused in the name of whoever has the lock.
func (c *contender) tries() {
	var got *answer
	when := c.seen.during(func() { got = c.patch(c.at, map[string]any{"description": "by " + c.who.UserID}) })
	if c.won(got, when) {
		c.house.t.Errorf("%s wrote to a locked workspace", c.who.UserID)
	}
}

// won tells whether the lock was had. Whoever has it not is told who has.
func (c *contender) won(got *answer, when span) bool {
	switch got.status {
	case http.StatusOK:
		return true
	case http.StatusServiceUnavailable: // the storage has too much to do, and says that nothing was changed
		return false
	}
	if got.status != http.StatusLocked || got.text("error") != string(errs.Locked) || got.text("details.lockedBy") == "" {
		c.house.t.Errorf("%s: %d %s", got.what, got.status, got.body)
		return false
	}
	c.seen.refused(refusal{got.text("details.lockedBy"), when})
	return false
}

// epoch is that of the lock now.
func (c *contender) epoch() (epoch int64) {
	const sql = `SELECT lock_epoch FROM ws_workspaces WHERE id = $1`
	if err := c.house.db.QueryRow(c.house.t.Context(), sql, strings.TrimPrefix(c.at, workspacesPath)).Scan(&epoch); err != nil {
		c.house.t.Error(err)
	}
	return epoch
}
