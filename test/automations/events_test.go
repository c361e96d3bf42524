package automations_test

import (
	"net/http"
	"testing"

	"atelier/internal/app/apptest"
)

// An event starts every automation that listens to it, with what it says; what they emit starts others.
func TestEventsStartAutomations(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *apptest.Server) {
		r := newRoom(t, s.Admin(), map[string]any{})
		r.add("first", `{"when": {"events": ["came"]}, "do": [{"emit": {"event": "went", "payload": {"of": "{{payload.n}}", "id": "{{id}}", "who": "{{source.userId}}"}}}]}`)
		r.add("second", `{"when": {"events": ["went"]}, "do": [{"set": {"name": "global.seen[]", "value": "{{payload.of}}"}}, {"set": {"name": "global.depth", "value": "{{run.depth}}"}}]}`)
		r.add("seen", `{"when": {"endpoint": true}, "do": [], "output": {"seen": "{{global.seen}}", "depth": "{{global.depth}}"}}`)
		r.emit("came", map[string]any{"n": 7})
		r.until("the second automation ran to its end", func() bool { return r.call("seen", map[string]any{}).Want(http.StatusOK).Text("depth") == "2" })
		if got := r.call("seen", map[string]any{}); got.Text("seen.0") != "7" || got.Text("seen.1") != "" {
			t.Errorf("seen: %s", got.Body)
		}
		went := r.admin.Get(r.path + "/events?types=went").Want(http.StatusOK)
		if went.Text("result.events.0.source.userId") != "" || went.Text("result.events.0.source.automationSlug") != "first" || went.Text("result.events.0.payload.who") == "" {
			t.Errorf("the emitted event: %s", went.Body)
		}
	})
}

// An automation that starts itself comes to an end, and says so.
func TestSelfTriggeringEnds(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *apptest.Server) {
		r := newRoom(t, s.Admin(), map[string]any{})
		r.add("again", `{"when": {"events": ["again"]}, "do": [{"emit": {"event": "again", "payload": {}}}]}`)
		r.emit("again", map[string]any{})
		r.until("it was stopped", func() bool {
			told := r.admin.Get(r.path + "/events?types=error").Want(http.StatusOK)
			return told.Text("result.events.0.payload.error") == "TooManyCallError"
		})
		if n := r.events("again"); n != 22 {
			t.Errorf("it was emitted %d times", n)
		}
	})
}

// Wait goes on with the event that it waits for, also when the answer comes before it waits, and gives up in time.
func TestWait(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *apptest.Server) {
		r := newRoom(t, s.Admin(), map[string]any{})
		r.add("answers", `{"when": {"events": ["ask"]}, "do": [{"emit": {"event": "answer", "payload": {"to": "{{payload.n}}", "twice": "{% {{payload.n}} * 2 %}"}}}], "output": "done"}`)
		r.add("asks", `{"when": {"endpoint": true}, "do": [{"emit": {"event": "ask", "payload": {"n": "{{body.n}}"}, "output": "sent"}},
			{"wait": {"oneOf": [{"event": "answer", "filters": {"payload.to": "{{body.n}}"}}], "timeout": 10, "output": "got"}},
			{"wait": {"oneOf": [{"event": "runtime.automations.executed", "filters": {"payload.trigger.id": "{{sent.id}}"}}], "timeout": 10, "output": "ran"}}],
			"output": {"twice": "{{got.payload.twice}}", "ran": "{{ran.payload.output}}"}}`)
		r.add("waits", `{"when": {"endpoint": true}, "do": [{"wait": {"oneOf": [{"event": "never"}], "timeout": 0.2, "output": "got"}}], "output": {"over": true, "got": "{{got}}"}}`)
		for n := range 5 {
			got := r.call("asks", map[string]any{"n": n + 1}).Want(http.StatusOK)
			if got.At("twice") != float64(2*(n+1)) || got.Text("ran") != "done" {
				t.Errorf("call %d: %s", n, got.Body)
			}
		}
		if got := r.call("waits", map[string]any{}).Want(http.StatusOK); got.Text("over") != "true" || got.At("got") != nil {
			t.Errorf("a wait that was given up: %s", got.Body)
		}
	})
}

// An app is called by its instance, hears only what is meant for it, and keeps what is private.
func TestApps(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *apptest.Server) {
		admin := s.Admin()
		source := newRoom(t, admin, map[string]any{"name": "Maker", "description": "makes", "photo": "https://example.test/a.png"})
		admin.Patch(source.path, map[string]any{"config": map[string]any{"value": map[string]any{"greeting": "Hello", "mark": "."}}}).Want(http.StatusOK)
		source.add("greet", `{"do": [{"secretly": {"output": "s"}}, {"emit": {"event": "greeted", "payload": {"who": "{{who}}"}}}], "output": "{{config.greeting}} {{who}}{{config.mark}}{{s}}"}`)
		source.add("secretly", `{"private": true, "when": {"endpoint": true}, "do": [], "output": "!"}`)
		source.add("hook", `{"when": {"endpoint": true, "events": ["knock"]}, "do": [{"emit": {"event": "opened", "payload": {}}}], "output": {"slug": "{{run.appInstanceFullSlug}}", "app": "{{run.appSlug}}"}}`)
		admin.Post("/v2/apps", map[string]any{"workspaceId": source.id, "slug": "maker"}).Want(http.StatusCreated)
		r := newRoom(t, admin, map[string]any{})
		admin.Post(r.path+"/apps", map[string]any{"appSlug": "maker", "slug": "m", "config": map[string]any{"greeting": "Hi"}}).Want(http.StatusCreated)
		r.add("main", `{"when": {"endpoint": true}, "do": [{"m.greet": {"who": "you", "output": "got"}}], "output": "{{got}}"}`)
		r.add("pry", `{"when": {"endpoint": true}, "do": [{"m.secretly": {}}]}`)
		if got := string(r.call("main", map[string]any{}).Want(http.StatusOK).Body); got != `"Hi you.!"` {
			t.Errorf("the app says %s", got)
		}
		if r.events("m.greeted") != 1 || r.events("greeted") != 0 {
			t.Error("the event of the app has not its name")
		}
		r.call("pry", map[string]any{}).Want(http.StatusNotFound)
		r.call("m.secretly", map[string]any{}).Want(http.StatusNotFound)
		if got := r.call("m.hook", map[string]any{}).Want(http.StatusOK); got.Text("slug") != "m" || got.Text("app") != "maker" {
			t.Errorf("the endpoint of the app: %s", got.Body)
		}
		before := r.events("m.opened")
		r.emit("knock", map[string]any{})
		r.emit("m.knock", map[string]any{})
		r.until("the app opened", func() bool { return r.events("m.opened") > before })
		if n := r.events("m.opened"); n != before+1 {
			t.Errorf("the app heard what was not meant for it: %d", n-before)
		}
	})
}

// Whoever works on an automation sees every step of it.
func TestStepsCanBeSeen(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *apptest.Server) {
		r := newRoom(t, s.Admin(), map[string]any{})
		r.add("traced", `{"do": [{"set": {"name": "a", "value": "{{x}}"}}, {"conditions": {"{{a}} = 1": [{"inner": {"y": "{{a}}", "output": "b"}}]}}], "output": "{{b}}"}`)
		r.add("inner", `{"do": [{"set": {"name": "z", "value": "{% {{y}} + 1 %}"}}], "output": "{{z}}"}`)
		got := r.admin.Post(r.path+"/test/traced?trace=true", map[string]any{"payload": map[string]any{"x": 1}}).Want(http.StatusOK)
		if got.Text("output") != "2" || got.Text("trace.steps.0.instruction") != "set" || got.Text("trace.steps.1.instruction") != "conditions" ||
			got.Text("trace.steps.1.children.0.instruction") != "inner" {
			t.Errorf("the trace: %s", got.Body)
		}
		r.admin.Post(r.path+"/test/nobody", map[string]any{}).Want(http.StatusNotFound)
		r.admin.Post(r.path+"/test/traced", map[string]any{"wrong": 1}).WantError(http.StatusUnprocessableEntity, "validation_failed")
		s.Visitor().Post(r.path+"/test/traced", map[string]any{}).Want(http.StatusForbidden)
	})
}
