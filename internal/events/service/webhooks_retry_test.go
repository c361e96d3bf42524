package service_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// An endpoint that fails is tried ten times over 75 hours, across restarts; then the delivery is a dead letter, the
// subscription is disabled, and the workspace is told. Once it is enabled again, the dead letter can be replayed.
func TestWebhookSchedule(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		r.status(http.StatusInternalServerError)
		id := p.subscribe(r, "").text("id")
		path := subscriptions + "/" + id
		stop := p.deliver()
		p.ann.emit(paid).want(http.StatusOK)
		for n := 1; n <= 10; n++ {
			p.until(fmt.Sprintf("attempt %d", n), func() bool { return p.delivery(id).text("attempts") == fmt.Sprint(n) })
			if n == 4 {
				stop()
				stop = p.deliver()
			}
			if next := p.delivery(id).text("nextAttemptAt"); next != "" {
				due, err := time.Parse(time.RFC3339Nano, next)
				if err != nil {
					t.Fatal(err)
				}
				if wait := due.Sub(p.clock.Now()) - time.Second; wait > 0 {
					p.clock.Advance(wait)
				}
			}
		}
		log := p.delivery(id)
		if log.text("state") != "failed" || log.text("lastStatus") != "500" {
			t.Errorf("the delivery: %s", log.body)
		}
		schedule := []time.Duration{5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour, 10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour}
		var times []time.Time
		for i := range 10 {
			at, err := time.Parse(time.RFC3339Nano, log.text(fmt.Sprintf("log.%d.at", i)))
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, at)
			if i == 0 {
				continue
			}
			if waited := at.Sub(times[i-1]); waited < schedule[i-1] || waited > schedule[i-1]*11/10+10*time.Minute {
				t.Errorf("attempt %d came after %s, want %s and up to a tenth", i+1, waited, schedule[i-1])
			}
		}
		if total := times[9].Sub(times[0]); total < 75*time.Hour {
			t.Errorf("the attempts took %s", total)
		}
		if ids := idsOf(r.all()); len(ids) != 1 {
			t.Errorf("one delivery had the ids %v", ids)
		}
		ended := p.ann.get(path).want(http.StatusOK)
		if ended.text("state") != "disabled" || ended.text("reason") != "failing" || ended.text("enabled") != "false" || !strings.Contains(p.root.types(), "events.subscriptions.disabled") {
			t.Errorf("the subscription: %s", ended.body)
		}
		p.ann.do(http.MethodPost, path+"/replay", `{"onlyFailed":true}`).wantError(http.StatusConflict, errs.Conflict)
		p.ann.do(http.MethodPatch, path, `{"enabled":true}`).want(http.StatusOK)
		r.status(http.StatusOK)
		if done := p.ann.do(http.MethodPost, path+"/replay", `{"onlyFailed":true}`).want(http.StatusOK); done.text("queued") != "1" {
			t.Errorf("replayed: %s", done.body)
		}
		p.until("the replay", func() bool { return p.delivery(id).text("state") == "delivered" })
		if again := p.delivery(id); again.text("attempts") != "11" || len(idsOf(r.all())) != 1 {
			t.Errorf("replayed: %s", again.body)
		}
	})
}

// hangUp ends a connection without an answer.
func hangUp(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		t.Error(err)
		return
	}
	_ = conn.Close()
}

func idsOf(all []received) []string {
	var ids []string
	for _, one := range all {
		ids = append(ids, one.id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// What an endpoint answers decides: redirects are not followed, Retry-After is waited for, a broken connection is a failure.
func TestWebhookAnswers(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		elsewhere := receive(t)
		for name, c := range map[string]struct {
			answer func(w http.ResponseWriter, r received)
			says   string
			status string
			wait   time.Duration
		}{
			"redirect": {func(w http.ResponseWriter, _ received) {
				w.Header().Set("Location", elsewhere.URL)
				w.WriteHeader(http.StatusTemporaryRedirect)
			}, "redirect", "307", 5 * time.Second},
			"too many": {func(w http.ResponseWriter, _ received) {
				w.Header().Set("Retry-After", "3600")
				w.WriteHeader(http.StatusTooManyRequests)
			}, "429", "429", time.Hour},
			"unavailable": {func(w http.ResponseWriter, _ received) {
				w.Header().Set("Retry-After", p.clock.Now().Add(2*time.Hour).UTC().Format(http.TimeFormat))
				w.WriteHeader(http.StatusServiceUnavailable)
			}, "503", "503", 2*time.Hour - time.Minute},
			"reset":   {func(w http.ResponseWriter, _ received) { hangUp(t, w) }, "ended the connection", "", 5 * time.Second},
			"refused": {func(w http.ResponseWriter, _ received) { w.WriteHeader(http.StatusBadRequest) }, "400", "400", 5 * time.Second},
		} {
			r := receive(t)
			r.answers(c.answer)
			id := p.subscribe(r, `"types":["`+strings.ReplaceAll(name, " ", "-")+`"]`).text("id")
			stop := p.deliver()
			p.ann.emit(event(strings.ReplaceAll(name, " ", "-"), `{}`)).want(http.StatusOK)
			p.until(name, func() bool { return p.total(id, "pending") == "1" && p.delivery(id).text("attempts") == "1" })
			stop()
			got := p.delivery(id)
			due, _ := time.Parse(time.RFC3339Nano, got.text("nextAttemptAt"))
			at, _ := time.Parse(time.RFC3339Nano, got.text("log.0.at"))
			if !strings.Contains(got.text("log.0.error"), c.says) || got.text("log.0.response.status") != c.status || due.Sub(at) < c.wait {
				t.Errorf("%s: due after %s: %s", name, due.Sub(at), got.body)
			}
		}
		if len(elsewhere.all()) > 0 {
			t.Error("a redirect was followed")
		}
	})
}

// A slow endpoint delays only itself: the others get everything while it hangs.
func TestSlowWebhook(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		hang := make(chan struct{})
		slow, fast := receive(t), receive(t)
		slow.answers(func(http.ResponseWriter, received) { <-hang })
		t.Cleanup(func() { close(hang) })
		slowID, fastID := p.subscribe(slow, "").text("id"), p.subscribe(fast, "").text("id")
		p.deliver()
		const events = 40
		for range events {
			p.ann.emit(paid).want(http.StatusOK)
		}
		p.until("everything at the fast one", func() bool { return p.total(fastID, "delivered") == fmt.Sprint(events) })
		if n := slow.atOnce(); n > 4 {
			t.Errorf("%d deliveries hang at once", n)
		}
		p.until("an end of the waiting", func() bool { return p.ann.get(subscriptions+"/"+slowID).at("lastDelivery") != nil })
		if got := p.ann.get(subscriptions + "/" + slowID); got.text("lastDelivery.state") != "pending" || got.at("failingSince") == nil {
			t.Errorf("the slow one: %s", got.body)
		}
	})
}

// After five failures in a row an endpoint is left alone, and then tried with one delivery at a time.
func TestWebhookBreaker(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		r.status(http.StatusBadGateway)
		id := p.subscribe(r, "").text("id")
		path := subscriptions + "/" + id
		p.deliver()
		for range 20 {
			p.ann.emit(paid).want(http.StatusOK)
		}
		p.until("a pause", func() bool { return p.ann.get(path).text("state") == "paused" })
		paused := p.ann.get(path)
		if n := len(r.all()); paused.text("reason") != "failing" || paused.at("nextAttemptAt") == nil || n < 5 || n > 9 {
			t.Errorf("after %d requests: %s", n, paused.body)
		}
		before := len(r.all())
		p.clock.Advance(31 * time.Second)
		p.until("a probe", r.has(before+1))
		p.until("another pause", func() bool { return p.ann.get(path).text("state") == "paused" })
		r.status(http.StatusNoContent)
		p.clock.Advance(5 * time.Minute)
		p.wait("all of them", time.Second, func() bool { return p.total(id, "delivered") == "20" })
		if got := p.ann.get(path); got.text("state") != "active" || got.at("failingSince") != nil {
			t.Errorf("afterwards: %s", got.body)
		}
	})
}

// Events with one value are delivered one at a time and in order, also while the first of them fails; others pass.
func TestWebhookOrder(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		failures := 2
		r.answers(func(w http.ResponseWriter, one received) {
			r.mu.Lock()
			defer r.mu.Unlock()
			if strings.Contains(string(one.body), `"order":"a","n":0`) && failures > 0 {
				failures--
				w.WriteHeader(http.StatusInternalServerError)
			}
		})
		id := p.subscribe(r, `"types":["step"],"orderBy":"payload.order"`).text("id")
		p.deliver()
		var emitted []string
		for n := range 5 {
			for _, order := range []string{"a", "b", "c"} {
				emitted = append(emitted, event("step", fmt.Sprintf(`{"order":"%s","n":%d}`, order, n)))
			}
		}
		p.ann.emit(emitted...).want(http.StatusOK)
		p.wait("all of them", time.Second, func() bool { return p.total(id, "delivered") == "15" })
		next := map[string]int{}
		for _, one := range r.all() {
			for _, order := range []string{"a", "b", "c"} {
				if !strings.Contains(string(one.body), `"order":"`+order+`"`) {
					continue
				}
				switch {
				case strings.Contains(string(one.body), fmt.Sprintf(`"n":%d}`, next[order])):
					next[order]++
				case order == "a" && strings.Contains(string(one.body), `"n":0}`): // again
				default:
					t.Errorf("%s came before %d of %s", one.body, next[order], order)
				}
			}
		}
		if order := r.types(); len(strings.Fields(order)) != 17 {
			t.Errorf("%d requests", len(strings.Fields(order)))
		}
	})
}

// Events of a time can be sent again, also those from before there was a subscription, and old deliveries are removed.
func TestWebhookReplayAndTrim(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		old := p.ann.emit(event("a", `{"n":1}`), event("a", `{"n":2}`), event("b", `{}`)).want(http.StatusOK)
		id := p.subscribe(r, `"types":["a"]`).text("id")
		path := subscriptions + "/" + id
		p.deliver()
		replay := func(body, want string) {
			t.Helper()
			if done := p.ann.do(http.MethodPost, path+"/replay", body).want(http.StatusOK); done.text("queued") != want {
				t.Errorf("%s: %s, want %s", body, done.body, want)
			}
			p.until("a replay", func() bool { return p.total(id, "pending") == "0" })
		}
		replay(`{"ids":["`+old.text("0.id")+`"]}`, "1")
		replay(`{"from":"2020-01-01T00:00:00Z","to":"2021-01-01T00:00:00Z"}`, "0")
		replay(`{"from":"2020-01-01T00:00:00Z","filter":{"payloadQuery":{"payload.n":"2"}}}`, "1")
		replay(`{"types":["b"]}`, "0")
		replay(`{"afterId":"`+old.text("0.id")+`"}`, "1")
		replay(`{}`, "2")
		if ids := idsOf(r.all()); len(ids) != 2 || len(r.all()) != 5 {
			t.Errorf("%d requests with the ids %v", len(r.all()), ids)
		}
		p.ann.do(http.MethodPost, path+"/deliveries/"+r.all()[0].id+"/replay", "").want(http.StatusOK)
		p.until("one more", r.has(6))
		p.ann.do(http.MethodPost, path+"/replay", `{"ids":["x"]}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		p.ann.do(http.MethodPost, path+"/replay", `{"filter":{"payloadQuery":1}}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		p.until("all of them", func() bool { return p.total(id, "delivered") == "2" })
		p.trim(0)
		p.clock.Advance(31 * 24 * time.Hour)
		p.trim(2)
		if left := p.rows("ev_messages") + p.rows("ev_attempts"); p.total(id, "") != "0" || left != 0 {
			t.Errorf("%d rows are left", left)
		}
		p.people.remove(home)
		p.trim(0)
		if left := p.rows("ev_subscriptions") + p.rows("ev_subscription_sets"); left != 0 {
			t.Errorf("%d rows are left of a workspace that is gone", left)
		}
	})
}

// trim does what the schedule does, and looks how many deliveries went.
func (p *post) trim(want int) {
	p.t.Helper()
	before := p.rows("ev_deliveries")
	for _, job := range p.service.Jobs() {
		if strings.Contains(job.Name, "deliveries") {
			if err := job.Do(p.t.Context(), p.clock.Now()); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	if got := before - p.rows("ev_deliveries"); got != want {
		p.t.Errorf("%d deliveries were removed, want %d", got, want)
	}
}

func (p *post) rows(table string) (n int) {
	p.t.Helper()
	p.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		return tx.QueryRow(ctx, `SELECT COUNT(*) FROM `+table).Scan(&n)
	})
	return n
}
