package webhook_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/clock"
)

// An automation sets $http, and gives it to another one.
func TestVariable(t *testing.T) {
	t.Parallel()
	b := machinetest.New(t)
	b.Add("tell", "do:\n- set: {name: http.none, value: 1}\n- set: {name: $http, value: {chunk: {by: tell}}}")
	b.Add("main", `
do:
- set: {name: $http, value: {status: 202, headers: {x-a: "{{body.a}}"}}}
- set: {name: $http, value: {chunk: {n: 1}}}
- all:
  - set: {name: $http, value: {chunk: {n: 2}}}
  - tell: {$http: "{{$http}}"}
output: {done: true}
`)
	w := httptest.NewRecorder()
	stream := webhook.NewStream(w, options(clock.System{}))
	payload, err := webhook.Read(request("POST", "/", `{"a":"b"}`, "Content-Type: application/json"), webhook.NewLimits(100), nil)
	if err != nil {
		t.Fatal(err)
	}
	payload.Set("$http", stream)
	result := b.Execute("main", payload)
	if result.Err != nil {
		t.Fatal(result.Err)
	}
	stream.Finish(result.Output)
	body := w.Body.String()
	if w.Code != 202 || w.Header().Get("X-A") != "b" || !strings.HasPrefix(body, "data: {\"n\":1}\n\n") || !strings.HasSuffix(body, "data: {\"done\":true}\n\n") ||
		!strings.Contains(body, "data: {\"n\":2}\n\n") || !strings.Contains(body, "data: {\"by\":\"tell\"}\n\n") {
		t.Errorf("%d, %v\n%s", w.Code, w.Header(), body)
	}
	for _, event := range b.Recorder.Of("runtime.automations.executed") {
		if strings.Contains(string(event.Body), "$http") {
			t.Errorf("it is in the event: %s", event.Body)
		}
	}
}

// What $http cannot be set to fails the automation, and the client is told.
func TestVariableRefuses(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	stream := webhook.NewStream(w, options(clock.System{}))
	_, err := machinetest.Run(t, "do:\n- set: {name: $http, value: {status: 99}}", machine.Payload("$http", stream))
	if err == nil {
		t.Fatal("it was taken")
	}
	stream.Fail(err)
	if w.Code != 400 || !strings.HasPrefix(w.Body.String(), `{"error":"InvalidInstructionError","message":"$http.status must be`) {
		t.Errorf("%d, %s", w.Code, w.Body)
	}
}
