package service_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/service"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// engineHouses runs a test on each search engine with a service that the test configures.
func engineHouses(t *testing.T, run func(t *testing.T, e *engineHouse), change ...func(*service.Storage)) {
	t.Helper()
	for driver := range searchEngines() {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			e := &engineHouse{driver: driver, server: &server{t: t, address: searchEngines()[driver](t)}, known: map[string]bool{home: true}}
			e.proxy = newProxy(t, e.server.address)
			change := append([]func(*service.Storage){func(s *service.Storage) {
				e.namespace, s.Hosts = strings.ToLower(s.Namespace), []string{e.proxy.address}
			}}, change...)
			e.house = newHouse(t, sqldbtest.SQLite(t, tables()...), func(deps *service.Deps) {
				withIndex(t, deps, driver, false, change...)
				deps.Cleanup.Retention, deps.Cleanup.Inactivity, deps.Cleanup.Small, deps.Cleanup.Deleted, deps.Cleanup.Executed = 100, -1, -1, 30, 14*24*time.Hour
				deps.Known = func(_ context.Context, _ sqldb.Reader, ids []string) (there []string, err error) {
					for _, id := range ids {
						if e.known[id] {
							there = append(there, id)
						}
					}
					return there, nil
				}
			})
			run(t, e)
		})
	}
}

// engineHouse is a house whose search engine is behind a proxy that a test breaks.
type engineHouse struct {
	*house
	driver, namespace string
	server            *server
	proxy             *proxy
	known             map[string]bool
}

// follow keeps the index behind the log for the rest of the test, or until the result is called.
func (e *engineHouse) follow() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- e.whole.Follow(ctx) }()
	var stopped bool
	stop = func() {
		if !stopped {
			stopped = true
			cancel()
			<-ended
		}
	}
	e.t.Cleanup(stop)
	e.following = true
	return stop
}

// reached lets time pass until the index has everything and searches use it.
func (e *engineHouse) reached() {
	e.t.Helper()
	e.until("the index has everything", func() bool {
		e.clock.Advance(time.Second)
		reached, err := e.index.Reached(e.t.Context(), 1<<62)
		return err == nil && reached
	})
	e.until("searches use the index", func() bool {
		if err := e.index.Look(e.t.Context()); err != nil {
			return false
		}
		built, err := e.index.Built(e.t.Context())
		return err == nil && built
	})
	if err := e.index.Refresh(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
}

// size counts the events that a search finds, by the figures and by reading them.
func (e *engineHouse) size(query string) string {
	e.t.Helper()
	counted := e.root.search(`{"query":` + query + `,"limit":0}`).want(http.StatusOK).text("size")
	read := e.root.search(`{"query":{"bool":{"filter":[` + query + `,{"wildcard":{"type":"*"}}]}},"limit":0}`).want(http.StatusOK).text("size")
	if counted != read {
		e.t.Errorf("%s: %s are counted and %s are read", query, counted, read)
	}
	return counted
}

func (e *engineHouse) wantSize(query, want string) {
	e.t.Helper()
	if got := e.size(query); got != want {
		e.t.Errorf("%s: %s events, want %s", query, got, want)
	}
}

const whole = `{"match_all":{}}`

// Events are stored while the engine is away, searches say so, and nothing is missing when it is back.
func TestEngineOutage(t *testing.T) {
	t.Parallel()
	engineHouses(t, func(t *testing.T, e *engineHouse) {
		e.proxy.set(down)
		e.follow()
		for i := range 30 {
			e.ann.emit(fmt.Sprintf(`{"type":"early","payload":{"n":%d}}`, i)).want(http.StatusOK)
		}
		e.wantSize(whole, "30") // no index yet: the log is searched
		e.proxy.set(nil)
		e.reached()
		e.wantSize(whole, "30")

		e.proxy.set(down)
		for i := range 30 {
			e.ann.emit(fmt.Sprintf(`{"type":"late","payload":{"n":%d}}`, i)).want(http.StatusOK)
		}
		for _, refused := range []*answer{e.ann.search(`{"query":{"match_all":{}}}`), e.ann.get(events), e.ann.get(usagePath + "?afterDate=2026-03-01&beforeDate=2026-03-04")} {
			refused.wantError(http.StatusServiceUnavailable, errs.Unavailable)
			if strings.Contains(refused.body.String(), "127.0.0.1") {
				t.Errorf("it tells where the engine is: %s", refused.body)
			}
		}
		if err := e.index.Ping(t.Context()); err == nil {
			t.Error("the index is ready while the engine is away")
		}
		e.proxy.set(nil)
		e.reached()
		e.wantSize(whole, "60")
		e.wantSize(`{"term":{"type":"late"}}`, "30")
		if err := e.index.Ping(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What the engine cannot take at the moment is offered again, item by item.
func TestEngineIsBusy(t *testing.T) {
	t.Parallel()
	engineHouses(t, func(t *testing.T, e *engineHouse) {
		e.following = true // later
		for i := range 40 {
			e.ann.emit(fmt.Sprintf(`{"type":"busy","payload":{"n":%d}}`, i)).want(http.StatusOK)
		}
		busy := newBusy(3)
		e.proxy.set(busy.serve)
		e.follow()
		e.reached()
		e.wantSize(whole, "40")
		if offered := busy.offered(); offered < 40 {
			t.Errorf("only %d of 40 events were refused at first", offered)
		}
	})
}

// An event that does not fit is kept in a form that does: it is found as any other, and those after it are not kept waiting.
func TestEventsThatDoNotFit(t *testing.T) {
	t.Parallel()
	engineHouses(t, func(t *testing.T, e *engineHouse) {
		e.ann.emit(
			`{"type":"first","payload":{"a":1,"b":{"c":true}},"options":{"aggPayload":true}}`,
			`{"type":"clash","payload":{"a":{"deep":"x"},"b":5},"options":{"aggPayload":true}}`,
			`{"type":"huge","payload":{"a":1e400,"text":"`+strings.Repeat("é", 20_000)+`"},"options":{"aggPayload":true}}`,
			`{"type":"list","payload":[1,2,{"a":"x"}]}`, `{"type":"plain","payload":"a text"}`, `{"type":"dots","payload":{"a..b":1,"":{"":2},".":3," ":4}}`,
			`{"type":"deep","payload":`+strings.Repeat(`{"d":`, 60)+`1`+strings.Repeat(`}`, 60)+`}`,
		).want(http.StatusOK)
		var fields []string
		for i := range 1500 {
			fields = append(fields, fmt.Sprintf(`"f%d":%d`, i, i))
		}
		e.ann.emit(`{"type":"wide","payload":{`+strings.Join(fields, ",")+`},"options":{"aggPayload":true}}`, `{"type":"after","payload":{"a":2}}`).want(http.StatusOK)
		e.sync()
		e.wantSize(whole, "9")
		for query, want := range map[string]string{
			`{"term":{"payload.a.deep":"x"}}`: "1", `{"term":{"payload.a":1}}`: "1", `{"term":{"payload.a":1e400}}`: "1", `{"term":{"payload.f1499":"1499.0"}}`: "1",
			`{"exists":{"field":"payload.text"}}`: "1", `{"term":{"payload":"a text"}}`: "1", `{"term":{"payload.b.c":true}}`: "1", `{"term":{"payload.text":"` + strings.Repeat("é", 20_000) + `"}}`: "1",
			`{"range":{"payload.f1499":{"gt":1000}}}`: "1", `{"exists":{"field":"payload` + strings.Repeat(".d", 60) + `"}}`: "1",
			`{"bool":{"must_not":{"exists":{"field":"payload.a"}}}}`: "4", `{"term":{"payload.a..b":1}}`: "1",
		} {
			e.wantSize(query, want)
		}
		huge := e.ann.get(events + "?types=huge").want(http.StatusOK)
		if !strings.Contains(huge.body.String(), "1e400") {
			t.Errorf("a number has changed: %s", huge.body.String()[:200])
		}
	})
}

// An index that somebody removed is built anew; until then the log is searched.
func TestRemovedIndex(t *testing.T) {
	t.Parallel()
	engineHouses(t, func(t *testing.T, e *engineHouse) {
		for i := range 120 {
			e.past(march.Add(time.Duration(i)*time.Minute), 0, home, "old", fmt.Sprintf(`{"payload":{"n":%d},"source":{}}`, i))
		}
		e.wantSize(whole, "120")
		e.server.erase(e.namespace)
		e.root.search(`{"query":{"match_all":{}}}`) // whatever it says: nobody has looked yet
		if err := e.index.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.wantSize(whole, "120")
		if built, err := e.index.Built(t.Context()); err != nil || built {
			t.Fatal("an empty index is complete", err)
		}
		e.dirty.Store(true)
		e.wantSize(whole, "120")
		e.ann.emit(paid).want(http.StatusOK)
		e.wantSize(whole, "121")
	})
}

// Two installations do not share a namespace by mistake.
func TestIndexOfAnother(t *testing.T) {
	t.Parallel()
	engineHouses(t, func(t *testing.T, e *engineHouse) {
		e.ann.emit(paid).want(http.StatusOK)
		e.wantSize(whole, "1")
		other := newHouse(t, sqldbtest.SQLite(t, tables()...), func(deps *service.Deps) {
			withIndex(t, deps, e.driver, false, func(s *service.Storage) { s.Namespace = e.namespace })
		})
		if err := other.index.Look(t.Context()); err == nil || !strings.Contains(err.Error(), "EVENTS_STORAGE_NAMESPACE") {
			t.Errorf("it takes an index that it did not make: %v", err)
		}
		e.wantSize(whole, "1")
	})
}

// Full indices are followed by others. An event that is offered to both is there once, and old indices are dropped as a whole.
func TestRollover(t *testing.T) {
	t.Parallel()
	engineHouses(t, func(t *testing.T, e *engineHouse) {
		for i := range 60 {
			e.past(march.AddDate(0, 0, -200).Add(time.Duration(i)*time.Minute), 0, home, "old", `{"payload":{},"source":{}}`)
		}
		e.wantSize(whole, "60")
		if err := e.index.Roll(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.ann.emit(paid, sent).want(http.StatusOK)
		e.wantSize(whole, "62")
		if got := len(e.server.indices(e.namespace)); got != 2 {
			t.Fatalf("%d indices, want 2: %v", got, e.server.indices(e.namespace))
		}
		e.tx(func(ctx context.Context, tx *sqldb.Tx) error { // a crash before the cursor moved
			_, err := tx.Exec(ctx, `UPDATE bus_cursors SET last_pos = 0 WHERE consumer LIKE 'events-index-%'`)
			return err
		})
		e.dirty.Store(true)
		e.wantSize(whole, "62")
		e.as(access.Principal{Kind: access.Internal}).do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		if got := len(e.server.indices(e.namespace)); got != 1 {
			t.Errorf("%d indices, want 1: %v", got, e.server.indices(e.namespace))
		}
		e.settle()
		e.wantSize(whole, "2")
		if err := e.index.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if built, err := e.index.Built(t.Context()); err != nil || !built {
			t.Error("a dropped index was taken for a lost one", err)
		}
	}, func(s *service.Storage) { s.Rollover = 1 })
}

// settle does what is due to the index every minute.
func (e *engineHouse) settle() {
	e.t.Helper()
	for _, job := range e.whole.Jobs() {
		if job.Name == "events: index" {
			if err := job.Do(e.t.Context(), e.clock.Now()); err != nil {
				e.t.Fatal(err)
			}
		}
	}
	if err := e.index.Refresh(e.t.Context()); err != nil {
		e.t.Fatal(err)
	}
}

// What is removed from the log, or changed in it, is in the index.
func TestIndexIsCleaned(t *testing.T) {
	t.Parallel()
	engineHouses(t, func(t *testing.T, e *engineHouse) {
		const executed = "runtime.automations.executed"
		internal := e.as(access.Principal{Kind: access.Internal})
		for i := range 5 {
			e.past(march.AddDate(0, 0, -120), i, home, "old", `{"payload":{},"source":{}}`)
			e.past(march.AddDate(0, 0, -20), i, home, executed, `{"payload":{"slug":"a","payload":{"secret":"in"},"output":"out"},"source":{}}`)
			e.past(march.AddDate(0, 0, -1), i, home, "young", `{"payload":{},"source":{}}`)
			e.past(march.AddDate(0, 0, -1), i, "Gone000", "workspaces.deleted", `{"payload":{},"source":{}}`)
		}
		e.known["Gone000"] = true // in the bin
		everywhere := func() string {
			return e.root.do(http.MethodPost, "/v2/search", `{"query":{"match_all":{}},"limit":0}`).want(http.StatusOK).text("size")
		}
		if got := everywhere(); got != "20" {
			t.Fatalf("%s events", got)
		}
		internal.do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		internal.do(http.MethodPost, "/sys/cleanup/executed-events", "").want(http.StatusOK)
		e.dirty.Store(true) // what was done is told by events
		e.sync()
		e.settle()
		e.wantSize(`{"term":{"type":"old"}}`, "0")
		e.wantSize(`{"term":{"type":"young"}}`, "5")
		e.wantSize(`{"exists":{"field":"payload.output"}}`, "0")
		e.wantSize(`{"term":{"payload.payload.secret":"in"}}`, "0")
		e.wantSize(`{"term":{"payload.slug":"a"}}`, "5")
		if got := e.root.do(http.MethodPost, "/v2/search", `{"query":{"term":{"type":"workspaces.deleted"}},"limit":0}`).want(http.StatusOK).text("size"); got != "5" {
			t.Errorf("a workspace in the bin has %s events", got)
		}
		delete(e.known, "Gone000") // for good
		e.settle()
		want := map[string]string{"opensearch": "0", "elasticsearch": "5"}[e.driver]
		if got := e.root.do(http.MethodPost, "/v2/search", `{"query":{"term":{"type":"workspaces.deleted"}},"limit":0}`).want(http.StatusOK).text("size"); got != want {
			t.Errorf("a workspace that is gone has %s events, want %s", got, want)
		}
	})
}

// Each workspace can have a stream of its own; those with the same name but for its case share one.
func TestStreamsOfWorkspaces(t *testing.T) {
	t.Parallel()
	eachEngine(t, true, func(t *testing.T, h *house) {
		for i, id := range []string{home, "Work001", "wORK001", "Odd/Id?"} {
			for n := range i + 1 {
				h.past(march.Add(time.Duration(n)*time.Hour), i, id, "a", fmt.Sprintf(`{"payload":{"n":%d},"source":{}}`, n))
			}
		}
		for path, want := range map[string]string{"/v2/search": "10", "/v2/workspaces/W*/search": "2", "/v2/workspaces/*ORK001/search": "3", searchPath: "1"} {
			for _, query := range []string{whole, `{"wildcard":{"type":"*"}}`} {
				if got := h.root.do(http.MethodPost, path, `{"query":`+query+`,"limit":0,"track_total_hits":true}`).want(http.StatusOK); got.text("size") != want {
					t.Errorf("%s of %s: %s, want %s", query, path, got.body, want)
				}
			}
		}
	})
}
