package service_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"atelier/internal/errs"
)

const usagePath = "/v2/workspaces/" + home + "/usage"

// started stores that something was started from outside.
func (h *house) started(at time.Time, n int, trigger, correlation, session string) {
	h.t.Helper()
	h.past(at, n, home, "runtime.interactions.triggered", fmt.Sprintf(
		`{"payload":{"trigger":{"type":%q}},"source":{"correlationId":%q,"sessionId":%q,"userId":"user-of-%s"}}`, trigger, correlation, session, session))
}

func TestUsage(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		h.started(march.Add(-time.Millisecond), 0, "endpoint", "before", "s0")
		h.started(march, 0, "endpoint", "c1", "s1")
		h.started(march, 1, "event", "c1", "s1") // the same transaction
		h.started(march.Add(time.Hour), 0, "schedule", "c2", "s2")
		h.started(march.AddDate(0, 0, 2), 0, "event", "c3", "s1")
		h.started(march.AddDate(0, 0, 3), 0, "event", "after", "s9")
		usage := func(at time.Time, instance string, depth int, metrics string) {
			h.past(at, 5+depth, home, "store.usage", fmt.Sprintf(
				`{"payload":{"metrics":%s},"source":{"appSlug":"store","appInstanceFullSlug":%q,"appInstanceDepth":%d}}`, metrics, instance, depth))
		}
		usage(march, "one", 1, `{"tokens":5,"seats":{"value":9,"action":"set"},"odd":"x","huge":1e999}`)
		usage(march.Add(time.Hour), "one", 1, `{"tokens":{"value":2.5,"action":"increment"},"seats":{"value":4,"action":"set"}}`)
		usage(march.Add(2*time.Hour), "two", 1, `{"tokens":1,"seats":{"value":3}}`)
		usage(march.Add(3*time.Hour), "one.deep", 2, `{"tokens":1000}`)
		h.past(march, 9, home, "usage.other", `{"payload":{"metrics":{"x":1}},"source":{"appSlug":"store","appInstanceDepth":1}}`)

		whole := h.ann.get(usagePath + "?afterDate=2026-03-01&beforeDate=2026-03-04").want(http.StatusOK)
		const want = `{"afterDate":"2026-03-01T00:00:00Z","apps":[{"slug":"store","total":{"custom":{"seats":7,"tokens":8.5}}}],"beforeDate":"2026-03-04T00:00:00Z",` +
			`"total":{"eventTransactions":2,"httpTransactions":1,"scheduleTransactions":1,"sessions":2,"transactions":3,"users":2},"workspaceId":"HomeId0"}`
		if got := compact(t, whole); got != want {
			t.Errorf("usage: %s\nwant %s", got, want)
		}
		daily := h.bob.get(usagePath + "?afterDate=2026-03-01&beforeDate=2026-03-04&interval=day&details=true").want(http.StatusOK)
		for path, want := range map[string]string{
			"interval": "day", "timeseries.0.date": "2026-03-01T00:00:00Z", "timeseries.0.total.transactions": "2", "timeseries.1.total.transactions": "0",
			"timeseries.2.total.users": "1", "timeseries.3": "", "timeseries.0.apps.0.total.custom.seats": "7", "apps.0.appInstances.0.slug": "one",
			"apps.0.appInstances.0.total.custom.tokens": "7.5", "apps.0.appInstances.1.slug": "two", "apps.0.appInstances.2": "",
		} {
			if got := daily.text(path); got != want {
				t.Errorf("%s: %q, want %q\n%s", path, got, want, daily.body)
			}
		}
		months := h.ann.get(usagePath + "?afterDate=2026-02-15&beforeDate=2026-03-02&interval=month").want(http.StatusOK)
		if months.text("timeseries.0.total.transactions") != "1" || months.text("timeseries.1.date") != "2026-03-01T00:00:00Z" || months.text("timeseries.1.total.transactions") != "2" || months.at("timeseries.1.apps") != nil {
			t.Errorf("months: %s", months.body)
		}
	})
}

func compact(t *testing.T, a *answer) string {
	t.Helper()
	shown, err := json.Marshal(a.at(""))
	if err == nil && string(shown) == "null" {
		var value any
		err = json.Unmarshal(a.body.Bytes(), &value)
		shown, _ = json.Marshal(value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(shown)
}

func TestWhoSeesUsage(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		const period = "?afterDate=2026-03-01&beforeDate=2026-03-04"
		empty := h.bob.get(usagePath + period).want(http.StatusOK)
		if empty.text("total.transactions") != "0" || empty.text("apps") != "[]" {
			t.Errorf("nothing was used: %s", empty.body)
		}
		h.eve.get(usagePath+period).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.nobody.get(usagePath+period).wantError(http.StatusUnauthorized, errs.MissingToken)
		h.root.get("/v2/workspaces/NoSuch0/usage"+period).wantError(http.StatusNotFound, errs.NotFound)
		h.secure(`{"authorizations":{"rules":[{"action":"read","subject":["workspaces","events"]}]}}`)
		h.eve.get(usagePath+period).wantError(http.StatusForbidden, errs.PermissionDenied)
		h.ann.get(usagePath).wantError(http.StatusBadRequest, errs.MissingParameter)
		for query, field := range map[string]string{
			"?afterDate=x&beforeDate=2026-01-01":                       "afterDate",
			"?afterDate=2026-01-02&beforeDate=2026-01-02":              "beforeDate",
			"?afterDate=1990-01-01&beforeDate=2026-01-01&interval=day": "interval",
			period + "&interval=week":                                  "interval",
		} {
			if got := h.ann.get(usagePath+query).wantError(http.StatusBadRequest, errs.InvalidParameter).text("details.errors.0.field"); got != field {
				t.Errorf("%s: it names %s", query, got)
			}
		}
	})
}
