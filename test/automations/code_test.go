package automations_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/test/internal/house"
)

// Custom code runs in processes of the real program: with a cache, without an environment, and never for ever.
func TestCustomCode(t *testing.T) {
	t.Parallel()
	h := house.New(t, 5*time.Minute, "CODE_TIMEOUT=5s", "CANARY=canary-of-the-server")
	h.Start()
	h.SignIn()
	var workspace struct{ ID string }
	h.Must(http.MethodPost, "/v2/workspaces", map[string]any{"name": "Code"}, &workspace)
	path := "/v2/workspaces/" + workspace.ID
	code := func(text string) map[string]any {
		return map[string]any{"language": "nodejs", "parameters": map[string]any{"n": map[string]any{"type": "number"}}, "code": text}
	}
	h.Must(http.MethodPost, path+"/apps", map[string]any{"appSlug": "Custom Code", "slug": "code", "config": map[string]any{"functions": map[string]any{
		"double": code("return n * 2"), "visits": code("cache.n = (cache.n || 0) + 1; return cache.n"), "endless": code("for (;;) {}"),
		"pry": code("return [typeof process, typeof require, String(Object.keys(globalThis))].join()"), "nested": code("return (await double({n})) + 1"),
	}}}, nil)
	h.Must(http.MethodPost, path+"/automations", map[string]any{
		"slug": "run", "name": "run", "when": map[string]any{"endpoint": true},
		"do":     []any{map[string]any{"code.run": map[string]any{"function": "{{body.f}}", "parameters": map[string]any{"n": "{{body.n}}"}, "output": "got"}}},
		"output": map[string]any{"got": "{{got}}"},
	}, nil)
	call := func(function string) (int, map[string]any) {
		t.Helper()
		status, text, err := h.Call(http.MethodPost, path+"/webhooks/run", "", map[string]any{"f": function, "n": 21})
		if err != nil {
			t.Fatal(err)
		}
		var answer map[string]any
		if err := json.Unmarshal(text, &answer); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if strings.Contains(string(text), "canary") {
			t.Errorf("the environment of the server is seen: %s", text)
		}
		return status, answer
	}
	for function, want := range map[string]float64{"double": 42, "nested": 43} {
		if status, answer := call(function); status != http.StatusOK || answer["got"] != want {
			t.Errorf("%s: %d %v", function, status, answer)
		}
	}
	for want := range 3 {
		if status, answer := call("visits"); status != http.StatusOK || answer["got"] != float64(want+1) {
			t.Errorf("visit %d: %d %v", want+1, status, answer)
		}
	}
	if status, answer := call("pry"); status != http.StatusOK || !strings.HasPrefix(answer["got"].(string), "undefined,") {
		t.Errorf("pry: %d %v", status, answer)
	}
	if status, answer := call("endless"); status == http.StatusOK || answer["error"] != "WorkflowTimeoutError" {
		t.Errorf("endless: %d %v", status, answer)
	}
	if status, answer := call("nobody"); status != http.StatusNotFound || answer["error"] != "ObjectNotFoundError" {
		t.Errorf("nobody: %d %v", status, answer)
	}
	if status, answer := call("double"); status != http.StatusOK || answer["got"] != 42.0 {
		t.Errorf("after all that: %d %v", status, answer)
	}
}
