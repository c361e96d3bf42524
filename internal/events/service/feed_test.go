package service_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Who listens gets what happens from then on, with the id to come back with, and what it asked for only.
func TestListening(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.ann.emit(`{"type":"before","payload":{}}`).want(http.StatusOK)
		all, some := h.ann.listen("", ""), h.ann.listen("&types=order.paid&payload.amount=12.5", "")
		words, elsewhere := h.ann.listen("&text=needle", ""), h.root.serve()
		h.ann.emit(sent, paid, `{"type":"order.paid","payload":{"amount":13,"text":"<a needle>"}}`).want(http.StatusOK)
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			return access.Grant(access.With(ctx, h.root.who), tx, "Other00", access.Owner)
		})
		h.root.do(http.MethodPost, "/v2/workspaces/Other00/events", `{"events":[`+paid+`]}`).want(http.StatusOK)
		h.ann.emit(`{"type":"passing","payload":{},"options":{"persist":false}}`, `{"type":"last","payload":{}}`).want(http.StatusOK)
		if got := all.types(5); got != "order.sent order.paid order.paid passing last" {
			t.Errorf("everything: %s", got)
		}
		list := h.ann.get(events + "?sort=asc").want(http.StatusOK)
		if got := h.ann.types(); got != "before order.sent order.paid order.paid last" {
			t.Errorf("a passing event was stored: %s", got)
		}
		m := some.next()
		if want := list.text("result.events.2.id"); m.id != want || m.event != "" || m.text("id") != want || m.text("payload.amount") != "12.5" || m.text("source.userId") != "ann" {
			t.Errorf("filtered: %+v", m)
		}
		if m := words.next(); m.text("payload.text") != "<a needle>" || strings.Contains(m.data, `\u003c`) {
			t.Errorf("by words: %+v", m)
		}
		resumed := h.ann.listenAt(elsewhere.URL, "&afterId="+list.text("result.events.1.id"), "")
		if got := resumed.types(3); got != "order.paid order.paid last" {
			t.Errorf("after an event: %s", got)
		}
	})
}

// A stream that is silent tells that it is alive, and how far it has come.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		all, none := h.ann.listen("", ""), h.ann.listen("&types=never", "")
		stored := h.ann.emit(paid).want(http.StatusOK)
		all.next()
		h.pass(15 * time.Second)
		if m, err := none.read(); err != nil || m.comment == "" || m.data != "" || m.id != stored.text("0.id") {
			t.Errorf("%+v %v", m, err)
		}
	})
}

// Whoever comes back gets everything it has not got, once, in order, whatever else happens meanwhile.
func TestComingBack(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		const writers, each, total, old = 3, 40, 3 * 40, 450 // more than two pages
		h.flood(old-1, 10)
		s := h.ann.listen("&types=order.paid", "")
		done := make(chan struct{}, writers)
		for range writers {
			go func() {
				defer func() { done <- struct{}{} }()
				for range each {
					h.ann.emit(sent, paid)
				}
			}()
		}
		address, got, seen := h.ann.serve().URL, []string{}, map[string]bool{}
		for len(got) < total {
			m := s.next()
			if seen[m.id] {
				t.Fatalf("%s came twice", m.id)
			}
			seen[m.id] = true
			got = append(got, m.id)
			if len(got)%17 == 0 {
				s.leave()
				s = h.ann.listenAt(address, "&types=order.paid", s.last)
			}
		}
		for range writers {
			<-done
		}
		list := h.ann.get(events + "?sort=asc&limit=500&types=order.paid").want(http.StatusOK)
		for i, id := range got {
			if want := list.text(fmt.Sprintf("result.events.%d.id", i)); id != want {
				t.Fatalf("event %d is %s, want %s", i, id, want)
			}
		}
		s.leave()
		whole := h.ann.listenAt(address, "", "0-0")
		for range old {
			if m := whole.next(); m.text("type") == "order.paid" {
				t.Fatalf("too early: %+v", m)
			}
		}
		for i := 0; i < total; {
			m := whole.next()
			if m.text("type") != "order.paid" {
				continue
			}
			if m.id != got[i] {
				t.Fatalf("event %d is %s, want %s", i, m.id, got[i])
			}
			i++
		}
	})
}

// What may not be read is not told, and what may not be read any more is not told five seconds later.
func TestListeningByRules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.secure(`
authorizations:
  rules:
    - {action: create, subject: events}
    - {action: read, subject: events, conditions: {target.userId: '${user.id}'}}
    - {action: read, subject: events, inverted: true, conditions: {type: runtime.contexts.updated}}
`)
		carl, owner := h.user("carl"), h.ann.listen("", "")
		s := carl.listen("", "")
		h.native("runtime.contexts.updated")
		h.ann.emit(paid, `{"type":"for.carl","payload":{},"target":{"userId":"carl"}}`, `{"type":"for.eve","payload":{},"target":{"userId":"eve"}}`).want(http.StatusOK)
		if got := s.types(1); got != "for.carl" {
			t.Errorf("carl gets %s", got)
		}
		if got := owner.types(3); got != "order.paid for.carl for.eve" {
			t.Errorf("the owner gets %s", got)
		}
		h.secure(`{}`)
		h.pass(5 * time.Second)
		if m := s.ended(); m.event != "end" || m.text("error") != string(errs.WorkspaceAccessDenied) {
			t.Errorf("the end: %+v", m)
		}
	})
}

// A share that is taken back, and a workspace that is deleted, end the streams within five seconds.
func TestListeningEnds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		key := h.key("read", "events")
		ann, bob, root, byKey := h.ann.listen("", ""), h.bob.listen("", ""), h.root.listen("", ""), key.listen("", "")
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `DELETE FROM access_grants WHERE target = 'user:bob'`)
			return err
		})
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE access_api_keys SET disabled = 1 WHERE id = $1`, key.who.KeyID)
			return err
		})
		h.pass(5 * time.Second)
		if m := bob.ended(); m.event != "end" {
			t.Errorf("without a share: %+v", m)
		}
		if m := byKey.ended(); m.event != "end" || m.text("error") != string(errs.InvalidCredentials) {
			t.Errorf("with a disabled key: %+v", m)
		}
		h.ann.emit(paid).want(http.StatusOK)
		if ann.next().text("type") != "order.paid" || root.next().text("type") != "order.paid" {
			t.Error("others do not get on")
		}
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error { return access.Park(ctx, tx, home) })
		h.pass(5 * time.Second)
		if ann.ended().text("error") != string(errs.WorkspaceAccessDenied) || root.ended().text("error") != string(errs.NotFound) {
			t.Error("the workspace is gone")
		}
	})
}

// Who does not read gets what has waited for it, is told where that ends, and gets the rest when it comes back.
func TestSlowReaders(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		slow, quick := h.ann.listen("", ""), h.ann.listen("&types=end", "")
		const count = 500 // more than what is on its way, and what may wait
		h.flood(count, 20_000)
		quick.next() // all of it was handed out
		got, last := 0, ""
		m := slow.next()
		for ; m.event == ""; m = slow.next() {
			got, last = got+1, m.id
		}
		if m.event != "gap" || m.text("after") != last || got >= count {
			t.Fatalf("after %d events: %+v", got, m)
		}
		if _, err := slow.read(); !errors.Is(err, io.EOF) {
			t.Errorf("after the gap: %v", err)
		}
		back := h.ann.listen("", slow.last)
		for m = back.next(); m.text("type") != "end"; m = back.next() {
			got++
		}
		if got != count {
			t.Errorf("%d events in all, want %d", got, count)
		}
	})
}

// Listening is refused with the words of the list.
func TestListeningIsRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.eve.get(events+"?sse=true").wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.nobody.get(events+"?sse=true").wantError(http.StatusUnauthorized, errs.MissingToken)
		h.root.get("/v2/workspaces/NoSuch0/events?sse=true").wantError(http.StatusNotFound, errs.NotFound)
		for _, query := range []string{
			"&lastEventId=x", "&lastEventId=-1-0", "&lastEventId=4000000000000-0", "&afterId=" + strings.Repeat("1", 100), "&nonsense=1", "&appInstanceDepth=-1",
		} {
			if got := h.ann.get(events + "?sse=true" + query); got.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", query, got.status, got.body)
			}
		}
		h.ann.who.Scopes = []string{string(access.EventsWrite)}
		h.ann.get(events+"?sse=true").wantError(http.StatusForbidden, errs.InsufficientScope)
	})
}

// A server that stops ends its streams, and takes no more.
func TestFeedsStop(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		s := h.ann.listen("", "")
		if err := h.whole.StopFeeds(t.Context()); err != nil {
			t.Fatal(err)
		}
		if m := s.ended(); m.text("error") != string(errs.Unavailable) {
			t.Errorf("the end: %+v", m)
		}
		h.ann.get(events+"?sse=true").wantError(http.StatusServiceUnavailable, errs.Unavailable)
	})
}

// Instances that share a database see each other's events.
func TestListeningElsewhere(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		other := newHouse(t, h.db)
		here, there := h.ann.listen("", ""), other.ann.listen("", "")
		h.ann.emit(paid).want(http.StatusOK)
		other.ann.emit(sent).want(http.StatusOK)
		if a, b := here.types(2), there.types(2); a != "order.paid order.sent" || b != a {
			t.Errorf("here %s, there %s", a, b)
		}
	})
}
