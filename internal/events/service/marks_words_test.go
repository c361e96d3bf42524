package service_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/bus"
	"atelier/internal/events/service"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// A word is looked for where its marks tell, and the lack of something where not all events are known to have it.
func TestWordsAndAbsencesAreLookedUp(t *testing.T) {
	t.Parallel()
	eachArchive(t, small(), func(t *testing.T, a *archive) {
		a.fill(41)
		a.marked()
		a.check()
		without := []string{a.ids[28], a.ids[5]}
		a.wantIDs("payload.usual[0]=", without)
		// Behind the back of the marks, so that nobody finds it but who looks at every event.
		position, err := bus.ParseID(a.ids[20])
		if err != nil {
			t.Fatal(err)
		}
		a.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE bus_events SET body = $1 WHERE pos = $2`, `{"payload":{"say":"zebra"},"source":{}}`, int64(position))
			return err
		})
		a.wantIDs("payload.say=*&payload.usual[0]=", nil)
		a.wantIDs("payload.usual[0]=", without)
		a.wantIDs("text=zebra", nil)
		a.wantIDs("text=zebr*", nil)
		a.wantIDs("text=ze*", []string{a.ids[20]}) // too short for a mark
		a.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE events_mark_groups SET thinned = thinned + 1`)
			return err
		})
		for range 2 { // as soon as it is known that something changed, and when that was dealt with
			a.wantIDs("payload.usual[0]=", []string{a.ids[28], a.ids[20], a.ids[5]})
			a.wantIDs("text=zebra", []string{a.ids[20]})
			a.marked()
		}
	})
}

// An event with more words than have marks is found by all of them.
func TestEventsOfVeryManyWords(t *testing.T) {
	t.Parallel()
	eachArchive(t, small(), func(t *testing.T, a *archive) {
		a.fill(7)
		var text strings.Builder
		for i := range 5000 {
			fmt.Fprintf(&text, "word%d ", i)
		}
		long := a.ann.emit(`{"type":"order.novel","payload":{"text":"` + text.String() + `needle"}}`).want(http.StatusOK).text("0.id")
		a.fill(40)
		a.marked()
		for _, asked := range []string{"needle", "needle*", "word7", "%22word4999+needle%22"} {
			a.wantIDs("text="+asked, []string{long})
		}
		a.wantIDs("text=needles", nil)
	})
}

// A group ends early when its events have many marks, and one that cannot end goes on without those of words.
func TestGroupsOfManyMarks(t *testing.T) {
	t.Parallel()
	eachArchive(t, service.Marks{Block: 3, Blocks: 16, Least: 5, Most: 300}, func(t *testing.T, a *archive) {
		for _, count := range []int{20, 40, 60} {
			a.fill(count)
			a.marked()
			a.check()
		}
		if groups := a.rows("events_mark_groups"); groups < 4 || groups > 20 {
			t.Errorf("%d groups of up to 48 events, which have hundreds of marks", groups)
		}
		if wordless := a.rows("events_marks WHERE bucket = 512"); wordless > 0 {
			t.Errorf("%d groups have no marks of words", wordless)
		}
		other := newHouse(t, a.db, func(d *service.Deps) { d.Marks = service.Marks{Block: 3, Blocks: 16, Least: 5, Most: 20} })
		a.whole = other.whole
		a.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE events_mark_groups SET thinned = thinned + 1`)
			return err
		})
		a.marked()
		a.check()
		if wordless := a.rows("events_marks WHERE bucket = 512"); wordless == 0 {
			t.Error("all groups have marks of words, however many that are")
		}
	})
}

// What was made by those who knew nothing of words is not trusted with them, and made anew.
func TestGroupsWithoutWordsAreMadeAnew(t *testing.T) {
	t.Parallel()
	eachArchive(t, small(), func(t *testing.T, a *archive) {
		a.fill(40)
		a.marked()
		a.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			// what such a one writes: its marks are there but for those of words, and it counts up
			if _, err := tx.Exec(ctx, `DELETE FROM events_marks WHERE bucket >= 512 OR bucket < 256`); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, `UPDATE events_mark_groups SET built = built + 1`)
			return err
		})
		said := []string{a.ids[32], a.ids[19], a.ids[6]}
		a.wantIDs("text=stra%C3%9Fe", said)
		a.wantIDs("payload.usual[0]=", []string{a.ids[28], a.ids[5]})
		a.fill(50)
		a.marked()
		a.check()
		var old int
		if err := a.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM events_mark_groups WHERE whole <> built`).Scan(&old); err != nil || old > 0 {
			t.Errorf("%d groups were not made anew: %v", old, err)
		}
	})
}

// An event that loses a field while its first marks are made is not hidden by them. A trigger is who changes it, after it was read
// and before the marks are stored.
func TestEventsThatChangeWhileMarksAreMade(t *testing.T) {
	t.Parallel()
	a := &archive{house: newHouse(t, sqldbtest.SQLite(t, tables()...), func(d *service.Deps) { d.Marks = small() })}
	a.fill(30)
	position, err := bus.ParseID(a.ids[2])
	if err != nil {
		t.Fatal(err)
	}
	const changed = `{"payload":{"say":"zebra"},"source":{}}`
	a.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		for _, text := range []string{
			fmt.Sprintf(`INSERT INTO events_mark_changes (partition, count) VALUES (%d, 7)`, position.Partition()),
			fmt.Sprintf(`CREATE TRIGGER meanwhile BEFORE INSERT ON events_mark_changes
				WHEN EXISTS (SELECT 1 FROM bus_events WHERE pos = %d AND body <> '%s') BEGIN
				UPDATE bus_events SET body = '%s' WHERE pos = %d;
				UPDATE events_mark_changes SET count = count + 1; END`, position, changed, changed, position),
		} {
			if _, err := tx.Exec(ctx, text); err != nil {
				return err
			}
		}
		return nil
	})
	a.marked()
	a.wantIDs("payload.usual[0]=", []string{a.ids[28], a.ids[5], a.ids[2]})
	a.wantIDs("text=zebra", []string{a.ids[2]})
}
