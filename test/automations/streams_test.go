package automations_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// listen opens a stream of events as a client, and gives its lines of data.
func listen(t *testing.T, c *apptest.Client, method, path string) <-chan string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	r, err := http.NewRequestWithContext(ctx, method, c.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	transport := &http.Transport{}
	answer, err := transport.RoundTrip(r) //nolint:bodyclose // it is closed after the test
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %v %v", path, answer, err)
	}
	lines, ended := make(chan string, 100), make(chan struct{})
	go func() {
		defer close(ended)
		defer close(lines)
		for scanner := bufio.NewScanner(answer.Body); scanner.Scan(); {
			if data, ok := strings.CutPrefix(scanner.Text(), "data: "); ok {
				lines <- data
			}
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		_ = answer.Body.Close()
		transport.CloseIdleConnections()
	})
	return lines
}

// An answer that comes bit by bit goes on beyond the time of requests; one that does not has ended by then.
func TestStreamsOutlastRequests(t *testing.T) {
	t.Parallel()
	s := apptest.New(t, "DISABLE_RATE_LIMIT=true", "REQUEST_TIMEOUT=1s")
	r := newRoom(t, s.Admin(), map[string]any{})
	r.add("talks", `{"when": {"endpoint": true}, "do": [{"repeat": {"until": 5, "do": [{"set": {"name": "$http", "value": {"chunk": {"n": "{{$index}}"}}}}, {"wait": {"timeout": 0.5}}]}}], "output": "end"}`)
	r.add("hesitates", `{"when": {"endpoint": true}, "do": [{"wait": {"timeout": 10}}, {"set": {"name": "$http", "value": {"chunk": {"n": 1}}}}], "output": "end"}`)
	var got []string
	for line := range listen(t, s.Anyone(), http.MethodGet, r.path+"/webhooks/talks") {
		got = append(got, line)
	}
	if text := strings.Join(got, " "); text != `{"n":0} {"n":1} {"n":2} {"n":3} {"n":4} "end"` {
		t.Errorf("the stream: %s", text)
	}
	s.Anyone().Get(r.path + "/webhooks/hesitates").Want(http.StatusGatewayTimeout)
	r.until("it is told that it took too long", func() bool {
		return strings.Contains(string(r.admin.Get(r.path+"/events?types=error").Want(http.StatusOK).Body), "WorkflowTimeoutError")
	})
}

// An event that is meant for somebody, by the account or by the session, can be read by them, in lists and as it happens, and by
// nobody else who may not.
func TestTargets(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, s *apptest.Server) {
		r := newRoom(t, s.Admin(), map[string]any{})
		own := map[string]any{"action": "read", "subject": "events", "conditions": map[string]any{"source.sessionId": "{{session.id}}"}}
		r.admin.Put(r.path+"/security", map[string]any{"authorizations": map[string]any{"rules": []any{own}}}).Want(http.StatusOK)
		r.add("tell", `{"when": {"endpoint": true}, "do": [{"emit": {"event": "news", "payload": {"n": "{{body.n}}"}, "target": {"userId": "{{body.userId}}", "sessionId": "{{body.sessionId}}"}}}]}`)
		one, other := s.Visitor(), s.Visitor()
		me := one.Get("/v2/me").Want(http.StatusOK)
		if me.Text("id") == "" || me.Text("sessionId") == "" {
			t.Fatalf("a visitor without an id: %s", me.Body)
		}
		feed := listen(t, one, http.MethodGet, r.path+"/events?sse=true")
		r.call("tell", map[string]any{"n": 1}).Want(http.StatusOK)
		r.call("tell", map[string]any{"n": 2, "userId": me.Text("id")}).Want(http.StatusOK)
		r.call("tell", map[string]any{"n": 3, "userId": "somebody-else"}).Want(http.StatusOK)
		r.call("tell", map[string]any{"n": 4, "sessionId": me.Text("sessionId")}).Want(http.StatusOK)
		if text := numbers(one.Get(r.path + "/events?types=news&sort=asc").Want(http.StatusOK)); text != "2 4" {
			t.Errorf("the list has %s", text)
		}
		if text := numbers(other.Get(r.path + "/events?types=news").Want(http.StatusOK)); text != "" {
			t.Errorf("somebody else reads %s", text)
		}
		for _, want := range []string{"2", "4"} {
			var event struct{ Payload struct{ N json.Number } }
			if err := json.Unmarshal([]byte(<-feed), &event); err != nil || event.Payload.N.String() != want {
				t.Errorf("the feed has %v, want %s: %v", event, want, err)
			}
		}
		closed := newRoom(t, r.admin, map[string]any{})
		one.Get(closed.path + "/events").Want(http.StatusForbidden)
		one.Get("/v2/workspaces/Nowhere/events").Want(http.StatusForbidden)
	})
}

// numbers are those of the events of a list.
func numbers(list *apptest.Response) string {
	var answer struct {
		Result struct {
			Events []struct{ Payload struct{ N json.Number } }
		}
	}
	list.Into(&answer)
	all := make([]string, len(answer.Result.Events))
	for i, event := range answer.Result.Events {
		all[i] = event.Payload.N.String()
	}
	return strings.Join(all, " ")
}
