package restapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is an API in a test, with its log and its clock.
type bench struct {
	*restapi.API
	log *logs
	clk *clock.Manual
}

// newBench returns an API without operations; db may be nil.
func newBench(db *sqldb.DB) *bench {
	b := &bench{log: &logs{}, clk: clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))}
	b.API = restapi.New(restapi.Config{
		Service: "bench", Log: slog.New(slog.NewJSONHandler(b.log, nil)), Clock: b.clk, DB: db, MaxBody: 1 << 10,
	})
	return b
}

// logs collects what is logged.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

const correlationID = "the-correlation-id"

// call is a request of a signed-in user.
type call struct {
	method, path, body string
	header             http.Header
	who                access.Principal
	anonymous          bool            // nobody: no credential at all
	ctx                context.Context //nolint:containedctx // how the request ends is part of the call
}

func (c call) with(name, value string) call {
	c.header = c.header.Clone()
	if c.header == nil {
		c.header = http.Header{}
	}
	c.header.Add(name, value)
	return c
}

func alice() access.Principal { return access.Principal{Kind: access.User, UserID: "alice"} }

// serve carries out a call the way the gateway would hand it over.
func (b *bench) serve(t *testing.T, c call) answer {
	t.Helper()
	if c.ctx == nil {
		c.ctx = t.Context()
	}
	if c.who.Kind == access.Nobody && !c.anonymous {
		c.who = alice()
	}
	ctx := access.With(httpx.WithInfo(c.ctx, &httpx.Info{CorrelationID: correlationID, Shape: httpx.ShapeFlat}), c.who)
	r := httptest.NewRequestWithContext(ctx, c.method, c.path, strings.NewReader(c.body))
	maps.Copy(r.Header, c.header)
	if c.body != "" && r.Header.Get("Content-Type") == "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	b.Handler().ServeHTTP(w, r)
	return answer{w}
}

type answer struct{ *httptest.ResponseRecorder }

// code is the error code of the answer.
func (a answer) code() string {
	var body struct{ Error string }
	_ = json.Unmarshal(a.Body.Bytes(), &body)
	return body.Error
}

func (a answer) want(t *testing.T, status int, code string) answer {
	t.Helper()
	if a.Code != status || a.code() != code {
		t.Errorf("%d %s, want %d %s\n%s", a.Code, a.code(), status, code, a.Body)
	}
	return a
}
