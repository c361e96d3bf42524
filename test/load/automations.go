package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// What automations must do, whatever the machine.
const (
	leastOfBare    = 0.3 // of the requests per second of a bare server
	leastOfNodeRed = 4.0 // times those of Node-RED
	mostSets       = 50 * time.Millisecond
	mostCode       = time.Millisecond
	mostCold       = 200 * time.Millisecond
	leastBatch     = 0.66 // of what two cores give; one would give half of it
)

// measureAutomations measures the runtime beside a bare server and Node-RED.
func measureAutomations(ctx context.Context, binary string, span time.Duration, rounds int) error {
	dir, err := os.MkdirTemp("", "atelier-load-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if binary, err = filepath.Abs(binary); err != nil {
		return err
	}
	product, err := startProduct(ctx, dir, binary)
	if err != nil {
		return err
	}
	defer func() { product.stop() }()
	workspace, err := measured(ctx, product)
	if err != nil {
		return err
	}
	err = errors.Join(compareEndpoint(ctx, dir, product, workspace, span, rounds), timeRuns(ctx, product, workspace))
	large, made := largeWorkspace(ctx, product)
	if made != nil {
		return errors.Join(err, made)
	}
	product.stop()
	again, failed := serve(ctx, dir, binary)
	if failed != nil {
		return errors.Join(err, failed)
	}
	product = again
	return errors.Join(err, coldWorkspace(ctx, product, large))
}

// measured makes the workspace that is measured.
func measured(ctx context.Context, product *process) (string, error) {
	var workspace struct {
		ID string `json:"id"`
	}
	if err := post(ctx, product, "/v2/workspaces", map[string]string{"name": "Automations"}, &workspace); err != nil {
		return "", err
	}
	err := post(ctx, product, "/v2/workspaces/"+workspace.ID+"/apps", json.RawMessage(`{"appSlug": "Custom Code", "slug": "code", "config": {"functions": {
		"double": {"language": "nodejs", "parameters": {"n": {"type": "number"}}, "code": "return n * 2"}}}}`), nil)
	if err != nil {
		return "", err
	}
	for _, definition := range []string{
		`{"slug": "hello", "when": {"endpoint": true}, "do": [{"set": {"name": "greeting", "value": "Hello {{body.name}}"}}], "output": {"message": "{{greeting}}"}}`,
		`{"slug": "sets", "when": {"endpoint": true}, "do": [{"repeat": {"until": 100000, "do": [{"set": {"name": "x", "value": "{{item}}"}}]}}], "output": "{{x}}"}`,
		`{"slug": "one", "when": {"endpoint": true}, "do": [{"repeat": {"until": 4, "do": [` + busy + `]}}]}`,
		`{"slug": "two", "when": {"endpoint": true}, "do": [{"repeat": {"until": 4, "batch": {"size": 4}, "do": [` + busy + `]}}]}`,
		`{"slug": "four", "when": {"endpoint": true}, "do": [{"all": [` + busy + `, ` + busy + `, ` + busy + `, ` + busy + `]}]}`,
		`{"slug": "work", "do": [{"repeat": {"until": 50000, "do": [{"set": {"name": "x", "value": "{% {{item}} * 2 + 1 %}"}}]}}]}`,
		`{"slug": "call", "when": {"endpoint": true}, "do": [{"repeat": {"until": "{{body.n}}", "do": [{"code.run": {"function": "double", "parameters": {"n": "{{item}}"}, "output": "got"}}]}}], "output": "{{got}}"}`,
	} {
		named := `{"name": "measured", ` + definition[1:]
		if err := post(ctx, product, "/v2/workspaces/"+workspace.ID+"/automations", json.RawMessage(named), nil); err != nil {
			return "", err
		}
	}
	return workspace.ID, nil
}

// busy is a call that keeps a core busy.
const busy = `{"work": {}}`

// compareEndpoint compares an endpoint with a bare server that does the same, and with Node-RED.
func compareEndpoint(ctx context.Context, dir string, product *process, workspace string, span time.Duration, rounds int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	reference, err := start(ctx, dir, regexp.MustCompile(`(http://\S+)`), self, "-bare")
	if err != nil {
		return err
	}
	defer reference.stop()
	const body = `{"name":"world"}`
	subjects := []subject{
		{name: "bare net/http", process: reference, request: send(reference, "/hello", "", body)},
		{name: "endpoint", process: product, request: send(product, "/v2/workspaces/"+workspace+"/webhooks/hello", "", body), ratio: leastOfBare},
	}
	nodeRed, err := startNodeRed(ctx, dir)
	if err != nil {
		return err
	}
	if nodeRed != nil {
		defer nodeRed.stop()
		subjects = append(subjects, subject{name: "Node-RED", process: nodeRed, request: send(nodeRed, "/hello", "", body)})
	}
	results := make([][]result, len(subjects))
	for range rounds {
		for i, s := range subjects {
			before := s.process.cpu()
			r, err := drive(ctx, s.process.url, s.request, span)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			r.cpu = (s.process.cpu() - before) / time.Duration(max(r.count, 1))
			results[i] = append(results[i], r)
		}
	}
	err = report(subjects, results)
	if nodeRed != nil {
		times := median(results[1]).perSecond / median(results[2]).perSecond
		err = errors.Join(err, atLeast("endpoint against Node-RED", times, leastOfNodeRed))
	}
	return err
}

// startNodeRed starts Node-RED from the folder that LOAD_NODE_RED names; nil without it.
func startNodeRed(ctx context.Context, dir string) (*process, error) {
	modules := os.Getenv("LOAD_NODE_RED")
	if modules == "" {
		fmt.Println("Node-RED: not measured; LOAD_NODE_RED=$(scripts/npm test/load/nodered) provides it")
		return nil, nil //nolint:nilnil // it is not there, which is no error
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	home := filepath.Join(dir, "nodered")
	if err := os.MkdirAll(home, 0o750); err != nil {
		return nil, err
	}
	for _, name := range []string{"flow.json", "settings.js"} {
		text, err := os.ReadFile(filepath.Join(filepath.Dir(modules), name))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(home, name), text, 0o600); err != nil {
			return nil, err
		}
	}
	p, err := startWith(ctx, []string{"PORT=" + port, "NODE_ENV=production"}, home, regexp.MustCompile(`(Started flows)`),
		"node", filepath.Join(modules, "node-red", "red.js"), "--userDir", home, "--settings", filepath.Join(home, "settings.js"))
	if err != nil {
		return nil, err
	}
	p.url = "http://127.0.0.1:" + port
	return p, nil
}

// timeRuns times single runs. They take turns, and the fastest of each counts: what else happens on the machine does not.
func timeRuns(ctx context.Context, product *process, workspace string) error {
	if err := product.calm(ctx); err != nil {
		return err
	}
	const rounds, calls = 9, 200
	best := map[string]time.Duration{}
	var machine cores
	for range rounds {
		machine.measure()
		for _, path := range []string{"sets", "one", "two", "four", "call"} {
			began := time.Now()
			if err := post(ctx, product, "/v2/workspaces/"+workspace+"/webhooks/"+path, map[string]any{"n": calls}, nil); err != nil {
				return fmt.Errorf("%s: %w", path, err)
			}
			best[path] = fastest(best[path], time.Since(began))
		}
	}
	gain := func(what, path string) error {
		faster := float64(best["one"]) / float64(best[path])
		fmt.Printf("%s: %.2f times as fast as one after the other; this machine gives %.2f\n", what, faster, machine.gain())
		return atLeast(what+" against what the machine gives", faster/machine.gain(), leastBatch)
	}
	return errors.Join(
		atMost("a loop of 100,000 sets", best["sets"], mostSets), gain("a batch", "two"), gain("all", "four"),
		atMost("a warm call of custom code", best["call"]/calls, mostCode))
}

// largeWorkspace makes a workspace of 500 automations.
func largeWorkspace(ctx context.Context, product *process) (string, error) {
	var workspace struct {
		ID string `json:"id"`
	}
	if err := post(ctx, product, "/v2/workspaces", map[string]string{"name": "Large"}, &workspace); err != nil {
		return "", err
	}
	for i := range 500 {
		definition := fmt.Sprintf(`{"name": "n%d", "slug": "n%d", "when": {"endpoint": true, "events": ["e%d"]}, "do": [{"set": {"name": "a", "value": "{{body.x}} and {%% {{body.y}} + 1 %%}"}},
			{"conditions": {"{{a}} = 5": [{"emit": {"event": "done", "payload": {"a": "{{a}}"}}}], "default": [{"set": {"name": "b", "value": ["{{a}}"]}}]}}], "output": {"a": "{{a}}"}}`, i, i, i)
		if err := post(ctx, product, "/v2/workspaces/"+workspace.ID+"/automations", json.RawMessage(definition), nil); err != nil {
			return "", err
		}
	}
	return workspace.ID, nil
}

// coldWorkspace times the first call of a workspace after the product was started: all of it is read and compiled for that.
func coldWorkspace(ctx context.Context, product *process, workspace string) error {
	began := time.Now()
	err := product.exchange(ctx, request{method: http.MethodPost, path: "/v2/workspaces/" + workspace + "/webhooks/n7", kind: "application/json", body: []byte(`{}`)}, nil)
	if err != nil {
		return err
	}
	return atMost("the first call of a workspace of 500 automations", time.Since(began), mostCold)
}

func atMost(what string, got, most time.Duration) error {
	fmt.Printf("%s: %v (target: %v)\n", what, got.Round(10*time.Microsecond), most)
	if got > most {
		return fmt.Errorf("%s takes too long", what)
	}
	return nil
}

func atLeast(what string, got, least float64) error {
	fmt.Printf("%s: %.2f times (target: %g)\n", what, got, least)
	if got < least {
		return fmt.Errorf("%s is too little", what)
	}
	return nil
}
