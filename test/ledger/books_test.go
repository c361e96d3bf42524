package ledger_test

import (
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

// books is what the clients know: every intent, written down before it is sent, every answer, and what is stored in the end.
type books struct {
	rooms                              []*room
	acknowledged, repeated, unanswered atomic.Int64

	mu    sync.Mutex
	clock int64 // counts intents and answers: of two it tells which came first
	sent  map[entry]*sending

	pages          [][]event // what is stored, oldest first, by room
	stored, hooked int
}

func (b *books) intend(room, writer, first, size int) *sending {
	s := &sending{room: room, writer: writer, first: first, size: size, key: keyOf(writer, first)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sent == nil {
		b.sent = map[entry]*sending{}
	}
	b.clock++
	s.sent = b.clock
	for i := range size {
		b.sent[entry{writer, first + i}] = s
	}
	return s
}

func (b *books) answered(s *sending, events []event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.clock++
	s.acked = b.clock
	for _, e := range events {
		s.ids = append(s.ids, e.ID)
	}
	b.acknowledged.Add(int64(s.size))
}

// read reads what is stored, page by page.
func (b *books) read(t *testing.T, h *house) {
	t.Helper()
	for _, r := range b.rooms {
		var all []event
		for before := ""; ; {
			path := "/v2/workspaces/" + r.id + "/events?limit=500&types=" + entryType + "," + hookType
			if before != "" {
				path += "&beforeId=" + before
			}
			var answer struct{ Result struct{ Events []event } }
			h.must(http.MethodGet, path, nil, &answer)
			page := answer.Result.Events
			if len(page) == 0 {
				break
			}
			all, before = append(all, page...), page[len(page)-1].ID
		}
		slices.Reverse(all)
		b.pages = append(b.pages, all)
		b.stored += len(all)
	}
}

// check holds what is stored against what was sent and answered.
func (b *books) check(t *testing.T) {
	t.Helper()
	found := map[entry]string{}
	for room, page := range b.pages {
		latest := int64(0) // the moment at which the latest of the events so far was sent
		for _, e := range page {
			s := b.sent[e.Payload]
			switch {
			case s == nil || s.room != room || e.Payload.eventType() != e.Type:
				t.Fatalf("nobody sent %+v to room %d", e, room)
			case found[e.Payload] != "":
				t.Errorf("%+v is stored twice: %s and %s", e.Payload, found[e.Payload], e.ID)
			case s.acked != 0 && s.acked < latest:
				t.Errorf("%+v stands behind an event that was sent after it was acknowledged", e)
			}
			found[e.Payload], latest = e.ID, max(latest, s.sent)
			if e.Type == hookType {
				b.hooked++
			}
		}
	}
	for e, s := range b.sent {
		id := found[e]
		if s.acked != 0 && id == "" {
			t.Errorf("%+v was acknowledged and is lost", e)
		}
		if i := e.Number - s.first; i < len(s.ids) && s.ids[i] != id {
			t.Errorf("%+v was acknowledged as %s and is stored as %s", e, s.ids[i], id)
		}
		if first := found[entry{s.writer, s.first}]; (first == "") != (id == "") {
			t.Errorf("a part of the request with %+v is stored", e)
		}
		if t.Failed() {
			return
		}
	}
}
