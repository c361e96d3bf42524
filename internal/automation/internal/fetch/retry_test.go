package fetch_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/automation/internal/fetch"
	"atelier/internal/clock"
	"atelier/internal/egress"
)

func TestRetriesByStatus(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	const ms = time.Millisecond
	for name, test := range map[string]struct {
		method, after string
		status        int
		naps          []time.Duration
	}{
		"too many":                    {"GET", "", 429, []time.Duration{200 * ms, 400 * ms, 800 * ms}},
		"too many, of a POST":         {"POST", "", 429, []time.Duration{200 * ms, 400 * ms, 800 * ms}},
		"with a time":                 {"GET", "2", 503, []time.Duration{2 * time.Second, 2 * time.Second, 2 * time.Second}},
		"with a date":                 {"GET", noon.Add(9 * time.Second).Format(http.TimeFormat), 503, []time.Duration{9 * time.Second, 9 * time.Second, 9 * time.Second}},
		"with a time that is long":    {"GET", "61", 429, nil},
		"with a time that is endless": {"GET", "99999999999", 429, nil},
		"with a time that is none":    {"GET", "soon", 502, []time.Duration{200 * ms, 400 * ms, 800 * ms}},
		"unavailable, of a POST":      {"POST", "", 503, nil},
		"a bad gateway, of a PUT":     {"PUT", "", 502, []time.Duration{200 * ms, 400 * ms, 800 * ms}},
		"an error":                    {"GET", "", 500, nil},
		"not found":                   {"GET", "", 404, nil},
	} {
		var asked atomic.Int64
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if body, _ := io.ReadAll(r.Body); r.Method != http.MethodGet && string(body) != `{"a":1}` {
				t.Errorf("%s: the body is %q", name, body)
			}
			w.Header().Set("Retry-After", test.after)
			w.WriteHeader(test.status)
		})
		var slept naps
		c := client(t, func(d *fetch.Deps) { d.Clock = clock.NewManual(noon) })
		_, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`","method":"`+test.method+`","body":{"a":1}}`), slept.sleep)
		if err != nil || asked.Load() != int64(len(test.naps)+1) {
			t.Errorf("%s: asked %d times, %v", name, asked.Load(), err)
		}
		if diff := cmp.Diff(test.naps, slept.all); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestPlatformSaysWhenToAskAgain(t *testing.T) {
	t.Parallel()
	for after, want := range map[string]int{"1.5": 2, "60.9": 2, "61": 1, "1e9": 1, `"x"`: 2} {
		asked := 0
		var slept naps
		c := client(t, func(d *fetch.Deps) {
			d.APIURL = "https://private.test"
			d.Platform = transport(func(r *http.Request) (*http.Response, error) {
				if asked++; asked == 1 {
					return reply(r, 429, "application/json", `{"error":"rate_limited","details":{"retryAfter":`+after+`}}`), nil
				}
				return reply(r, 200, "text/plain", "done"), nil
			})
		})
		got, err := c.Try(t.Context(), parse(t, `{"url":"https://private.test/workspaces/x","method":"POST"}`), slept.sleep)
		if err != nil || asked != want || want == 2 && got != "done" {
			t.Errorf("%s: asked %d times, %v %v", after, asked, got, err)
		}
		if after == "1.5" && slept.all[0] != 1500*time.Millisecond {
			t.Errorf("slept %v", slept.all)
		}
	}
}

func TestRetriesOfBrokenConnections(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		method string
		codes  []string
		asked  int64
	}{
		"a GET":               {"GET", nil, 3},
		"a DELETE":            {"DELETE", nil, 3},
		"a POST may be done":  {"POST", nil, 1},
		"a PATCH may be done": {"PATCH", nil, 1},
		"not in the settings": {"GET", []string{"EPIPE"}, 1},
		"none in them":        {"GET", []string{}, 1},
	} {
		var asked atomic.Int64
		base := speak(t, func(conn net.Conn) {
			if asked.Add(1) < 3 {
				return // closed without an answer
			}
			raw("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\ndone")(conn)
		})
		var slept naps
		c := client(t, func(d *fetch.Deps) { d.RetryCodes = test.codes })
		got, err := c.Try(t.Context(), parse(t, `{"url":"`+base+`","method":"`+test.method+`","body":"x"}`), slept.sleep)
		if n := asked.Load(); n != test.asked || (n == 3) != (err == nil && got == "done") {
			t.Errorf("%s: asked %d times, %v %v", name, n, got, err)
		}
		if err != nil {
			wantFailure(t, err, fetch.FetchError, egress.Unreachable)
		}
	}
}

// A connection that was never made has sent nothing: also a POST may try again.
func TestRetriesOfRefusedConnections(t *testing.T) {
	t.Parallel()
	var slept naps
	c := client(t, func(d *fetch.Deps) { d.RetryCodes, d.MaxRetries = []string{"ECONNREFUSED"}, 2 })
	_, err := c.Try(t.Context(), parse(t, `{"url":"http://127.0.0.1:1","method":"POST","body":"x"}`), slept.sleep)
	wantFailure(t, err, fetch.FetchError, egress.Unreachable)
	if len(slept.all) != 2 {
		t.Errorf("slept %v", slept.all)
	}
}

func TestSleepThatEndsIsTheEnd(t *testing.T) {
	t.Parallel()
	ended := errors.New("the run has ended")
	base := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	_, err := client(t, nil).Try(t.Context(), parse(t, fmt.Sprintf(`{"url":%q}`, base)), func(time.Duration) error { return ended })
	if !errors.Is(err, ended) {
		t.Errorf("got %v", err)
	}
}
