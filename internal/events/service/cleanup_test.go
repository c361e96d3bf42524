package service_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/dsul/cron"
	domain "atelier/internal/events"
	"atelier/internal/events/service"
	"atelier/internal/restapi"
	"atelier/internal/schedule"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// cabinet is the service with a log that a test fills at the times it likes.
type cabinet struct {
	*house
	clk   *clock.Manual
	known []string
}

func eachCabinet(t *testing.T, run func(t *testing.T, c *cabinet), change ...func(*service.Cleanup)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		clk := clock.NewManual(time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC))
		log, err := sqlbus.Open(db, clk, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = log.Close() })
		c := &cabinet{house: &house{t: t, db: db, log: log}, clk: clk, known: []string{home, "small", "large", "busy"}}
		settings := service.Cleanup{Sweep: every(t, "0 0 * * 0"), Strip: every(t, "30 3 * * *"), Zone: time.UTC}
		settings.Retention, settings.Inactivity, settings.Small, settings.Deleted, settings.Executed = 1080, 30, 5, 30, 14*24*time.Hour
		for _, set := range change {
			set(&settings)
		}
		c.whole = service.New(service.Deps{
			Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Clock: clk, DB: db, Bus: log, Access: access.NewEnforcer(clk), Resolve: resolve,
			MaxBody: 1 << 20, MaxLen: 100_000, Cleanup: settings,
			Known: func(_ context.Context, _ sqldb.Reader, ids []string) ([]string, error) {
				return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !slices.Contains(c.known, id) }), nil
			},
		})
		c.door = c.whole.API.Handler()
		run(t, c)
	}, sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), schedule.Migrations(), domain.Migrations())
}

func every(t *testing.T, text string) cron.Schedule {
	t.Helper()
	s, err := cron.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (c *cabinet) add(workspace, eventType, payload string, n int) {
	c.t.Helper()
	for range n {
		_, err := c.log.Append(c.t.Context(), bus.Record{WorkspaceID: workspace, Type: eventType, Body: json.RawMessage(`{"payload":` + payload + `,"source":{}}`)})
		if err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cabinet) days(n int) { c.clk.Advance(time.Duration(n) * 24 * time.Hour) }

// left lists what a workspace has.
func (c *cabinet) left(workspace string) string {
	c.t.Helper()
	found, err := sqlbus.Page(c.t.Context(), c.db, workspace, sqlbus.PageQuery{Ascending: true, Limit: 5000})
	if err != nil {
		c.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, e := range found {
		counts[e.Type]++
	}
	var out []string
	for name, n := range counts {
		out = append(out, name+" "+strconv.Itoa(n))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

func (c *cabinet) wantLeft(workspace, want string) {
	c.t.Helper()
	if got := c.left(workspace); got != want {
		c.t.Errorf("%s has %q, want %q", workspace, got, want)
	}
}

func (c *cabinet) internal() *caller { return c.as(access.Principal{Kind: access.Internal}) }

// What is too old goes, whosever it is, and nothing else; what it did is told in the platform workspace.
func TestRetention(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		c.add("large", "old", `{}`, 2500) // more than one step
		c.add("platform", "old", `{}`, 1)
		c.days(1)
		c.add("large", "younger", `{}`, 6)
		c.clk.Advance(1079*24*time.Hour - time.Millisecond)
		c.internal().do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		c.wantLeft("large", "old 2500, younger 6")
		c.clk.Advance(2 * time.Millisecond)
		dry := c.internal().do(http.MethodPost, "/sys/cleanup/indices?dryRun=true", "").want(http.StatusOK)
		if dry.text("expiredEvents") != "2501" || dry.text("dryRun") != "true" {
			t.Errorf("%s", dry.body)
		}
		c.wantLeft("large", "old 2500, younger 6")
		done := c.internal().do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		if done.text("expiredEvents") != "2501" {
			t.Errorf("%s", done.body)
		}
		c.wantLeft("large", "younger 6")
		c.wantLeft("platform", "events.cleaned 2")
		again := c.internal().do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		if again.text("expiredEvents") != "0" {
			t.Errorf("%s", again.body)
		}
	})
}

// The events of small workspaces where nothing happens go, but what people did stays; so do those of workspaces that are gone.
func TestInactiveAndDeletedWorkspaces(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		c.add("small", "custom", `{}`, 3)
		c.add("small", "workspaces.updated", `{}`, 2)
		c.add("large", "custom", `{}`, 6)
		c.add("busy", "custom", `{}`, 1)
		c.add("gone", "workspaces.deleted", `{}`, 7)
		c.add("platform", "custom", `{}`, 1)
		c.days(29)
		c.add("busy", "custom", `{}`, 1)
		c.internal().do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		c.wantLeft("small", "custom 3, workspaces.updated 2")
		c.wantLeft("gone", "workspaces.deleted 7")
		c.days(1)
		c.clk.Advance(time.Millisecond)
		done := c.internal().do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
		if done.text("inactiveDatastreams.found.0") != "small" || done.text("inactiveDatastreams.result.events") != "3" ||
			done.text("deletedWorkspaces.found.0") != "gone" || done.text("deletedWorkspaces.result.events") != "7" {
			t.Errorf("%s", done.body)
		}
		c.wantLeft("small", "workspaces.updated 2")
		c.wantLeft("large", "custom 6")
		c.wantLeft("busy", "custom 2")
		c.wantLeft("gone", "")
		c.wantLeft("platform", "custom 1, events.cleaned 2")
	})
}

// Rules that are turned off remove nothing, however old it is.
func TestCleanupThatIsTurnedOff(t *testing.T) {
	t.Parallel()
	for name, off := range map[string]int{"zero": 0, "negative": -1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachCabinet(t, func(t *testing.T, c *cabinet) {
				c.add("small", "custom", `{}`, 3)
				c.add("gone", "custom", `{}`, 3)
				c.add("small", "runtime.automations.executed", `{"payload":1,"output":2}`, 1)
				c.days(10_000)
				c.internal().do(http.MethodPost, "/sys/cleanup/indices", "").want(http.StatusOK)
				answer := c.internal().do(http.MethodPost, "/sys/cleanup/executed-events", "").want(http.StatusOK)
				if answer.text("result.updated") != "0" {
					t.Errorf("%s", answer.body)
				}
				c.wantLeft("small", "custom 3, runtime.automations.executed 1")
				c.wantLeft("gone", "custom 3")
			}, func(s *service.Cleanup) {
				s.Retention, s.Inactivity, s.Deleted, s.Executed = off, off, off, time.Duration(off)
			})
		})
	}
}

// Executed automations keep what they were, and lose what went in and came out.
func TestExecutedAutomationsAreStripped(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		const executed = "runtime.automations.executed"
		c.add("large", executed, `{"slug":"a<b","payload":{"in":1},"output":[2],"duration":1.50}`, 201)
		c.add("large", "custom", `{"payload":1,"output":2}`, 1)
		c.days(7)
		c.add("large", executed, `{"payload":"young"}`, 1)
		c.days(7)
		c.clk.Advance(time.Millisecond)
		strip := func(parameters, want string) {
			t.Helper()
			answer := c.internal().do(http.MethodPost, "/sys/cleanup/executed-events"+parameters, "").want(http.StatusOK)
			if answer.text("result.updated") != want || answer.text("task") == "" || answer.text("task") != answer.text("result.task") {
				t.Errorf("%s, want %s", answer.body, want)
			}
		}
		strip("?dryRun=true", "201")
		strip("", "201")
		strip("", "0")
		found, err := sqlbus.Page(t.Context(), c.db, "large", sqlbus.PageQuery{Ascending: true, Limit: 500})
		if err != nil || len(found) != 203 {
			t.Fatal(len(found), err)
		}
		want := map[string]string{
			"first": `{"payload":{"duration":1.50,"slug":"a<b"},"source":{}}`, "custom": `{"payload":{"payload":1,"output":2},"source":{}}`,
			"young": `{"payload":{"payload":"young"},"source":{}}`,
		}
		for name, event := range map[string]bus.Event{"first": found[0], "custom": found[201], "young": found[202]} {
			if string(event.Body) != want[name] {
				t.Errorf("%s: %s", name, event.Body)
			}
		}
		c.days(7)
		c.clk.Advance(time.Millisecond)
		strip("", "1")
	})
}

// The jobs are done at their times, and can be looked at.
func TestCleanupIsScheduled(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		runner := schedule.Runner{DB: c.db, Clock: c.clk, Log: slog.New(slog.DiscardHandler)}
		round := func() {
			t.Helper()
			for _, job := range c.whole.Jobs() {
				if _, err := runner.Round(t.Context(), job); err != nil {
					t.Fatal(job.Name, err)
				}
			}
		}
		c.add("gone", "custom", `{}`, 1)
		if _, err := c.log.Append(t.Context(), bus.Record{WorkspaceID: "large", Type: "whisper", Body: json.RawMessage(`{}`), Transient: true}); err != nil {
			t.Fatal(err)
		}
		round()
		c.clk.Advance(59 * time.Minute)
		round()
		if n := c.stored("large"); n != 1 {
			t.Errorf("a transient event went early: %d", n)
		}
		c.clk.Advance(12 * time.Minute)
		round()
		if n := c.stored("large"); n != 0 {
			t.Errorf("%d transient events stay", n)
		}
		c.days(35)
		round()
		c.wantLeft("gone", "")
		jobs := c.internal().get("/sys/schedules").want(http.StatusOK)
		if len(jobs.at("jobs").([]any)) != len(c.whole.Jobs()) || jobs.text("jobs.0.last") == "" || jobs.text("jobs.0.next") == "" {
			t.Errorf("%s", jobs.body)
		}
		for _, who := range []*caller{c.as(access.Principal{}), c.user("ann")} {
			if answer := who.do(http.MethodPost, "/sys/cleanup/indices", ""); answer.status != http.StatusUnauthorized && answer.status != http.StatusForbidden {
				t.Errorf("%s: %d", answer.what, answer.status)
			}
		}
	})
}

// stored counts the rows of a workspace, transient ones included.
func (c *cabinet) stored(workspace string) (n int) {
	c.t.Helper()
	if err := c.db.QueryRow(c.t.Context(), `SELECT COUNT(*) FROM bus_events WHERE workspace_id = $1`, workspace).Scan(&n); err != nil {
		c.t.Fatal(err)
	}
	return n
}
