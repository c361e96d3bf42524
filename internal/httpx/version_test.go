package httpx_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/httpx"
)

func day(text string) time.Time {
	d, _ := time.Parse(time.DateOnly, text)
	return d
}

// A made-up history: v1 retired, v2 deprecated, v3 stable, and three behaviours.
func history(cfg *httpx.FrontConfig) {
	cfg.Versions = httpx.NewVersions([]httpx.Generation{
		{Name: "v1", State: httpx.Retired, Shape: httpx.ShapeFlat, Announced: day("2024-01-01"), Retires: day("2025-01-01"), Notice: "v1 is gone."},
		{Name: "v2", State: httpx.Deprecated, Shape: httpx.ShapeFlat, Announced: day("2025-06-01"), Retires: day("2026-12-31"), Notice: "Move to v3."},
		{Name: "v3", State: httpx.Stable, Shape: httpx.ShapeNested},
	}, []httpx.Behaviour{{Date: "2025-01-01"}, {Date: "2025-07-01"}, {Date: "2026-01-01"}}, func() time.Time { return day("2026-03-01").Add(12 * time.Hour) })
}

func TestBehaviourByDate(t *testing.T) {
	t.Parallel()
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		version := httpx.InfoFrom(r.Context()).Version
		for _, date := range []httpx.Date{"2025-01-01", "2025-07-01", "2026-01-01"} {
			if version.AtLeast(date) {
				w.Header().Add("Behaves", string(date))
			}
		}
	}, history)
	for asked, used := range map[string]string{
		"":           "2026-01-01",
		"2025-01-01": "2025-01-01",
		"2025-06-30": "2025-01-01",
		"2025-07-01": "2025-07-01",
		"2025-12-31": "2025-07-01",
		"2026-01-01": "2026-01-01",
		"2026-03-01": "2026-01-01",
	} {
		var headers []string
		if asked != "" {
			headers = []string{"X-Svc-API-Version", asked}
		}
		got := s.get("/v3/x", headers...)
		behaves := got.Header.Values("Behaves")
		if got.Header.Get("X-Svc-API-Version-Used") != used || behaves[len(behaves)-1] != used {
			t.Errorf("%q: used %s, behaves like %v", asked, got.Header.Get("X-Svc-API-Version-Used"), behaves)
		}
	}
	for _, asked := range []string{"2024-12-31", "2026-03-02", "2026-02-29", "x"} {
		got := s.get("/v2/x", "X-Svc-API-Version", asked)
		if got.StatusCode != http.StatusBadRequest || got.code() != "invalid_parameter" || got.Header.Get("X-Svc-API-Version-Used") != "2026-01-01" {
			t.Errorf("%s: %d %s", asked, got.StatusCode, got.text)
		}
	}
}

// A deprecated version works and announces its end, in the specification's header and in the standard ones; for errors too.
func TestDeprecation(t *testing.T) {
	t.Parallel()
	served := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { served++; ok(w, r) }, history)
	for _, path := range []string{"/v2/x", "/v2//"} {
		got := s.get(path)
		if got.Header.Get("X-Svc-API-Deprecation") != "Move to v3." || got.Header.Get("Deprecation") != "@1748736000" ||
			got.Header.Get("Sunset") != "Thu, 31 Dec 2026 00:00:00 GMT" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
	if got := s.get("/v1/x", "X-Svc-API-Version", "nonsense"); got.StatusCode != http.StatusGone || !strings.Contains(got.text, "v1 is gone.") {
		t.Errorf("%d %s", got.StatusCode, got.text)
	}
	for _, path := range []string{"/v3/x", "/v22/x", "/v2x", "/x/v2", "/V2/x", "/"} {
		if got := s.get(path); got.Header.Get("X-Svc-API-Deprecation") != "" || got.Header.Get("Sunset") != "" {
			t.Errorf("%s: %v", path, got.Header)
		}
	}
	if served != 7 {
		t.Errorf("%d requests were served", served)
	}
}

// The tables of the product: behaviours in order and of the past, the versions of the specification.
func TestVersionTables(t *testing.T) {
	t.Parallel()
	var before httpx.Date
	for _, b := range httpx.Behaviours() {
		if _, err := time.Parse(time.DateOnly, string(b.Date)); err != nil || b.Date <= before || b.Changes == "" {
			t.Errorf("%+v after %s", b, before)
		}
		before = b.Date
	}
	states := map[string]httpx.State{}
	for _, g := range httpx.Generations() {
		states[g.Name] = g.State
		ends := g.State == httpx.Deprecated || g.State == httpx.Retired
		if ends && (g.Notice == "" || g.Retires.Before(g.Announced.AddDate(1, 0, 0))) {
			t.Errorf("%s must be announced, twelve months before it retires", g.Name)
		}
	}
	if states["v1"] != httpx.Retired || states["v2"] != httpx.Stable || states["v3"] != httpx.Beta {
		t.Errorf("%v", states)
	}
}

// Whatever the header says, the answer is a behaviour of the table or a refusal, and names the version used.
func FuzzVersionHeader(f *testing.F) {
	for _, seed := range []string{"2025-01-01", "2025-07-02", "9999-99-99", "", "2025-1-1", "2025-01-01 ", "\x00", "２０２５-01-01"} {
		f.Add(seed)
	}
	cfg := httpx.FrontConfig{}
	history(&cfg)
	f.Fuzz(func(t *testing.T, asked string) {
		used, err := httpx.Resolve(cfg.Versions, asked)
		day, parseErr := time.Parse(time.DateOnly, asked)
		inRange := parseErr == nil && asked >= "2025-01-01" && !day.After(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		if (err == nil) != inRange {
			t.Errorf("%q: %v", asked, err)
		}
		if err == nil && (string(used) > asked || used != "2025-01-01" && used != "2025-07-01" && used != "2026-01-01") {
			t.Errorf("%q: used %q", asked, used)
		}
	})
}
