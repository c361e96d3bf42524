package service_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"atelier/internal/bus"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// past stores an event as if it had been emitted at another time; n tells those of one time apart.
func (h *house) past(at time.Time, n int, workspaceID, eventType, body string) string {
	h.t.Helper()
	position := bus.PositionAt(at, bus.PartitionOf(workspaceID)) + bus.Position(n)*bus.Step
	stored, err := envelope.Read(bus.Event{Body: []byte(body)})
	if err != nil {
		h.t.Fatal(err)
	}
	source := stored.Source
	h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO bus_events (partition, pos, workspace_id, type, body, transient, correlation_id, user_id) VALUES ($1, $2, $3, $4, $5, 0, $6, $7)`,
			position.Partition(), int64(position), workspaceID, eventType, body, source.CorrelationID, source.UserID)
		if err != nil || h.index == nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE bus_heads SET last_pos = $1 WHERE partition = $2 AND last_pos < $1`, int64(position), position.Partition())
		return err
	})
	h.dirty.Store(true)
	return position.ID()
}

var march = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // never changed

// listed gives the types that a list has, newest first.
func (c *caller) listed(query string) string {
	c.house.t.Helper()
	list := c.get(events + "?" + query).want(http.StatusOK)
	var types []string
	for i := range list.at("result.events").([]any) {
		types = append(types, list.text(fmt.Sprintf("result.events.%d.type", i)))
	}
	return strings.Join(types, " ")
}

// A list shows what all its filters ask for.
func TestFilters(t *testing.T) {
	t.Parallel()
	check := func(t *testing.T, h *house) {
		t.Helper()
		first := h.past(march, 0, home, "a", `{"payload":{"n":1,"tags":["x","y"]},"source":{"userId":"ann","correlationId":"c1"}}`)
		h.past(march.Add(time.Hour), 0, home, "b", `{"payload":{"n":2,"say":"Hello big world"},"source":{"userId":"bob","correlationId":"c1"}}`)
		h.past(march.Add(2*time.Hour), 0, home, "c.d", `{"payload":{"n":"2"},"source":{"correlationId":"c2","appInstanceDepth":1}}`)
		h.past(march.Add(3*time.Hour), 0, home, "deep", `{"payload":{},"source":{"appInstanceDepth":2}}`)
		h.past(march.Add(time.Hour), 0, "Other00", "b", `{"payload":{"n":2},"source":{"userId":"bob","correlationId":"c1"}}`)
		for query, want := range map[string]string{
			"":                          "c.d b a",
			"sort=asc":                  "a b c.d",
			"types=a,c.d":               "c.d a",
			"types=a,c.d&sort=asc":      "a c.d",
			"type=c.*":                  "c.d",
			"appInstanceDepth=2":        "deep c.d b a",
			"source.appInstanceDepth=2": "deep",
			"source.correlationId=c1":   "b a",
			"source.correlationId=c1&source.userId=bob":                   "b",
			"source.userId=bob&source.userId=ann":                         "b a",
			"source.userId%5B0%5D=bob&source.userId%5B1%5D=":              "c.d b",
			"source.correlationId=c1&source.correlationId=c2&sort=asc":    "a b c.d",
			"source.correlationId=c1&source.correlationId=c2&types=a,c.d": "c.d a",
			"source.correlationId=c1&type=b*&limit=1":                     "b",
			"payload.n=2":                    "c.d b",
			"payload.tags=y":                 "a",
			"text=hello%20-moon":             "b",
			"text=%22big%20hello%22":         "",
			"afterDate=2026-03-01T00:00:00Z": "c.d b",
			"afterDate=2026-03-01&beforeDate=2026-03-01T02:00:00Z":       "b",
			"beforeDate=" + fmt.Sprint(march.Add(time.Hour).UnixMilli()): "a",
			"afterId=" + first:           "c.d b",
			"id=" + first:                "a",
			"payload.n=2&limit=1&page=1": "b",
		} {
			if got := h.ann.listed(query); got != want {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
		}
	}
	eachStore(t, check)
	eachEngine(t, true, check)
}

func TestWrongFilters(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		for query, field := range map[string]string{
			"foo=1": "foo", "source=x": "source", "limit=1&limit=2": "limit", "afterDate=soon": "afterDate", "text=%22x": "text",
			"page=500&limit=50": "page", "a%5Bb%5D=1": "a[b]", "sort=asc&Sort=asc": "Sort", "cursor=x&cursor=y": "cursor",
		} {
			refused := h.ann.get(events+"?"+query).wantError(http.StatusBadRequest, errs.InvalidParameter)
			if got := refused.text("details.errors.0.field"); got != field {
				t.Errorf("%s: it names %s\n%s", query, got, refused.body)
			}
		}
		h.ann.get(events+"?a=%zz").wantError(http.StatusBadRequest, errs.InvalidParameter)
	})
}

// The pages of a filtered list hold all that matches, each once, and lead to one another whatever is asked.
func TestFilteredPages(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		for i := range 300 {
			h.past(march.Add(time.Duration(i)*time.Minute), 0, home, []string{"a", "b", "c"}[i%3], fmt.Sprintf(`{"payload":{"i":%d,"even":%t},"source":{}}`, i, i%2 == 0))
		}
		h.secure(`{"authorizations":{"rules":[{"action":"read","subject":"events","conditions":{"payload.i":{"$gte":100}}}]}}`)
		for _, who := range []*caller{h.ann, h.eve} {
			for _, query := range []string{"types=a,b&payload.even=true&limit=7", "payload.i=1*&payload.i%5B%5D=2*&limit=7&sort=asc", "limit=40", "types=c&limit=9&sort=asc"} {
				pages := 0
				want, got := who.pages(query, nil), who.pages(query, &pages)
				if got != want || strings.Count(want, " ") < 40 || pages < 2 {
					t.Errorf("%s as %s in %d pages: %v, want %v", query, who.who.UserID, pages, got, want)
				}
			}
		}
	})
}

// pages follows the links of a list and gives the numbers of all events.
func (c *caller) pages(query string, pages *int) string {
	c.house.t.Helper()
	if pages == nil { // all at once
		values, _ := url.ParseQuery(query)
		values.Set("limit", "500")
		query = values.Encode()
	}
	var found []string
	for path := events + "?" + query; path != ""; {
		list := c.get(path).want(http.StatusOK)
		for i := range list.at("result.events").([]any) {
			found = append(found, list.text(fmt.Sprintf("result.events.%d.payload.i", i)))
		}
		if path = ""; list.header.Get("Link") != "" {
			path = regexp.MustCompile(`<([^>]+)>; rel="next"`).FindStringSubmatch(list.header.Get("Link"))[1]
		}
		if pages != nil {
			*pages++
		}
	}
	return strings.Join(found, " ")
}
