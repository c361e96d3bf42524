// Package runs_test lets events start automations while the server is killed again and again. In the end every event has had each of
// its effects exactly once.
package runs_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/test/internal/house"
)

const (
	writers = 8
	batch   = 50
	every   = 100 // how many events one stands for that notes itself
)

// TestKilledAtRandom emits RUNS_EVENTS events while the server is killed RUNS_KILLS times. Each starts two automations: one emits an event
// and writes a record, the other adds to a record that all of them change, and some note themselves in the global context.
func TestKilledAtRandom(t *testing.T) {
	t.Parallel()
	events, kills, seed := number(t, "RUNS_EVENTS", 2_000), number(t, "RUNS_KILLS", 3), number(t, "RUNS_SEED", int(rand.Int32()))
	t.Logf("seed %d", seed)
	moments := rand.New(rand.NewPCG(uint64(seed), 0))
	h := house.New(t, time.Hour, "AUTOMATION_QUEUE=1000000")
	h.Start()
	h.SignIn()
	workspace := prepare(h)
	began := time.Now()
	load := &load{h: h, path: "/v2/workspaces/" + workspace + "/events", total: events}
	load.start()
	for kill := range kills {
		at := events * (2*kill + 1 + moments.IntN(2)) / (2 * kills)
		for load.sent.Load() < int64(min(at, events-1)) && h.Pause(time.Millisecond) {
		}
		h.Kill()
		h.Start()
	}
	load.wait.Wait()
	for kill := 0; kill < 2 && !t.Failed(); kill++ { // also while only what is left is being done
		h.Pause(time.Duration(50+moments.IntN(300)) * time.Millisecond)
		h.Kill()
		h.Start()
	}
	check(t, h, workspace)
	t.Logf("%d events over %d kills in %v, %d requests without an answer", events, kills+2, time.Since(began).Round(time.Second), load.cut.Load())
}

func prepare(h *house.House) string {
	var workspace struct{ ID string }
	h.Must(http.MethodPost, "/v2/workspaces", map[string]any{"name": "Runs"}, &workspace)
	path := "/v2/workspaces/" + workspace.ID
	module := func(function string, parameters map[string]any) map[string]any {
		return map[string]any{"run": map[string]any{"module": "collections", "function": function, "parameters": parameters}}
	}
	for _, a := range []map[string]any{
		{"slug": "schema", "when": map[string]any{"endpoint": true}, "do": []any{
			module("updateSchema", map[string]any{"collection": "done", "properties": map[string]any{"event": map[string]any{"type": "string"}}}),
			module("updateSchema", map[string]any{"collection": "total", "properties": map[string]any{"n": map[string]any{"type": "integer"}}}),
			module("create", map[string]any{"collection": "total", "data": map[string]any{"n": 0}}),
		}},
		{"slug": "effects", "when": map[string]any{"events": []string{"tick"}}, "do": []any{
			map[string]any{"emit": map[string]any{"event": "effect", "payload": map[string]any{"of": "{{id}}"}}},
			module("create", map[string]any{"collection": "done", "data": map[string]any{"event": "{{id}}"}}),
		}},
		{"slug": "counts", "when": map[string]any{"events": []string{"tick"}}, "do": []any{
			module("updateOne", map[string]any{"collection": "total", "query": map[string]any{"n": map[string]any{"$gte": 0}}, "data": map[string]any{"$inc": map[string]any{"n": 1}}}),
			map[string]any{"conditions": map[string]any{"{{payload.noted}}": []any{map[string]any{"set": map[string]any{"name": "global.noted[]", "value": "{{payload.n}}"}}}}},
		}},
		{"slug": "figures", "when": map[string]any{"endpoint": true}, "do": []any{
			map[string]any{"run": map[string]any{"module": "collections", "function": "count", "parameters": map[string]any{"collection": "done", "query": map[string]any{}}, "output": "records"}},
			map[string]any{"run": map[string]any{"module": "collections", "function": "findOne", "parameters": map[string]any{"collection": "total", "query": map[string]any{}}, "output": "total"}},
		}, "output": map[string]any{"records": "{{records}}", "count": "{{total.n}}", "noted": "{{global.noted}}"}},
		{"slug": "page", "when": map[string]any{"endpoint": true}, "do": []any{
			map[string]any{"run": map[string]any{
				"module": "collections", "function": "find", "output": "records",
				"parameters": map[string]any{"collection": "done", "query": map[string]any{}, "options": map[string]any{"limit": 5000, "page": "{{body.page}}", "fields": []string{"event"}}},
			}},
		}, "output": "{{records}}"},
	} {
		a["name"] = a["slug"]
		h.Must(http.MethodPost, path+"/automations", a, nil)
	}
	h.Must(http.MethodPost, path+"/webhooks/schema", map[string]any{}, nil)
	return workspace.ID
}

// load emits events from several writers. A request without an answer is sent again with its key.
type load struct {
	h     *house.House
	path  string
	total int
	next  atomic.Int64
	sent  atomic.Int64
	cut   atomic.Int64
	wait  sync.WaitGroup
}

func (l *load) start() {
	for range writers {
		l.wait.Go(func() {
			for {
				from := int(l.next.Add(batch)) - batch
				if from >= l.total {
					return
				}
				l.send(from, min(batch, l.total-from))
			}
		})
	}
}

func (l *load) send(from, n int) {
	events := make([]any, n)
	for i := range events {
		events[i] = map[string]any{"type": "tick", "payload": map[string]any{"n": from + i, "noted": (from+i)%every == 0}}
	}
	for {
		status, _, err := l.h.Call(http.MethodPost, l.path, "tick-"+strconv.Itoa(from), map[string]any{"events": events})
		if err == nil && (status < http.StatusMultipleChoices || status == http.StatusConflict) { // conflict: it was stored, its answer was not
			l.sent.Add(int64(n))
			return
		}
		l.cut.Add(1)
		if !l.h.Pause(20 * time.Millisecond) {
			return
		}
	}
}

// check waits until all is done and compares.
func check(t *testing.T, h *house.House, workspace string) {
	t.Helper()
	ticks := read(h, workspace, "tick")
	var figures struct {
		Records, Count int
		Noted          []int
	}
	const patience = 150 // rounds in which nothing happens any more
	for seen, still := 0, 0; still < patience; still++ {
		h.Must(http.MethodPost, "/v2/workspaces/"+workspace+"/webhooks/figures", map[string]any{}, &figures)
		if figures.Records >= len(ticks) && figures.Count >= len(ticks) && len(figures.Noted) >= (len(ticks)+every-1)/every {
			break
		}
		if now := figures.Records + figures.Count; now > seen {
			seen, still = now, 0
		}
		if !h.Pause(200 * time.Millisecond) {
			t.Fatal("it took too long")
		}
	}
	if figures.Records != len(ticks) || figures.Count != len(ticks) || len(figures.Noted) != (len(ticks)+every-1)/every {
		t.Errorf("%d events gave %d records, counted %d, and %d notes", len(ticks), figures.Records, figures.Count, len(figures.Noted))
	}
	once(t, "record", ticks, records(h, workspace))
	once(t, "effect", ticks, read(h, workspace, "effect"))
	slices.Sort(figures.Noted)
	for i, n := range figures.Noted {
		if n != i*every {
			t.Errorf("the notes are not each there once: %v", figures.Noted)
			break
		}
	}
}

// once tells of events that had something not exactly once.
func once(t *testing.T, what string, ticks, had map[string]int) {
	t.Helper()
	const shown = 20
	wrong := 0
	for id := range ticks {
		if had[id] != 1 {
			if wrong++; wrong <= shown {
				t.Errorf("%s had its %s %d times", id, what, had[id])
			}
		}
		delete(had, id)
	}
	if wrong > shown {
		t.Errorf("%d events had their %s not exactly once", wrong, what)
	}
	if len(had) > 0 {
		t.Errorf("%d times a %s without an event", len(had), what)
	}
}

// records gives how many records there are for each event.
func records(h *house.House, workspace string) map[string]int {
	found := map[string]int{}
	for page := 1; ; page++ {
		var some []struct{ Event string }
		h.Must(http.MethodPost, "/v2/workspaces/"+workspace+"/webhooks/page", map[string]any{"page": page}, &some)
		for _, record := range some {
			found[record.Event]++
		}
		if len(some) == 0 {
			return found
		}
	}
}

// read gives the stored events of a type: how often there is one for each id, which is what an effect says it is of.
func read(h *house.House, workspace, eventType string) map[string]int {
	found := map[string]int{}
	path := fmt.Sprintf("/v2/workspaces/%s/events?types=%s&limit=500", workspace, eventType)
	for before := ""; ; {
		var answer struct {
			Result struct {
				Events []struct {
					ID      string
					Payload struct{ Of string }
				}
			}
		}
		h.Must(http.MethodGet, path+before, nil, &answer)
		page := answer.Result.Events
		for _, event := range page {
			if event.Payload.Of != "" {
				found[event.Payload.Of]++
			} else {
				found[event.ID]++
			}
		}
		if len(page) == 0 {
			return found
		}
		before = "&beforeId=" + page[len(page)-1].ID
	}
}

func number(t *testing.T, variable string, preset int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return preset
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		t.Fatalf("%s must be a number from 0", variable)
	}
	return n
}
