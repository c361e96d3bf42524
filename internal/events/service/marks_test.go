package service_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/events/service"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// archive is the service with marks that are made of a few events each, and what was emitted.
type archive struct {
	*house
	ids []string // of the events, oldest first: what each says follows from its place
}

func eachArchive(t *testing.T, sizes service.Marks, run func(t *testing.T, a *archive)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		run(t, &archive{house: newHouse(t, db, func(d *service.Deps) {
			d.Marks = sizes
			d.Cleanup = service.Cleanup{Sweep: every(t, "0 0 * * 0"), Strip: every(t, "30 3 * * *"), Zone: time.UTC}
			d.Cleanup.Retention = 1
		})})
	}, tables()...)
}

func small() service.Marks { return service.Marks{Block: 3, Blocks: 4, Least: 5} }

// fill emits events until there are so many.
func (a *archive) fill(count int) {
	a.t.Helper()
	for len(a.ids) < count {
		i := len(a.ids)
		extra := ""
		if i%17 == 4 {
			extra = `,"rare":{"deep":["x",` + fmt.Sprint(i) + `]}`
		}
		if i%23 != 5 {
			extra += `,"usual":{"at":` + fmt.Sprint(i) + `}`
		}
		if i%29 != 10 {
			extra += `,"often":[{"at":[true]}]`
		}
		if i%13 == 6 {
			extra += `,"say":"Die Straße nach Überall` + fmt.Sprint(i) + `, word-by-word"`
		}
		answer := a.ann.emit(fmt.Sprintf(`{"type":"order.kind%d","payload":{"order":"o-%d","state":"s%d","n":%d.0%s}}`, i%4, i, i%3, i%7, extra)).want(http.StatusOK)
		a.ids = append(a.ids, answer.text("0.id"))
	}
}

// mark does the job that makes marks.
func (a *archive) mark(ctx context.Context) error {
	for _, job := range a.whole.Jobs() {
		if job.Name == "events: marks" {
			return job.Do(ctx, time.Time{})
		}
	}
	a.t.Fatal("there is no such job")
	return nil
}

func (a *archive) marked() {
	a.t.Helper()
	if err := a.mark(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
}

// question is a filter, and which events it finds.
type question struct {
	parameters string
	matches    func(i int) bool
}

func questions() []question {
	rare := func(i int) bool { return i%17 == 4 }
	said := func(i int) bool { return i%13 == 6 }
	unusual := func(i int) bool { return i%23 == 5 }
	return []question{
		{"payload.order=o-7", func(i int) bool { return i == 7 }},
		{"payload.order=o-7&payload.order=o-40&payload.order=o-41", func(i int) bool { return i == 7 || i == 40 || i == 41 }},
		{"payload.order=o-none", func(int) bool { return false }},
		{"payload.state=s1", func(i int) bool { return i%3 == 1 }},
		{"payload.n=5", func(i int) bool { return i%7 == 5 }},
		{"payload.state=s1&payload.n=5", func(i int) bool { return i%3 == 1 && i%7 == 5 }},
		{"payload.rare.deep=x", rare},
		{"payload.rare.deep=*", rare},
		{"payload.rare.deep=21&types=order.kind1", func(i int) bool { return i == 21 }},
		{"payload.rare.deep=x&types=order.kind1,order.kind2", func(i int) bool { return rare(i) && (i%4 == 1 || i%4 == 2) }},
		{"payload.rare.deep[0]=&payload.rare.deep[1]=21", func(i int) bool { return !rare(i) || i == 21 }},
		{"text=payload.order:o-12", func(i int) bool { return i == 12 }},
		{"text=STRASSE", func(int) bool { return false }},
		{"text=stra%C3%9Fe", said},
		{"text=%C3%BCberall19", func(i int) bool { return i == 19 }},
		{"text=%C3%BCber*+kind1", func(i int) bool { return said(i) && i%4 == 1 }},
		{"text=%22word+by%22+-kind1", func(i int) bool { return said(i) && i%4 != 1 }},
		{"text=%22by+by%22", func(int) bool { return false }},
		{"text=s2+straSSe", func(int) bool { return false }},
		{"text=wo*", said},
		{"text=ann", func(int) bool { return true }},
		{"text=kind3", func(i int) bool { return i%4 == 3 }},
		{"payload.usual[0]=", unusual},
		{"payload.usual.at[0]=", unusual},
		{"payload.often.at[0]=", func(i int) bool { return i%29 == 10 }},
		{"payload.usual.at[0]=&payload.usual.at[1]=11", func(i int) bool { return unusual(i) || i == 11 }},
		{"payload.usual[0]=&types=order.kind1", func(i int) bool { return unusual(i) && i%4 == 1 }},
		{"payload.order[0]=", func(int) bool { return false }},
		{"source.userId[0]=", func(int) bool { return false }},
		{"payload.rare[0]=&payload.usual[0]=", func(i int) bool { return unusual(i) && !rare(i) }},
	}
}

// check asks everything, in both directions, page by page, also within bounds.
func (a *archive) check() {
	a.t.Helper()
	for _, q := range questions() {
		var want []string
		for i, id := range a.ids {
			if q.matches(i) && id != "" {
				want = append(want, id)
			}
		}
		a.wantIDs(q.parameters+"&sort=asc", want)
		slices.Reverse(want)
		a.wantIDs(q.parameters, want)
		if len(want) > 2 {
			a.wantIDs(q.parameters+"&beforeId="+want[0]+"&afterId="+want[len(want)-1], want[1:len(want)-1])
		}
	}
}

func (a *archive) wantIDs(parameters string, want []string) {
	a.t.Helper()
	var got []string
	for path := events + "?limit=4&" + parameters; path != ""; {
		list := a.ann.get(path).want(http.StatusOK)
		for i := range list.at("result.events").([]any) {
			got = append(got, list.text(fmt.Sprintf("result.events.%d.id", i)))
		}
		if path = ""; list.header.Get("Link") != "" {
			path = regexp.MustCompile(`<([^>]+)>; rel="next"`).FindStringSubmatch(list.header.Get("Link"))[1]
		}
	}
	if !slices.Equal(got, want) {
		a.t.Fatalf("%s: %v, want %v", parameters, got, want)
	}
}

func (a *archive) rows(table string) (n int) {
	a.t.Helper()
	if err := a.db.QueryRow(a.t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&n); err != nil {
		a.t.Fatal(err)
	}
	return n
}

// Whatever has marks and whatever has none yet, the answers are the same.
func TestRareValuesAreFound(t *testing.T) {
	t.Parallel()
	eachArchive(t, small(), func(t *testing.T, a *archive) {
		for _, count := range []int{4, 5, 11, 12, 13, 40, 44} {
			a.fill(count)
			a.check()
			a.marked()
			a.check()
		}
		if a.rows("events_mark_groups") < 3 {
			t.Errorf("%d groups of 12 events were made of 44", a.rows("events_mark_groups"))
		}
	})
}

// Where marks tell that there is nothing, nobody looks: that is what makes it quick.
func TestMarksAreLookedAt(t *testing.T) {
	t.Parallel()
	eachArchive(t, small(), func(t *testing.T, a *archive) {
		a.fill(40)
		a.marked()
		a.wantIDs("payload.order=o-7", []string{a.ids[7]})
		a.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM events_marks`)
			return err
		})
		a.wantIDs("payload.order=o-7", nil)
		a.wantIDs("payload.order=o-39", []string{a.ids[39]}) // it has no marks yet
		total := a.ann.get(events + "?payload.order=o-39").header.Get("X-Total-Count")
		if total != "1" {
			t.Errorf("the total is %q", total)
		}
	})
}

// Marks are made while events come and others search; who is interrupted goes on where it was.
func TestMarksAreMadeMeanwhile(t *testing.T) {
	t.Parallel()
	eachArchive(t, small(), func(t *testing.T, a *archive) {
		ctx, stop := context.WithCancel(t.Context())
		var makers sync.WaitGroup
		makers.Go(func() {
			for ctx.Err() == nil {
				if err := a.mark(ctx); err != nil && ctx.Err() == nil {
					t.Error(err)
				}
			}
		})
		for count := 10; count <= 60; count += 10 {
			short, end := context.WithCancel(ctx)
			makers.Go(func() { _ = a.mark(short) })
			a.fill(count)
			end()
			a.check()
		}
		stop()
		makers.Wait()
		a.marked()
		a.check()
	})
}

// What is removed from the log, or from an event, leaves no marks.
func TestMarksGoWithTheirEvents(t *testing.T) {
	t.Parallel()
	eachArchive(t, small(), func(t *testing.T, a *archive) {
		a.fill(20)
		first := a.clock.Now()
		a.clock.Advance(25 * time.Hour)
		a.fill(40)
		a.marked()
		before := a.rows("events_marks")
		a.as(access.Principal{Kind: access.Internal}).do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		for i, id := range a.ids {
			if position, err := bus.ParseID(id); err != nil || !position.Time().After(first) {
				a.ids[i] = ""
			}
		}
		a.check()
		a.marked()
		a.check()
		if after := a.rows("events_marks"); after >= before || after == 0 {
			t.Errorf("%d rows of marks before half of the events went, %d after", before, after)
		}
		a.clock.Advance(25 * time.Hour)
		a.as(access.Principal{Kind: access.Internal}).do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		a.marked()
		if groups, marks := a.rows("events_mark_groups"), a.rows("events_marks"); groups != 0 || marks != 0 {
			t.Errorf("%d groups and %d rows of marks are left of no events", groups, marks)
		}
	})
}

// An event that nobody searches for is in no mark, and its end changes none.
func TestTransientEventsHaveNoMarks(t *testing.T) {
	t.Parallel()
	eachArchive(t, small(), func(t *testing.T, a *archive) {
		for range 30 {
			a.ann.emit(`{"type":"order.whisper","payload":{"order":"hush"},"options":{"persist":false}}`).want(http.StatusOK)
		}
		a.marked()
		if n := a.rows("events_mark_groups"); n != 0 {
			t.Errorf("%d groups of transient events", n)
		}
		a.fill(12)
		a.marked()
		a.clock.Advance(2 * time.Hour)
		for _, job := range a.whole.Jobs() {
			if strings.Contains(job.Name, "transient") {
				if err := job.Do(t.Context(), a.clock.Now()); err != nil {
					t.Fatal(err)
				}
			}
		}
		var thinned int
		if err := a.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM events_mark_groups WHERE thinned > 0`).Scan(&thinned); err != nil || thinned > 0 {
			t.Errorf("%d groups are to be made anew: %v", thinned, err)
		}
		a.check()
	})
}
