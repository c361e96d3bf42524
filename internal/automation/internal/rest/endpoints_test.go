package rest_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/contexts"
	"atelier/internal/automation/internal/instructions"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/model"
	"atelier/internal/automation/internal/rest"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/dsul/assembly"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// one is a source of one workspace with one automation, which never changes.
type one struct{}

func (one) Stamp(context.Context, string, []string) (assembly.Stamp, error) {
	return assembly.Stamp{Workspace: "1"}, nil
}

func (one) Load(context.Context, string) (*assembly.Tree, error) {
	const hello = `{slug: hello, when: {endpoint: true}, do: [{set: {name: greeting, value: 'Hello {{body.name}}'}}], output: {message: '{{greeting}}'}}`
	return &assembly.Tree{
		Stamp: assembly.Stamp{Workspace: "1"}, ID: "Workspc", Slug: "mine", Name: "Mine",
		Root: &assembly.Place{Automations: []assembly.Automation{{Slug: "hello", Text: []byte(hello)}}},
	}, nil
}

// discard takes events and keeps the text of the last of each type, or nothing when it is nil.
type discard map[string]string

func (d discard) Record(_ context.Context, records ...bus.Record) error {
	if d == nil {
		return nil
	}
	for _, r := range records {
		d[r.Type] = string(r.Body)
	}
	return nil
}

// door is the way of a request to an endpoint, from the front of the server to the automation. What is recorded is thrown away.
func door(tb testing.TB, told discard) http.Handler {
	tb.Helper()
	db, clk, log := sqldbtest.SQLite(tb, contexts.Migrations()), clock.System{}, slog.New(slog.DiscardHandler)
	models, err := model.New(model.Deps{Log: log, Source: one{}, Instructions: instructions.Control(), Changes: func() int64 { return 1 }})
	if err != nil {
		tb.Fatal(err)
	}
	engine := &machine.Machine{
		Log: log, Clock: clk, DB: db, Recorder: told, Limits: machine.Limits{Memory: 64 << 20, Steps: 1_000_000, Local: 10 << 20},
	}
	store := contexts.New(contexts.Deps{Log: log, Clock: clk, DB: db, Access: access.NewEnforcer(clk), Settings: contexts.Defaults(), Alone: true})
	api := restapi.New(restapi.Config{Service: "runtime", Log: log, Clock: clk, DB: db, MaxBody: 1 << 20})
	rest.Register(api, rest.Deps{
		DB: db, Models: models, Engine: engine, Recorder: told, Limits: webhook.NewLimits(10 << 20),
		Runs:    runs.New(runs.Deps{DB: db, Clock: clk, Log: log, Engine: engine, Contexts: store, Recorder: told}),
		Answers: webhook.Options{Clock: clk, KeepAliveFloor: time.Second},
		Resolve: func(_ context.Context, _ sqldb.Reader, ref string) (string, error) { return ref, nil },
	})
	compressed, err := httpx.Compress(api.Handler())
	if err != nil {
		tb.Fatal(err)
	}
	return httpx.NewFront(httpx.FrontConfig{
		Log: log, Clock: clk, IDs: ident.Source{}, Timeout: time.Minute, CORS: httpx.NewCORS(nil), KeepCorrelationID: true,
		Versions: httpx.NewVersions(httpx.Generations(), httpx.Behaviours(), clk.Now),
	}, compressed)
}

// again is a body that can be read again and again.
type again struct{ *strings.Reader }

func (again) Close() error { return nil }

// answer is a response that only its length is kept of.
type answer struct {
	header http.Header
	status int
	size   int
}

func (a *answer) Header() http.Header              { return a.header }
func (a *answer) WriteHeader(status int)           { a.status = status }
func (a *answer) SetReadDeadline(time.Time) error  { return nil }
func (a *answer) SetWriteDeadline(time.Time) error { return nil }

func (a *answer) Write(p []byte) (int, error) {
	a.size += len(p)
	return len(p), nil
}

// call is a request to the endpoint.
func call(ctx context.Context, body io.Reader) *http.Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v2/workspaces/Workspc/webhooks/hello", body)
	for name, value := range map[string]string{"Content-Type": "application/json", "Content-Length": "16", "Authorization": "Basic c2VjcmV0", "X-Correlation-Id": "chosen-by-caller"} {
		r.Header.Set(name, value)
	}
	r.RemoteAddr = "192.0.2.7:5000"
	return r
}

// A call is answered with the output, and told by two events: without the credentials of the caller.
func TestEndpoint(t *testing.T) {
	t.Parallel()
	told, w := discard{}, httptest.NewRecorder()
	door(t, told).ServeHTTP(w, call(t.Context(), strings.NewReader(`{"name":"world"}`)))
	if w.Code != http.StatusOK || w.Body.String() != `{"message":"Hello world"}` || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Vary") != "Origin, Accept-Encoding" {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
	const trigger, source = `"trigger":{"type":"endpoint","value":"hello"}`, `"source":{"workspaceId":"Workspc","ip":"192.0.2.7","correlationId":"chosen-by-caller",`
	times := regexp.MustCompile(`"startedAt":"[0-9T:.-]+Z"|"duration":[0-9]+`)
	for eventType, want := range map[string]string{
		"runtime.interactions.triggered": `{"payload":{"workspaceId":"Workspc","automation":"hello",` + trigger + `,TIME},` + source +
			`"serviceTopic":"runtime.interactions.triggered","host":{"service":"runtime"}}}`,
		"runtime.automations.executed": `{"payload":{"slug":"hello",` + trigger + `,"payload":{"body":{"name":"world"},"headers":{"content-length":"16","content-type":"application/json",` +
			`"x-correlation-id":"chosen-by-caller"},"method":"POST","query":{},"pathParams":{},"workspaceId":"Workspc","automationSlug":"hello"},"output":{"message":"Hello world"},` +
			`TIME,TIME,"break":false},` + source + `"serviceTopic":"runtime.automations.executed","host":{"service":"runtime"},"automationSlug":"hello","automationDepth":1,"appInstanceDepth":0}}`,
	} {
		if got := times.ReplaceAllString(told[eventType], "TIME"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// BenchmarkEndpoint measures a call of an endpoint: the request in, the response out, two events made.
func BenchmarkEndpoint(b *testing.B) {
	handler := door(b, nil)
	body := again{strings.NewReader(`{"name":"world"}`)}
	r := call(b.Context(), body)
	for _, name := range []string{"Authorization", "X-Correlation-Id"} { // as most calls are
		r.Header.Del(name)
	}
	b.ReportAllocs()
	for b.Loop() {
		_, _ = body.Seek(0, io.SeekStart)
		sent, w := *r, answer{header: make(http.Header, 8)}
		handler.ServeHTTP(&w, &sent)
		if w.status != http.StatusOK || w.size != len(`{"message":"Hello world"}`) {
			b.Fatalf("%d, %d bytes", w.status, w.size)
		}
	}
}
