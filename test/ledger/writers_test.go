package ledger_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

const (
	entryType = "ledger.entry"
	hookType  = "ledger.hook"
	// hookEvery is which share of the events is subscribed to.
	hookEvery = 50
)

// event is an event as it is sent, and as it is read again.
type event struct {
	ID      string `json:"id,omitempty"`
	Type    string `json:"type"`
	Payload entry  `json:"payload"`
}

// entry names an event: the count of its writer.
type entry struct {
	Writer int `json:"writer"`
	Number int `json:"number"`
}

// startWriters lets the writers emit until so many events are acknowledged.
func startWriters(h *house, b *books, events int) *sync.WaitGroup {
	var running sync.WaitGroup
	for w := range writers {
		running.Go(func() {
			for number := 0; b.acknowledged.Load() < int64(events) && !h.t.Failed(); {
				size := []int{1, 1, 10, 100}[rand.IntN(4)]
				s := b.intend(rand.IntN(rooms), w, number, size)
				number += size
				h.send(b, s)
			}
		})
	}
	return &running
}

// send emits until there is an answer. Without a key nobody can ask again: then the books say that it is not known.
func (h *house) send(b *books, s *sending) {
	path := "/v2/workspaces/" + b.rooms[s.room].id + "/events"
	for try := 0; !h.t.Failed(); try++ {
		var answer []event
		status, err := h.call(http.MethodPost, path, s.key, map[string]any{"events": s.events()}, &answer)
		switch {
		case err == nil && status == http.StatusOK:
			b.answered(s, answer)
			return
		case err == nil && status == http.StatusConflict && try > 0: // it is done; its answer was lost with the process
			b.answered(s, nil)
			return
		case err == nil && status != http.StatusServiceUnavailable:
			h.t.Errorf("%+v: status %d", s, status)
			return
		case s.key == "":
			b.unanswered.Add(1)
			return
		}
		b.repeated.Add(1)
		h.pause(20 * time.Millisecond)
	}
}

// sending is a request of a writer.
type sending struct {
	room, writer, first, size int
	key                       string
	// sent and acked are moments of the books; acked is zero while nobody knows what became of it.
	sent, acked int64
	// ids are those of the answer.
	ids []string
}

func (s *sending) events() []event {
	list := make([]event, s.size)
	for i := range list {
		e := entry{Writer: s.writer, Number: s.first + i}
		list[i] = event{Type: e.eventType(), Payload: e}
	}
	return list
}

func (e entry) eventType() string {
	if (e.Writer+e.Number)%hookEvery == 0 {
		return hookType
	}
	return entryType
}

// keyOf gives every other request a key.
func keyOf(writer, number int) string {
	if rand.IntN(2) == 0 {
		return ""
	}
	return fmt.Sprintf("w%d-n%d", writer, number)
}
