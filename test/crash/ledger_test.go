package crash_test

import (
	"fmt"
	"sync"
)

// ledger is what the clients know: every intent, written down before it is sent, and every answer.
type ledger struct {
	mu         sync.Mutex
	clock      int64 // counts intents and answers: of two it tells which came first
	workspaces []*workspaceEntry
	emissions  []*emission
	repeated   int
}

// sending is what is known of one request.
type sending struct {
	round int
	key   string // its Idempotency-Key, or none
	sent  int64
	acked int64 // zero while nobody knows what became of it
}

// workspaceEntry is a workspace that was to be created.
type workspaceEntry struct {
	sending
	slug string
	id   string // when it was answered
}

func (w *workspaceEntry) String() string { return "workspace " + w.slug }

// emission is a request that emits events to a workspace, numbered in their payload.
type emission struct {
	sending
	workspace *workspaceEntry
	numbers   []int64
	ids       []string // when it was answered
}

func (e *emission) String() string {
	return fmt.Sprintf("events %v of %s", e.numbers, e.workspace.slug)
}

// everyRound asks for the entries of all rounds.
const everyRound = -1

func (s *sending) in(round int) bool { return round == everyRound || s.round == round }

// tick is the next moment.
func (l *ledger) tick() int64 {
	l.clock++
	return l.clock
}

func (l *ledger) intendWorkspace(round int, slug, key string) *workspaceEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := &workspaceEntry{sending: sending{round: round, key: key, sent: l.tick()}, slug: slug}
	l.workspaces = append(l.workspaces, w)
	return w
}

func (l *ledger) intendEmission(round int, to *workspaceEntry, count int, key string) *emission {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &emission{sending: sending{round: round, key: key}, workspace: to}
	for range count {
		e.numbers = append(e.numbers, l.tick())
	}
	e.sent = l.tick()
	l.emissions = append(l.emissions, e)
	return e
}

// ack notes that a request was answered.
func (l *ledger) ack(r request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r.entry().acked = l.tick()
}

// created lists the answered workspaces of a round.
func (l *ledger) created(round int) (list []*workspaceEntry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.workspaces {
		if w.acked != 0 && w.in(round) {
			list = append(list, w)
		}
	}
	return list
}

// unknown lists the requests that got no answer.
func (l *ledger) unknown() (list []request) {
	for _, w := range l.workspaces {
		if w.acked == 0 {
			list = append(list, w)
		}
	}
	for _, e := range l.emissions {
		if e.acked == 0 {
			list = append(list, e)
		}
	}
	return list
}

// figures tells how much was answered, and how much was not.
func (l *ledger) figures() string {
	events := 0
	for _, e := range l.emissions {
		if e.acked != 0 {
			events += len(e.numbers)
		}
	}
	return fmt.Sprintf("%d workspaces and %d events acknowledged, %d requests repeated by their key, %d left without an answer",
		len(l.created(everyRound)), events, l.repeated, len(l.unknown()))
}
