package webhook_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/clock"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		output   any
		controls []string
		status   int
		kind     string
		body     string
	}{
		"an object":        {machine.Payload("a", 1.0), nil, 200, "application/json", `{"a":1}`},
		"nothing":          {value.Undefined{}, nil, 200, "application/json", `{}`},
		"null":             {nil, nil, 200, "application/json", `null`},
		"a list":           {[]any{1.0, value.Undefined{}}, nil, 200, "application/json", `[1,null]`},
		"a text":           {"hi", nil, 200, "application/json", `"hi"`},
		"status":           {"hi", []string{`{"status":201}`}, 201, "application/json", `"hi"`},
		"the last status":  {"hi", []string{`{"status":201}`, `{"status":"404"}`}, 404, "application/json", `"hi"`},
		"no content":       {"hi", []string{`{"status":204}`}, 204, "", ``},
		"another kind":     {"<b>", []string{`{"headers":{"content-type":"text/csv"}}`}, 200, "text/csv", `<b>`},
		"JSON of a kind":   {"a", []string{`{"headers":{"Content-Type":"application/ld+json"}}`}, 200, "application/ld+json", `"a"`},
		"object as a text": {machine.Payload("a", 1.0), []string{`{"headers":{"content-type":"text/plain"}}`}, 200, "text/plain", `{"a":1}`},
		"kind taken back":  {"a", []string{`{"headers":{"content-type":"text/plain"}}`, `{"headers":{"Content-Type":null}}`}, 200, "application/json", `"a"`},
		"unknown":          {"a", []string{`{"body":"x"}`}, 200, "application/json", `"a"`},
		"empty chunk":      {"a", []string{`{"chunk":null,"sseKeepAlive":null,"headers":null}`}, 200, "application/json", `"a"`},
	} {
		w := answered(t, c.output, c.controls...)
		if w.Code != c.status || w.Header().Get("Content-Type") != c.kind || w.Body.String() != c.body {
			t.Errorf("%s: %d, %q, %s", name, w.Code, w.Header().Get("Content-Type"), w.Body)
		}
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	w := answered(t, "", `{"headers":{"x-a":"1","X-List":["a",2,true],"connection":"close","Content-Length":"7","transfer-encoding":"x","vary":"X-A"}}`, `{"headers":{"X-A":"2"}}`,
		`{"headers":{"set-cookie":["a=b; Path=/x; HttpOnly","my-access-token=1"]}}`)
	h := w.Header()
	if h.Get("X-A") != "2" || !slices.Equal(h["X-List"], []string{"a", "2", "true"}) || h.Get("Connection") != "" || h.Get("Content-Length") != "2" || h.Get("Transfer-Encoding") != "" {
		t.Error(h)
	}
	if !slices.Equal(h["Set-Cookie"], []string{"a=b; Path=/x; HttpOnly", "my-access-token=1"}) {
		t.Error(h["Set-Cookie"])
	}
	for kind, sandboxed := range map[string]bool{"text/html": true, "image/svg+xml": true, "application/xml": true, "weird": true, "text/plain": false, "application/json": false} {
		w := answered(t, "<script>", `{"headers":{"content-type":"`+kind+`"}}`)
		if strings.Contains(w.Header().Get("Content-Security-Policy"), "sandbox") != sandboxed {
			t.Errorf("%s: %v", kind, w.Header())
		}
	}
}

func TestRefusedControls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ control, says string }{
		"no object":       {`"x"`, "must be set to an object"},
		"low status":      {`{"status":199}`, "$http.status must be a number from 200 to 599"},
		"high status":     {`{"status":600}`, "$http.status"},
		"half a status":   {`{"status":200.5}`, "$http.status"},
		"no status":       {`{"status":"ok"}`, "$http.status"},
		"headers":         {`{"headers":[]}`, "$http.headers must be an object"},
		"name":            {`{"headers":{"a b":"c"}}`, "a name that no header can have"},
		"no name":         {`{"headers":{"":"c"}}`, "a name that no header can have"},
		"name injects":    {`{"headers":{"a\r\nb":"c"}}`, "a name that no header can have"},
		"value injects":   {`{"headers":{"a":"b\r\nSet-Cookie: access-token=x"}}`, "$http.headers.a must be a text of one line"},
		"newline":         {`{"headers":{"a":"b\nc"}}`, "$http.headers.a"},
		"zero":            {`{"headers":{"a":"b\u0000c"}}`, "$http.headers.a"},
		"list injects":    {`{"headers":{"a":["b","c\r\n"]}}`, "$http.headers.a"},
		"an object":       {`{"headers":{"a":{}}}`, "$http.headers.a"},
		"of the gateway":  {`{"headers":{"X-Svc-User-Id":"x"}}`, "is set by the platform"},
		"policy":          {`{"headers":{"content-security-policy":"x"}}`, "is set by the platform"},
		"credentials":     {`{"headers":{"access-control-allow-credentials":"true"}}`, "is set by the platform"},
		"token":           {`{"headers":{"set-cookie":"access-token=x"}}`, "must not be named access-token"},
		"token in a list": {`{"headers":{"Set-Cookie":["a=b","access-token=x; Path=/"]}}`, "must not be named access-token"},
		"other letters":   {`{"headers":{"set-cookie":"Access-Token=x"}}`, "must not be named"},
		"session":         {`{"headers":{"set-cookie":"__Host-_sessionv2=x; Path=/; Secure"}}`, "must not be named"},
		"blanks":          {`{"headers":{"set-cookie":"  access-token = x"}}`, "$http.headers.set-cookie"},
		"nameless":        {`{"headers":{"set-cookie":"=access-token=x"}}`, "is no cookie"},
		"many headers":    {`{"headers":{` + strings.TrimSuffix(strings.Repeat(`"a%d":"",`, 51), ",") + `}}`, "at most 50 names"},
		"long headers":    {`{"headers":{"a":"` + strings.Repeat("x", 20_000) + `"}}`, "at most 16384 bytes"},
		"large chunk":     {`{"chunk":"` + strings.Repeat("x", 5<<20) + `"}`, "$http.chunk must have at most"},
		"no time":         {`{"sseKeepAlive":"often"}`, "$http.sseKeepAlive"},
		"true":            {`{"sseKeepAlive":true}`, "$http.sseKeepAlive"},
		"a long time":     {`{"sseKeepAlive":1e9}`, "$http.sseKeepAlive"},
	} {
		if strings.Contains(c.control, "%d") {
			names := make([]any, strings.Count(c.control, "%d"))
			for i := range names {
				names[i] = i
			}
			c.control = fmt.Sprintf(c.control, names...)
		}
		w := httptest.NewRecorder()
		s := webhook.NewStream(w, options(clock.System{}))
		err := s.Set(t.Context(), object(t, c.control))
		var failure *machine.Failure
		if !errors.As(err, &failure) || failure.Name != machine.InvalidInstruction || !strings.Contains(failure.Message, c.says) {
			t.Errorf("%s: %v", name, err)
		}
		s.Finish("x") // nothing of what was refused is in the answer
		if w.Code != 200 || len(w.Header()) != 2 || w.Body.String() != `"x"` {
			t.Errorf("%s: %d, %v, %s", name, w.Code, w.Header(), w.Body)
		}
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err    error
		status int
		body   string
	}{
		"not found":  {machine.Fail(machine.ObjectNotFound, "No.").With(machine.Payload("endpoint", "x")), 404, `{"error":"ObjectNotFoundError","message":"No.","details":{"endpoint":"x"}}`},
		"forbidden":  {machine.Fail(machine.Forbidden, "No."), 403, `{"error":"ForbiddenError","message":"No."}`},
		"too large":  {machine.Fail(machine.InvalidUpload, "No.").With(map[string]any{"limit": 5}), 413, `{"error":"InvalidUploadError","message":"No.","details":{"limit":5}}`},
		"too much":   {machine.Fail(machine.QuotaExceeded, "No."), 429, `{"error":"WorkspaceQuotaExceeded","message":"No."}`},
		"suspended":  {machine.Fail(machine.Suspended, "No."), 400, `{"error":"SuspendedWorkspaceError","message":"No."}`},
		"arguments":  {machine.Fail(machine.InvalidArguments, "No.").With([]any{"x"}), 400, `{"error":"InvalidArgumentsError","message":"No.","details":["x"]}`},
		"its own":    {fmt.Errorf("wrapped: %w", machine.Fail("MyError", "No.")), 400, `{"error":"MyError","message":"No."}`},
		"time":       {machine.Fail(machine.Timeout, "No."), 504, `{"error":"WorkflowTimeoutError","message":"No."}`},
		"deadline":   {fmt.Errorf("in sql: %w", context.DeadlineExceeded), 504, `{"error":"WorkflowTimeoutError","message":"The automation took too long and was stopped; let it do less at a time."}`},
		"stopping":   {context.Canceled, 503, `{"error":"SvcError","message":"Something went wrong on our side. Try again; quote the correlation id when you report it."}`},
		"ours":       {errors.New("password of /etc/x"), 500, `{"error":"SvcError","message":"Something went wrong on our side. Try again; quote the correlation id when you report it."}`},
		"a service":  {errs.Missing("files", "x"), 404, `{"error":"ObjectNotFoundError","message":"It does not exist, or not any more.","details":{"id":"x","subjectType":"files"}}`},
		"fault":      {errs.Wrap(errors.New("secret"), "doing"), 500, `{"error":"SvcError","message":"Something went wrong on our side. Try again; quote the correlation id when you report it."}`},
		"odd detail": {machine.Fail("MyError", "No.").With(func() {}), 400, `{"error":"MyError","message":"No."}`},
	} {
		w := answered(t, c.err, `{"status":201,"headers":{"x-a":"1","content-type":"text/html"}}`)
		if w.Code != c.status || w.Body.String() != c.body || w.Header().Get("Content-Type") != "application/json" || w.Header().Get("X-A") != "" {
			t.Errorf("%s: %d, %v, %s", name, w.Code, w.Header(), w.Body)
		}
	}
}
