package service_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/service"
	"atelier/internal/restapi"
)

const searchPath = "/v2/workspaces/" + home + "/search"

func (c *caller) search(body string) *answer {
	c.house.t.Helper()
	return c.do(http.MethodPost, searchPath, body)
}

// found gives the numbers n of the payloads of what was found.
func (a *answer) found() string {
	a.t.Helper()
	var all []string
	for i := range a.want(http.StatusOK).at("documents").([]any) {
		all = append(all, a.text(fmt.Sprintf("documents.%d.payload.n", i)))
	}
	return strings.Join(all, " ")
}

// aggs gives the figures as JSON.
func (a *answer) aggs() string {
	a.t.Helper()
	shown, err := json.Marshal(a.want(http.StatusOK).at("aggs"))
	if err != nil {
		a.t.Fatal(err)
	}
	return string(shown)
}

// hours fills the workspace with an event each hour of two days.
func (h *house) hours() {
	h.t.Helper()
	for i := range 48 {
		h.past(march.Add(time.Duration(i)*time.Hour), 500, home, []string{"a", "b", "c", "a"}[i%4],
			fmt.Sprintf(`{"payload":{"n":%d,"half":%g,"who":"w%d"},"source":{"userId":"u%d"}}`, i, float64(i)/2, i%5, i%3))
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		h.hours()
		h.past(march, 0, "Other00", "a", `{"payload":{"n":99},"source":{}}`)
		for body, want := range map[string]string{
			`{"query":{"term":{"payload.who":"w1"}},"limit":3}`:                                                                                         "46 41 36",
			`{"query":{"term":{"payload.who":"w1"}},"limit":3,"page":1}`:                                                                                "31 26 21",
			`{"query":{"term":{"type":"b"}},"sort":[{"createdAt":"asc"}],"limit":2}`:                                                                    "1 5",
			`{"query":{"terms":{"type":["b","c"]}},"sort":[{"id":{"order":"asc"}}],"limit":4,"scope":"events"}`:                                         "1 2 5 6",
			`{"query":{"match_all":{}},"sort":[{"payload.half":"desc"}],"limit":2}`:                                                                     "47 46",
			`{"query":{"range":{"payload.n":{"lt":10}}},"sort":[{"payload.none":"asc"},{"createdAt":"asc"}],"limit":2,"page":1}`:                        "2 3",
			`{"query":{"bool":{"filter":[{"range":{"createdAt":{"gte":"2026-03-02","lt":"2026-03-02T03:00:00Z"}}}],"must_not":{"term":{"type":"a"}}}}}`: "26 25",
		} {
			if got := h.ann.search(body).found(); got != want {
				t.Errorf("%s: %s, want %s", body, got, want)
			}
		}
		picked := h.ann.search(`{"query":{"match_all":{}},"limit":1,"source":["type","payload.n"]}`).want(http.StatusOK)
		if shown, _ := json.Marshal(picked.at("documents.0")); string(shown) != `{"payload":{"n":47},"type":"a"}` || picked.text("size") != "48" {
			t.Errorf("fields: %s", picked.body)
		}
		none := h.ann.search(`{"query":{"term":{"type":"b"}},"limit":0,"track_total_hits":true}`).want(http.StatusOK)
		if none.text("size") != "12" || none.text("documents") != "[]" || none.at("aggs") != nil {
			t.Errorf("no documents: %s", none.body)
		}
		h.ann.emit(`{"type":"gone","payload":{"n":1},"options":{"persist":false}}`).want(http.StatusOK)
		for _, query := range []string{`{"match_all":{}}`, `{"exists":{"field":"type"}}`} {
			if got := h.ann.search(`{"query":` + query + `,"limit":0,"aggs":{"t":{"terms":{"field":"type"}},"d":{"date_histogram":{"field":"createdAt","calendar_interval":"year"}}}}`).want(http.StatusOK); got.text("size") != "48" ||
				strings.Contains(got.body.String(), "gone") || got.text("aggs.d.buckets.0.doc_count") != "48" {
				t.Errorf("transient events are found: %s", got.body)
			}
		}
	})
}

// Figures that the database counts are those that come of reading the events.
func TestCountedAsRead(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		h.hours()
		h.ann.emit(`{"type":"a","payload":{"n":1},"options":{"persist":false}}`).want(http.StatusOK)
		for _, aggs := range []string{
			`{"d":{"date_histogram":{"field":"createdAt","fixed_interval":"5h"}}}`,
			`{"d":{"date_histogram":{"field":"createdAt","calendar_interval":"day","time_zone":"America/New_York","min_doc_count":1}},"t":{"terms":{"field":"type","size":2}}}`,
			`{"d":{"date_histogram":{"field":"createdAt","calendar_interval":"month","extended_bounds":{"min":"2026-01","max":"2026-05"}}}}`,
			`{"t":{"terms":{"field":"type","order":{"_key":"desc"}}}}`,
		} {
			for _, query := range []string{
				`{"match_all":{}}`, `{"terms":{"type":["a","c","z"]}}`, `{"term":{"type":"z"}}`, `{"range":{"createdAt":{"gt":"2026-03-01T05:30:00Z","lte":"2026-03-02T20:00:00Z"}}}`,
				`{"bool":{"filter":[{"term":{"type":"b"}},{"range":{"createdAt":{"gte":"2026-03-02"}}}]}}`,
			} {
				counted := h.ann.search(`{"query":` + query + `,"limit":2,"aggs":` + aggs + `}`).want(http.StatusOK)
				read := h.ann.search(`{"query":{"bool":{"must":[` + query + `,{"exists":{"field":"type"}}]}},"limit":2,"aggs":` + aggs + `}`).want(http.StatusOK)
				if counted.body.String() != read.body.String() {
					t.Errorf("%s of %s:\ncounted %s\n   read %s", aggs, query, counted.body, read.body)
				}
			}
		}
		nested := h.ann.search(`{"query":{"match_all":{}},"limit":0,"aggs":{"t":{"terms":{"field":"type","size":1},"aggs":{"s":{"stats":{"field":"payload.n"}},"w":{"terms":{"field":"payload.who","size":1}}}}}}`)
		const want = `{"t":{"buckets":[{"doc_count":24,"key":"a","s":{"avg":23.5,"count":24,"max":47,"min":0,"sum":564},"w":{"buckets":[{"doc_count":5,"key":"w0"}],"doc_count_error_upper_bound":0,"sum_other_doc_count":19}}],"doc_count_error_upper_bound":0,"sum_other_doc_count":24}}`
		if got := nested.aggs(); got != want {
			t.Errorf("nested: %s", got)
		}
	})
}

// What may not be read is in no document, no size and no figure.
func TestSearchByRules(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		h.hours()
		h.secure(`
authorizations:
  rules:
    - {action: read, subject: events, conditions: {source.userId: u1}}
    - {action: read, subject: events, inverted: true, conditions: {type: c}}
    - {action: [read, aggregate_search], subject: workspaces}
`)
		for _, query := range []string{`{"match_all":{}}`, `{"exists":{"field":"type"}}`} {
			got := h.eve.search(`{"query":` + query + `,"limit":1,"aggs":{"t":{"terms":{"field":"type"}},"u":{"terms":{"field":"source.userId"}}}}`).want(http.StatusOK)
			const want = `{"t":{"buckets":[{"doc_count":8,"key":"a"},{"doc_count":4,"key":"b"}],"doc_count_error_upper_bound":0,"sum_other_doc_count":0},` +
				`"u":{"buckets":[{"doc_count":12,"key":"u1"}],"doc_count_error_upper_bound":0,"sum_other_doc_count":0}}`
			if got.text("size") != "12" || got.aggs() != want {
				t.Errorf("%s: %s", query, got.body)
			}
		}
		h.secure(`{"authorizations":{"rules":[{"action":"read","subject":"events"},{"action":"read","subject":"workspaces"}]}}`)
		h.eve.search(`{"query":{"match_all":{}}}`).want(http.StatusOK)
		h.eve.search(`{"query":{"match_all":{}},"aggs":{"t":{"terms":{"field":"type"}}}}`).wantError(http.StatusForbidden, errs.PermissionDenied)
		h.ann.search(`{"query":{"match_all":{}},"aggs":{"t":{"terms":{"field":"type"}}}}`).want(http.StatusOK)
	})
}

func TestSearchersByDefault(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		h.hours()
		const all = `{"query":{"match_all":{}},"limit":0,"aggs":{"t":{"cardinality":{"field":"type"}}}}`
		h.bob.search(all).want(http.StatusOK)
		h.eve.search(all).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.nobody.search(all).wantError(http.StatusUnauthorized, errs.MissingToken)
		h.key("create", "events").search(all).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.key("read", "events").search(`{"query":{"match_all":{}}}`).want(http.StatusOK)
		h.root.do(http.MethodPost, "/v2/workspaces/NoSuch0/search", all).wantError(http.StatusNotFound, errs.NotFound)
		h.ann.do(http.MethodPost, "/v2/workspaces/slug:at-home/search", all).want(http.StatusOK)
	})
}

// All workspaces together are for super admins.
func TestSearchEverywhere(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		for i := range 200 {
			h.past(march.Add(time.Duration(i)*time.Second), 0, fmt.Sprintf("Work%03d", i%40), []string{"a", "b"}[i%2], fmt.Sprintf(`{"payload":{"n":%d},"source":{}}`, i))
		}
		const some = `{"query":{"terms":{"type":["a"]}},"limit":4,"aggs":{"n":{"sum":{"field":"payload.n"}}}}`
		got := h.root.do(http.MethodPost, "/v2/search", some)
		if got.found() != "198 196 194 192" || got.text("size") != "100" || got.text("aggs.n.value") != "9900" {
			t.Errorf("everywhere: %s", got.body)
		}
		if got := h.root.do(http.MethodPost, "/v2/search", `{"query":{"match_all":{}},"limit":3,"sort":[{"createdAt":"asc"}]}`).found(); got != "0 1 2" {
			t.Errorf("the oldest: %s", got)
		}
		if got := h.root.do(http.MethodPost, "/v2/search", `{"query":{"match_all":{}},"limit":3,"sort":[{"payload.n":"desc"}]}`).found(); got != "199 198 197" {
			t.Errorf("the largest: %s", got)
		}
		if got := h.root.do(http.MethodPost, "/v2/workspaces/Work03*/search", `{"query":{"match_all":{}},"limit":2}`); got.found() != "199 198" || got.text("size") != "50" {
			t.Errorf("some workspaces: %s", got.body)
		}
		token := h.user("root")
		token.who.SuperAdmin, token.who.Scopes = true, []string{string(access.EventsRead)}
		token.search(some).want(http.StatusOK)
		token.do(http.MethodPost, "/v2/search", some).wantError(http.StatusForbidden, errs.InsufficientScope)
		token.do(http.MethodPost, "/v2/workspaces/*/search", some).wantError(http.StatusForbidden, errs.InsufficientScope)
		h.ann.do(http.MethodPost, "/v2/search", some).wantError(http.StatusForbidden, errs.PermissionDenied)
		h.nobody.do(http.MethodPost, "/v2/search", some).wantError(http.StatusUnauthorized, errs.MissingToken)
		for _, pattern := range []string{"*", home + "*", "H*"} {
			h.ann.do(http.MethodPost, "/v2/workspaces/"+pattern+"/search", some).wantError(http.StatusForbidden, errs.PermissionDenied)
			h.nobody.do(http.MethodPost, "/v2/workspaces/"+pattern+"/search", some).wantError(http.StatusUnauthorized, errs.MissingToken)
		}
	})
}

func TestWrongSearches(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		for body, field := range map[string]string{
			`{}`:                                  "query",
			`{"query":{"match_all":{}},"size":5}`: "size",
			`{"query":{"match_all":{}},"limit":1001}`:                        "limit",
			`{"query":{"match_all":{}},"limit":-1}`:                          "limit",
			`{"query":{"match_all":{}},"limit":1000,"page":10}`:              "page",
			`{"query":{"match_all":{}},"scope":"files"}`:                     "scope",
			`{"query":{"script":{}}}`:                                        "query.script",
			`{"query":{"match_all":{}},"runtime_mappings":{}}`:               "runtime_mappings",
			`{"query":{"match_all":{}},"aggs":{"a":{"scripted_metric":{}}}}`: "aggs.a.scripted_metric",
			`{"query":{"match_all":{}},"sort":[{"foo":"asc"}]}`:              "sort[0].foo",
			`{"query":{"match_all":{}},"source":["foo"]}`:                    "source[0]",
		} {
			refused := h.ann.search(body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
			if got := refused.text("details.errors.0.field"); got != field {
				t.Errorf("%s: it names %q\n%s", body, got, refused.body)
			}
		}
	})
}

// A search that takes too long ends, and says what to do.
func TestSearchesEnd(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.hours()
		cursors, err := restapi.NewCursors("a key for tests, long enough to be one")
		if err != nil {
			t.Fatal(err)
		}
		h.door = service.New(service.Deps{
			Log: slog.New(slog.DiscardHandler), Clock: h.clock, DB: h.db, Bus: h.log, Access: h.rules, Resolve: resolve, MaxBody: 1 << 20,
			Cursors: cursors, SearchTimeout: time.Nanosecond,
		}).API.Handler()
		h.ann.search(`{"query":{"term":{"payload.x":"y"}}}`).wantError(http.StatusGatewayTimeout, errs.GatewayTimeout)
		h.ann.get(events+"?payload.x=y").wantError(http.StatusGatewayTimeout, errs.GatewayTimeout)
		h.ann.get("/v2/workspaces/"+home+"/usage?afterDate=2026-01-01&beforeDate=2027-01-01").wantError(http.StatusGatewayTimeout, errs.GatewayTimeout)
	})
}
