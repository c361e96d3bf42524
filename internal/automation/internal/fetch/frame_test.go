package fetch_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/egress"
)

// failures gives the payloads of the events of failed fetches.
func failures(t *testing.T, b *machinetest.Bench) (all []string) {
	t.Helper()
	for _, record := range b.Recorder.Of("runtime.fetch.failed") {
		var body struct{ Payload json.RawMessage }
		if err := json.Unmarshal(record.Body, &body); err != nil {
			t.Fatal(err)
		}
		all = append(all, string(body.Payload))
	}
	return all
}

func TestInstruction(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]string{
			"agent": r.UserAgent(), "workspace": r.Header.Get("X-Svc-Workspace-Id"), "correlation": r.Header.Get("X-Correlation-Id"),
			"depth": r.Header.Get(fetch.HeaderDepth), "hops": r.Header.Get(fetch.HeaderHops), "key": r.Header.Get("Idempotency-Key"), "auth": r.Header.Get("Authorization"),
		})
	})
	c := client(t, func(d *fetch.Deps) {
		d.Token = func(*machine.Frame) (string, error) { return "never-sent-outside", nil }
	})
	b := machinetest.New(t, machine.Instructions{"fetch": c.Instruction()})
	b.Run.Hops = 2
	b.Add("main", "do:\n  - fetch:\n      url: "+base+"\n      output: got\noutput: '{{got}}'")
	result := b.Execute("main", value.NewObject(0))
	want := `{"agent":"Atelier","auth":"","correlation":"correlation-1","depth":"1","hops":"3","key":"","workspace":"wks1234"}`
	if result.Err != nil || written(result.Output) != want {
		t.Errorf("got %s %v", written(result.Output), result.Err)
	}
}

func TestFailedFetchesAreReported(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Set-Cookie", "canary-cookie")
		w.Header()["Date"] = nil
		w.WriteHeader(http.StatusForbidden)
		if r.URL.Path == "/big" {
			_, _ = io.WriteString(w, `"`+strings.Repeat("x", 50_000)+`"`)
			return
		}
		_, _ = io.WriteString(w, `{"you sent":"`+r.Header.Get("Authorization")+`"}`)
	})
	c := client(t, func(d *fetch.Deps) { d.Secrets = anySecret{} })
	b := machinetest.New(t)
	f := b.Frame()
	got, err := c.Fetch(f, parse(t, `{"url":"`+base+`/a","method":"POST","headers":{"Authorization":"Bearer $secret:a"},"body":{"k":"$secret:a"}}`))
	if err != nil || written(got) != `{"you sent":"Bearer canary-secret"}` {
		t.Errorf("an answer with an error is the output: %s %v", written(got), err)
	}
	all := failures(t, b)
	want := `{"request":{"url":"` + base + `/a","method":"POST","body":{"k":"$secret:a"},"headers":{"Authorization":"REDACTED"}},` +
		`"response":{"status":403,"body":{"you sent":"Bearer REDACTED"},"headers":{"content-length":"35","content-type":"application/json","set-cookie":"REDACTED"}}}`
	if len(all) != 1 || all[0] != want {
		t.Errorf("events: %s\nwant %s", all, want)
	}
	if _, err := c.Fetch(f, parse(t, `{"url":"`+base+`/b","emitErrors":false}`)); err != nil || len(failures(t, b)) != 1 {
		t.Errorf("emitErrors is off: %v %v", failures(t, b), err)
	}
	if _, err := c.Fetch(f, parse(t, `{"url":"`+base+`/big"}`)); err != nil || !strings.Contains(failures(t, b)[1], `"body":"LARGE_CONTENT_STRIPPED"`) {
		t.Errorf("a large body: %v %v", failures(t, b)[1], err)
	}
	_, err = c.Fetch(f, parse(t, `{"url":"http://127.0.0.1:1/x"}`))
	wantFailure(t, err, fetch.FetchError, egress.Unreachable)
	if got := failures(t, b)[2]; got != `{"request":{"url":"http://127.0.0.1:1/x","method":"GET"},"error":{"error":"FetchError","message":"`+egress.Unreachable+`"}}` {
		t.Errorf("a network error: %s", got)
	}
	_, err = c.Fetch(f, parse(t, `{"url":"http://10.0.0.1/"}`))
	wantFailure(t, err, machine.InvalidInstruction, "")
	if strings.Contains(strings.Join(failures(t, b), " "), "canary") {
		t.Error("an event holds a secret")
	}
}

// anySecret opens every reference.
type anySecret struct{}

func (anySecret) Reveal(context.Context, string, string) (string, bool, error) {
	return "canary-secret", true, nil
}

func TestCredentials(t *testing.T) {
	t.Parallel()
	tokens := 0
	asked := 0
	c := client(t, func(d *fetch.Deps) {
		d.APIURL = "https://private.test/v2"
		d.Platform = transport(func(r *http.Request) (*http.Response, error) {
			if asked++; r.URL.Query().Has("busy") && asked == 1 {
				return reply(r, 429, "application/json", `{"details":{"retryAfter":0.001}}`), nil
			}
			return reply(r, 200, "text/plain", r.Header.Get("Authorization")+"|"+r.Header.Get("X-Svc-Api-Key")), nil
		})
		d.Token = func(*machine.Frame) (string, error) {
			tokens++
			return "jwt" + string(rune('0'+tokens)), nil
		}
		d.ForwardToken = func(*machine.Frame) (string, error) { return "forwarded", nil }
		d.KeyToken = func(_ *machine.Frame, name string) (string, error) {
			if name != "editor" {
				return "", nil
			}
			return "key-1", nil
		}
	})
	basic := base64.StdEncoding.EncodeToString([]byte("u:p"))
	for _, test := range []struct{ name, more, query, want string }{
		{"the token of the run", ``, "", "Bearer jwt1|"},
		{"a fresh token for each attempt", ``, "?busy", "Bearer jwt2|"},
		{"an own header", `"headers":{"authorization":"Bearer own"}`, "", "Bearer own|"},
		{"an API key by its name", `"svcApiKey":{"name":"editor"}`, "", "Bearer key-1|"},
		{"an own API key", `"headers":{"x-svc-api-key":"own"}`, "", "|own"},
		{"the calling workspace", `"auth":{"svc":{"forwardWorkspaceAuth":true}}`, "", "Bearer forwarded|"},
		{"a password", `"auth":{"basic":{"user":"u","password":"p"}}`, "", "Basic " + basic + "|"},
	} {
		tokens, asked = 0, 0
		b := machinetest.New(t)
		got, err := c.Fetch(b.Frame(), parse(t, strings.Replace(`{"url":"https://private.test/v2/workspaces/x`+test.query+`",`+test.more+`}`, ",}", "}", 1)))
		if err != nil || got != test.want {
			t.Errorf("%s: %v %v, want %s", test.name, got, err, test.want)
		}
	}
	for name, more := range map[string]string{
		"an API key that is not there": `"svcApiKey":{"name":"nobody"}`, "oauth2": `"auth":{"oauth2":{}}`, "auth that is no object": `"auth":7`,
		"AWS without a key": `"auth":{"awsv4":{}}`,
	} {
		_, err := c.Fetch(machinetest.Frame(t), parse(t, `{"url":"https://private.test/v2/workspaces/x",`+more+`}`))
		t.Run(name, func(t *testing.T) { wantFailure(t, err, machine.InvalidInstruction, "") })
	}
	b := machinetest.New(t)
	b.Run.Hops = 16
	asked = 0
	_, err := c.Fetch(b.Frame(), parse(t, `{"url":"https://private.test/v2/workspaces/x"}`))
	if wantFailure(t, err, machine.TooManyCalls, ""); asked != 0 {
		t.Error("a round of requests to the platform has no end")
	}
}

func TestSignedRequest(t *testing.T) {
	t.Parallel()
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Header.Get("Authorization")) })
	got, err := client(t, nil).Fetch(machinetest.Frame(t), parse(t, `{"url":"`+base+`","auth":{"awsv4":{"accessKeyId":"AK","secretAccessKey":"s","service":"sqs","region":"eu-west-3"}}}`))
	if err != nil || !strings.HasPrefix(value.String(got), "AWS4-HMAC-SHA256 Credential=AK/") {
		t.Errorf("got %v %v", got, err)
	}
}

// A run that is begun anew does not repeat a fetch that it finished, and asks with the same key when it did not.
func TestDurableRuns(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	keys := make(chan string, 10)
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		keys <- r.Header.Get("Idempotency-Key")
		size := 10
		if r.URL.Path == "/large" {
			size = 70_000
		}
		_, _ = io.WriteString(w, strings.Repeat("a", size))
	})
	c := client(t, nil)
	b := machinetest.New(t, machine.Instructions{"fetch": c.Instruction()})
	b.Journal.Survives = true
	b.Add("small", "do:\n  - fetch: {url: '"+base+"/small', method: post, output: got}\noutput: '{{got}}'")
	b.Add("large", "do:\n  - comment: x\n  - fetch: {url: '"+base+"/large', method: post, output: got}\noutput: '{{got.length}}'")
	for range 2 {
		if result := b.Execute("small", value.NewObject(0)); result.Err != nil || result.Output != "aaaaaaaaaa" {
			t.Fatalf("got %v %v", result.Output, result.Err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("a fetch that was finished was done %d times", n)
	}
	small := <-keys
	for range 2 {
		if result := b.Execute("large", value.NewObject(0)); result.Err != nil {
			t.Fatal(result.Err)
		}
	}
	first, second := <-keys, <-keys
	if !strings.HasPrefix(small, "run-1/") || first == small || first != second || asked.Load() != 3 {
		t.Errorf("asked %d times with the keys %q %q %q", asked.Load(), small, first, second)
	}
}

// recalling is a journal that is asked without a transaction.
type recalling struct{ *machinetest.Journal }

func (j recalling) Recall(_ context.Context, place string) (any, bool, error) {
	noted, ok := j.Places()[place]
	return noted, ok, nil
}

func TestJournalThatIsAskedWithoutATransaction(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	base := serve(t, func(http.ResponseWriter, *http.Request) { asked.Add(1) })
	b := machinetest.New(t)
	b.Journal.Survives = true
	b.Run.Journal = recalling{b.Journal}
	c := client(t, nil)
	for range 2 {
		if got, err := c.Fetch(b.Frame(), parse(t, `{"url":"`+base+`"}`)); err != nil || got != "" {
			t.Errorf("got %v %v", got, err)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestStreamInAnAutomation(t *testing.T) {
	t.Parallel()
	next := make(chan string, 3)
	next <- "data: {\"t\":\"a\"}\n\n"
	close(next)
	var emitted []string
	c := client(t, func(d *fetch.Deps) {
		d.Emit = func(_ *machine.Frame, eventType string, payload any, target, options *value.Object) error {
			emitted = append(emitted, eventType+" "+written(payload)+" "+written(target)+" "+written(options))
			return nil
		}
	})
	got, err := c.Fetch(machinetest.Frame(t), parse(t, `{"url":"`+events(t, next)+`","stream":{"event":"chunk","concatenate":{"path":"t"},"target":{"userId":"u"},"options":{"persist":false}}}`))
	if err != nil || value.Get(got, "body") != "a" || value.Get(got, "stream") != true || value.Get(got, "status") != 200.0 {
		t.Errorf("got %s %v", written(got), err)
	}
	if want := `chunk {"index":0,"chunk":{"data":[{"t":"a"}]},"concatenated":{"value":"a"}} {"userId":"u"} {"persist":false}`; len(emitted) != 1 || emitted[0] != want {
		t.Errorf("emitted %s", emitted)
	}
	next = make(chan string, 3)
	next <- "data: x\n\n"
	b := machinetest.New(t, machine.Instructions{"fetch": c.Instruction()})
	b.Add("main", "do:\n  - fetch: {url: '"+events(t, next)+"', output: got}\n  - repeat:\n      'on': '{{got.body}}'\n      do:\n        - set: {name: all, value: '{{item.chunk.data[0]}}'}\n        - break: {scope: repeat}\noutput: '{{all}}'")
	if result := b.Execute("main", value.NewObject(0)); result.Err != nil || result.Output != "x" {
		t.Errorf("a loop over a stream: %s %v", written(result.Output), result.Err)
	}
}

func TestRunThatEndsIsNotAFailedFetch(t *testing.T) {
	t.Parallel()
	arrived := make(chan struct{}, 1)
	base := serve(t, func(_ http.ResponseWriter, r *http.Request) { arrived <- struct{}{}; <-r.Context().Done() })
	c := client(t, func(d *fetch.Deps) { d.Timeout = time.Minute })
	b := machinetest.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	f := b.Machine.Frame(ctx, b.Run, b.Add("main", "do: []"), value.NewObject(0))
	if _, err := c.Fetch(f, parse(t, `{"url":"`+base+`"}`)); !errors.Is(err, context.Canceled) || len(failures(t, b)) != 0 {
		t.Errorf("got %v %v", err, failures(t, b))
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	parents := make(chan string, 2)
	base := serve(t, func(w http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusNotFound)
	})
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	c := client(t, func(d *fetch.Deps) { d.Tracer = provider.Tracer("test") })
	_, _ = c.Fetch(machinetest.Frame(t), parse(t, `{"url":"`+base+`/?token=canary","method":"PUT"}`))
	_, _ = c.Fetch(machinetest.Frame(t), parse(t, `{"url":"http://127.0.0.1:1/"}`))
	spans := recorder.Ended()
	if len(spans) != 2 || spans[0].Name() != "fetch PUT" || spans[1].Status().Code != codes.Error {
		t.Fatalf("spans: %v", spans)
	}
	if got := <-parents; !strings.Contains(got, spans[0].SpanContext().SpanID().String()) {
		t.Errorf("the server is told of %q", got)
	}
	for _, attribute := range spans[0].Attributes() {
		if strings.Contains(attribute.Value.AsString(), "canary") {
			t.Errorf("%s holds the address", attribute.Key)
		}
	}
}
