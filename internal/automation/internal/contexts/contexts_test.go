package contexts_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/contexts"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// What one run keeps another one finds, in this process and in others.
func TestKept(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		k.do(k.run(k.store, user()), `
do:
  - set: {name: global.a, value: {b: [1, 2]}}
  - set: {name: global.a.c, value: x}
  - set: {name: 'session.list[]', value: 1}
  - set: {name: 'session.list[]', value: 2}
  - set: {name: user.o, type: merge, value: {p: 1}}
  - set: {name: user.o, type: merge, value: {q: 2}}
  - set: {name: socket.gone, value: 1}
  - delete: {name: socket.gone}
  - set: {name: run.r, value: true}
`)
		for _, store := range []*contexts.Store{k.store, k.process(true), k.process(false)} {
			k.want(k.do(k.run(store, user()), "do: []\noutput: ['{{global.a}}', '{{session.list}}', '{{user.o}}', '{{socket}}', '{{run.r}}']"),
				`[{"b":[1,2],"c":"x"},[1,2],{"p":1,"q":2},{},true]`)
		}
		var rows int
		if err := k.db.QueryRow(k.Context(), `SELECT COUNT(*) FROM rt_contexts`).Scan(&rows); err != nil || rows != 5 {
			k.Errorf("%d rows, %v", rows, err)
		}
		err := k.db.Tx(k.Context(), func(tx *sqldb.Tx) error { return k.store.Forget(k.Context(), tx, k.bench.Home.WorkspaceID) })
		if err != nil {
			k.Fatal(err)
		}
		k.want(k.read(k.run(k.process(false), user()), "global.a"), `{}`)
	})
}

// Runs at the same time do not lose each other's changes, whichever process they are in.
func TestConcurrentChanges(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		stores := []*contexts.Store{k.process(false), k.process(false)}
		var runs sync.WaitGroup
		const many = 24
		for i := range many {
			run := k.run(stores[i%2], user())
			automation := k.bench.Add(fmt.Sprint("a", i), fmt.Sprintf("do:\n  - set: {name: global.k%d, value: %d}\n  - set: {name: 'global.all[]', value: %d}\n", i, i, i))
			runs.Go(func() {
				if result := k.bench.Machine.Execute(k.Context(), run, automation, value.NewObject(0)); result.Err != nil {
					k.Error(result.Err)
				}
			})
		}
		runs.Wait()
		out := k.do(k.run(stores[0], user()), "do: []\noutput: {count: '{% {{global.all.length}} %}', first: '{{global.k0}}', last: '{{global.k23}}'}")
		k.want(out, `{"count":24,"first":0,"last":23}`)
	})
}

// Beside other processes a run sees what they change after a moment, and a new run at once; alone nothing is read twice.
func TestFreshness(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		here, there := k.process(false), k.process(false)
		k.set(k.run(here, user()), "global.x", "1")
		long := k.run(there, user())
		k.want(k.read(long, "global.x"), `{"it":"1"}`)
		k.set(k.run(here, user()), "global.x", "2")
		k.want(k.read(long, "global.x"), `{"it":"1"}`)
		k.want(k.read(k.run(there, user()), "global.x"), `{"it":"2"}`)
		k.clock.Advance(250 * time.Millisecond)
		k.want(k.read(long, "global.x"), `{"it":"2"}`)
		k.set(long, "global.x", "3")
		k.want(k.read(long, "global.x"), `{"it":"3"}`)

		k.want(k.read(k.run(k.store, user()), "global.x"), `{"it":"3"}`)
		k.set(k.run(here, user()), "global.x", "4")
		k.clock.Advance(time.Hour)
		k.want(k.read(k.run(k.store, user()), "global.x"), `{"it":"3"}`) // it was told that there is no other process
	})
}

// How long contexts last, and what is left of them.
func TestLifetimes(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		k.people.accounts["s-ann"] = access.Principal{Kind: access.User, UserID: "ann"}
		k.people.sessions["s-ann"] = start().Add(2 * time.Hour)
		passing := access.Principal{Kind: access.Anonymous, UserID: "v", SessionID: "s-v", AuthData: map[string]map[string]any{
			"anonymous": {"expiresAt": start().Add(5 * time.Hour).Format(time.RFC3339)},
		}}
		unknown := access.Principal{Kind: access.User, UserID: "bob", SessionID: "s-bob"}
		const day = 24 * time.Hour
		for _, c := range []struct {
			name   string
			caller access.Principal
			root   string
			lasts  time.Duration // zero is for ever
		}{
			{"run", user(), "run", time.Minute},
			{"socket", user(), "socket", 6 * time.Hour},
			{"global", user(), "global", 0},
			{"user", user(), "user", 0},
			{"session", user(), "session", 2 * time.Hour},
			{"session of which nothing is known", unknown, "session", 30 * day},
			{"session of a visitor", passing, "session", 5 * time.Hour},
			{"account of a visitor", passing, "user", 5 * time.Hour},
			{"session of nobody", access.Principal{}, "session", time.Hour},
			{"account of nobody", access.Principal{}, "user", time.Hour},
			{"session of a key", access.Principal{Kind: access.Key, KeyID: "k", KeyWorkspace: "wks1234"}, "session", time.Hour},
		} {
			store := k.process(true)
			k.set(k.run(store, c.caller), c.root+".x", "1")
			var expires int64
			if err := k.db.QueryRow(k.Context(), `SELECT expires_at FROM rt_contexts`).Scan(&expires); err != nil {
				k.Fatal(c.name, err)
			}
			want := int64(0)
			if c.lasts > 0 {
				want = sqldb.Millis(k.clock.Now().Add(c.lasts))
			}
			if expires != want {
				k.Errorf("%s: lasts until %s, want %s", c.name, sqldb.Time(expires), sqldb.Time(want))
			}
			err := k.db.Tx(k.Context(), func(tx *sqldb.Tx) error { return store.Forget(k.Context(), tx, "wks1234") })
			if err != nil {
				k.Fatal(err)
			}
		}
	})
}

// What has expired is gone for readers at once, also from memory, begins anew when it is changed, and is removed.
func TestExpiry(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		for _, store := range []*contexts.Store{k.store, k.process(false)} {
			k.set(k.run(store, access.Principal{}), "session.x", "1")
			k.clock.Advance(time.Hour - time.Millisecond)
			k.want(k.read(k.run(store, access.Principal{}), "session.x"), `{"it":"1"}`)
			k.clock.Advance(time.Millisecond)
			k.want(k.read(k.run(store, access.Principal{}), "session.x"), `{}`)
			k.set(k.run(store, access.Principal{}), "session.y", "2")
			k.want(k.do(k.run(store, access.Principal{}), "do: []\noutput: ['{{session.x}}', '{{session.y}}']"), `[null,"2"]`)
			k.set(k.run(store, user()), "global.kept", "1")
			k.clock.Advance(2 * time.Hour)
			if n, err := store.Sweep(k.Context()); err != nil || n != 1 {
				k.Errorf("%d were removed: %v", n, err)
			}
			k.set(k.run(store, access.Principal{}), "session.z", "3") // its version is a later one
			k.want(k.do(k.run(store, access.Principal{}), "do: []\noutput: ['{{session.y}}', '{{session.z}}']"), `[null,"3"]`)
			k.want(k.read(k.run(store, user()), "global.kept"), `{"it":"1"}`)
			k.clock.Advance(2 * time.Hour)
			if _, err := store.Sweep(k.Context()); err != nil {
				k.Fatal(err)
			}
		}
	})
}

// The run context lasts as long as its run, for others a minute, and longer when the run waits.
func TestRunContext(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		store := k.process(false)
		long := k.run(store, user())
		k.set(long, "run.x", "1")
		k.clock.Advance(2 * time.Minute)
		k.want(k.read(long, "run.x"), `{"it":"1"}`)
		k.want(k.read(k.run(store, user()), "run.x"), `{}`)
		if _, err := store.Sweep(k.Context()); err != nil {
			k.Fatal(err)
		}
		k.set(long, "run.y", "2")
		k.want(k.do(k.run(store, user()), "do: []\noutput: ['{{run.x}}', '{{run.y}}']"), `["1","2"]`)

		if err := long.Scopes.Prolong(k.Context(), time.Hour); err != nil {
			k.Fatal(err)
		}
		k.clock.Advance(time.Hour + 59*time.Second)
		k.want(k.read(k.run(store, user()), "run.y"), `{"it":"2"}`)
		k.clock.Advance(time.Second)
		k.want(k.read(k.run(store, user()), "run.y"), `{}`)
		other := k.run(store, user())
		other.CorrelationID = "another"
		k.set(other, "run.y", "3")
		k.want(k.read(k.run(store, user()), "run.y"), `{}`)
	})
}

// A context that is too large is reported, and one that is far too large refused; so is what could not be read again.
func TestSizes(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		k.settings.MaxSize = map[string]int{"global": 100}
		store := k.process(true)
		reported := func() int { return len(k.bench.Recorder.Of("error")) }
		k.set(k.run(store, user()), "global.x", strings.Repeat("a", 80))
		if reported() != 0 {
			k.Error("it was reported too early")
		}
		k.set(k.run(store, user()), "global.x", strings.Repeat("b", 500))
		if reported() != 1 {
			k.Error("it was not reported")
		}
		before := k.read(k.run(store, user()), "global.x")
		_, err := k.try(k.run(store, user()), "do:\n  - set: {name: global.y, value: '"+strings.Repeat("c", 600)+"'}")
		if err == nil || !strings.Contains(err.Error(), "WorkspaceQuotaExceeded") {
			k.Errorf("%v", err)
		}
		k.want(k.read(k.run(store, user()), "global.x"), before)
		k.want(k.read(k.run(k.process(true), user()), "global.x"), before)
		k.set(k.run(store, user()), "session.x", strings.Repeat("a", 5000)) // nothing is said of it

		deep := strings.Repeat("[", 98) + strings.Repeat("]", 98)
		k.do(k.run(store, user()), "do:\n  - set: {name: session.deep, value: '{% json(\""+deep+"\") %}'}")
		if out := k.read(k.run(k.process(true), user()), "session.deep"); !strings.Contains(out, deep) {
			k.Error("what is nested as deep as it may be was not read again")
		}
		_, err = k.try(k.run(store, user()), "do:\n  - set: {name: session.deeper.x, value: '{% json(\""+deep+"\") %}'}")
		if err == nil || !strings.Contains(err.Error(), "nested") {
			k.Errorf("%v", err)
		}
	})
}

// What is remembered is what is stored: nothing is undefined, and no number is none.
func TestStoredAsRemembered(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		k.do(k.run(k.store, user()), `
do:
  - set: {name: global.o, value: {gone: '{{nothing}}', kept: 1, list: [1, '{{nothing}}', {gone: '{{nothing}}'}], none: '{% {{nothing}} + 1 %}'}}
  - set: {name: global.undefined, value: '{{nothing}}'}
`)
		ask := "do: []\noutput: {o: '{{global.o}}', has: '{% \"undefined\" in {{global}} %}', inner: '{% \"gone\" in {{global.o}} %}'}"
		want := `{"o":{"kept":1,"list":[1,null,{}],"none":null},"has":false,"inner":false}`
		k.want(k.do(k.run(k.store, user()), ask), want)
		k.want(k.do(k.run(k.process(true), user()), ask), want)
	})
}

// A run that is begun anew changes nothing twice, and sees what it has changed.
func TestBegunAnew(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		notes := &journal{db: k.db, survives: true, done: map[string]bool{}}
		text := "do:\n  - set: {name: 'global.list[]', value: 1}\n  - set: {name: config.x, value: 1}\n  - set: {name: user.id, value: other}\noutput: ['{{global.list}}', '{{config.x}}', '{{user.id}}']"
		for _, store := range []*contexts.Store{k.store, k.process(true), k.process(false)} {
			run := k.run(store, user())
			run.Journal = notes
			k.want(k.do(run, text), `[[1],1,"other"]`)
		}
		if k.definitions.calls != 1 {
			k.Errorf("the configuration was changed %d times", k.definitions.calls)
		}
	})
}
