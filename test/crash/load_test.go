package crash_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
)

// startLoad lets the writers write until the server is gone.
func startLoad(t *testing.T, h *house, l *ledger, round int) *sync.WaitGroup {
	t.Helper()
	var running sync.WaitGroup
	for writer := range writers {
		running.Go(func() {
			for n := 0; ; n++ {
				r := l.intend(round, fmt.Sprintf("r%d-w%d-n%d", round, writer, n))
				status, err := r.send(h)
				if err != nil {
					return // nobody knows what became of it
				}
				if status != http.StatusOK && status != http.StatusCreated {
					t.Errorf("%v: status %d", r, status)
					return
				}
				l.ack(r)
			}
		})
	}
	return &running
}

// busiest is how many workspaces of a round get events: few enough that several writers meet in each.
const busiest = 8

// intend chooses what to write next: a workspace, or events for one that exists; every other time with a key.
func (l *ledger) intend(round int, name string) request {
	key := ""
	if rand.IntN(2) == 0 {
		key = "key-" + name
	}
	targets := l.created(round)
	if len(targets) < busiest || rand.IntN(8) == 0 {
		return l.intendWorkspace(round, name, key)
	}
	return l.intendEmission(round, targets[rand.IntN(busiest)], 1+rand.IntN(3), key)
}

// request is an entry of the ledger that can be sent. What the answer names is kept with it.
type request interface {
	entry() *sending
	send(h *house) (status int, err error)
}

func (w *workspaceEntry) entry() *sending { return &w.sending }

func (w *workspaceEntry) send(h *house) (int, error) {
	var answer struct{ ID string }
	status, err := h.call(context.Background(), http.MethodPost, "/v2/workspaces", w.key, map[string]string{"name": "Crash", "slug": w.slug}, &answer)
	w.id = answer.ID
	return status, err
}

// event is an event as it is sent, and as it is read again.
type event struct {
	ID      string  `json:"id,omitempty"`
	Type    string  `json:"type"`
	Payload payload `json:"payload"`
}

type payload struct {
	Number int64 `json:"number"`
}

const eventType = "ledger.entry"

func (e *emission) entry() *sending { return &e.sending }

func (e *emission) send(h *house) (int, error) {
	body := map[string][]event{}
	for _, number := range e.numbers {
		body["events"] = append(body["events"], event{Type: eventType, Payload: payload{Number: number}})
	}
	var answer []event
	status, err := h.call(context.Background(), http.MethodPost, "/v2/workspaces/"+e.workspace.id+"/events", e.key, body, &answer)
	e.ids = nil
	for _, stored := range answer {
		e.ids = append(e.ids, stored.ID)
	}
	return status, err
}

// repeatUnknown sends again what got no answer and has a key. It is answered as if nothing had happened, unless the work
// was done and only its answer is lost: then a conflict says so, and the work must be there.
func repeatUnknown(t *testing.T, h *house, l *ledger) {
	t.Helper()
	for _, r := range l.unknown() {
		if r.entry().key == "" {
			continue
		}
		status, err := r.send(h)
		if err != nil || status != http.StatusOK && status != http.StatusCreated && status != http.StatusConflict {
			t.Errorf("repeat %v: status %d, error %v", r, status, err)
			continue
		}
		l.repeated++
		l.ack(r)
	}
}
