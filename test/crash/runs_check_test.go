package crash_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
)

// yearly is a schedule that is not due while the test runs.
const yearly = "30 4 29 2 *"

// doing is what an automation does.
type doing = map[string]any

func module(function string, parameters doing, output string) doing {
	run := doing{"module": "collections", "function": function, "parameters": parameters}
	if output != "" {
		run["output"] = output
	}
	return doing{"run": run}
}

func set(name, v string) doing { return doing{"set": doing{"name": name, "value": v}} }

func emits(event string, payload doing) doing {
	return doing{"emit": doing{"event": event, "payload": payload}}
}

// workspace makes one whose automations have effects of every kind.
func (r *running) workspace(t *testing.T) string {
	t.Helper()
	var made struct{ ID string }
	r.succeed(t, http.MethodPost, "/v2/workspaces", doing{"name": "Runs"}, &made)
	path := "/v2/workspaces/" + made.ID
	everything := doing{"$gte": 0}
	for slug, a := range map[string]doing{
		"schema": {"when": doing{"endpoint": true}, "do": []any{
			module("updateSchema", doing{"collection": "done", "properties": doing{"event": doing{"type": "string"}}}, ""),
			module("updateSchema", doing{"collection": "total", "properties": doing{"n": doing{"type": "integer"}}}, ""),
			module("create", doing{"collection": "total", "data": doing{"n": 0}}, ""),
		}},
		"effects": {"when": doing{"events": []string{"go"}}, "do": []any{
			emits("effect", doing{"of": "{{id}}"}),
			module("create", doing{"collection": "done", "data": doing{"event": "{{id}}"}}, ""),
			set("global.notes[]", "{{payload.n}}"),
			set("user.notes[]", "{{payload.n}}"),
		}},
		"counts": {"when": doing{"events": []string{"go"}}, "do": []any{
			module("updateOne", doing{"collection": "total", "query": doing{"n": everything}, "data": doing{"$inc": doing{"n": 1}}}, ""),
		}},
		"asks": {"when": doing{"events": []string{"ask"}}, "do": []any{
			emits("question", doing{"of": "{{payload.n}}"}),
			doing{"wait": doing{"oneOf": []any{doing{"event": "answer", "filters": doing{"payload.n": "{{payload.n}}"}}}, "timeout": 300, "output": "got"}},
			set("global.answered[]", "{{got.payload.n}}"),
			emits("got", doing{"of": "{{got.payload.n}}"}),
		}},
		"timed": {"when": doing{"schedules": []string{yearly}}, "do": []any{
			emits("ticked", doing{"of": "{{payload.automation}}"}),
			set("global.ticks[]", "{{id}}"),
		}},
		"figures": {"when": doing{"endpoint": true}, "do": []any{
			module("find", doing{"collection": "done", "query": doing{}}, "records"),
			module("findOne", doing{"collection": "total", "query": doing{}}, "total"),
		}, "output": doing{
			"records": "{{records}}", "total": "{{total.n}}", "notes": "{{global.notes}}", "mine": "{{user.notes}}", "answered": "{{global.answered}}", "ticks": "{{global.ticks}}",
		}},
	} {
		a["slug"], a["name"] = slug, slug
		r.succeed(t, http.MethodPost, path+"/automations", a, &struct{}{})
	}
	r.succeed(t, http.MethodPost, path+"/webhooks/schema", doing{}, &struct{}{})
	return made.ID
}

func (r *running) succeed(t *testing.T, method, path string, body, into any) {
	t.Helper()
	if status, err := r.call(t.Context(), method, path, "", body, into); err != nil || status >= http.StatusMultipleChoices {
		t.Fatalf("%s %s: %d %v\n%s", method, path, status, err, r.logs(t))
	}
}

// happened is an event: its id, and what it says it is of.
type happened struct {
	ID      string
	Payload struct{ Of, N any }
}

func (r *running) events(t *testing.T, workspace, eventType string) []happened {
	t.Helper()
	var answer struct{ Result struct{ Events []happened } }
	r.succeed(t, http.MethodGet, "/v2/workspaces/"+workspace+"/events?limit=100&types="+eventType, nil, &answer)
	return answer.Result.Events
}

// of is what events say they are of.
func (r *running) of(t *testing.T, workspace, eventType string) (all []string) {
	t.Helper()
	for _, e := range r.events(t, workspace, eventType) {
		all = append(all, fmt.Sprint(e.Payload.Of))
	}
	return all
}

// wrong tells what is not as it has to be when all is done; empty when everything is.
func (r *running) wrong(t *testing.T, workspace string) string {
	t.Helper()
	var figures struct {
		Records               []struct{ Event string }
		Total                 int
		Notes, Mine, Answered []int
		Ticks                 []string
	}
	r.succeed(t, http.MethodPost, "/v2/workspaces/"+workspace+"/webhooks/figures", doing{}, &figures)
	var went, records []string
	for _, e := range r.events(t, workspace, "go") {
		went = append(went, e.ID)
	}
	for _, record := range figures.Records {
		records = append(records, record.Event)
	}
	if figures.Total != goes || len(went) != goes {
		return fmt.Sprintf("%d events were counted %d times, want %d", len(went), figures.Total, goes)
	}
	ticks := len(r.events(t, workspace, "runtime.schedules.triggered"))
	if len(figures.Ticks) != 1 || ticks != 1 {
		return fmt.Sprintf("%d ticks, noted %v", ticks, figures.Ticks)
	}
	for _, c := range []struct {
		what      string
		got, want []string
	}{
		{"records", records, went},
		{"emitted events", r.of(t, workspace, "effect"), went},
		{"notes in the workspace", texts(figures.Notes), upTo(goes)},
		{"notes of the user", texts(figures.Mine), upTo(goes)},
		{"answers", texts(figures.Answered), upTo(asks)},
		{"events of answers", r.of(t, workspace, "got"), upTo(asks)},
		{"questions", r.of(t, workspace, "question"), upTo(asks)},
		{"events of the tick", r.of(t, workspace, "ticked"), []string{"timed"}},
	} {
		slices.Sort(c.got)
		slices.Sort(c.want)
		if !slices.Equal(c.got, c.want) {
			return fmt.Sprintf("%s: %v, want each of %v once", c.what, c.got, c.want)
		}
	}
	return ""
}

func texts(numbers []int) (all []string) {
	for _, n := range numbers {
		all = append(all, strconv.Itoa(n))
	}
	return all
}

func upTo(n int) (all []string) {
	for i := range n {
		all = append(all, strconv.Itoa(i))
	}
	return all
}
