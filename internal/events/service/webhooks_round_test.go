package service_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
)

// emitAfter emits an event because of a webhook, as a receiver does.
func (p *post) emitAfter(hops, eventType string) *answer {
	r := httptest.NewRequestWithContext(access.With(p.t.Context(), p.ann.who), http.MethodPost, events, strings.NewReader(`{"events":[`+event(eventType, `{}`)+`]}`))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Hops", hops)
	w := httptest.NewRecorder()
	p.door.ServeHTTP(w, r)
	return &answer{t: p.t, what: "emit after " + hops, status: w.Code, header: w.Header(), body: w.Body}
}

// Two endpoints that lead to each other stop after sixteen webhooks: what was emitted is stored, the next delivery is a dead letter
// that says why, and other events are delivered as before.
func TestWebhooksThatGoRound(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		ping, pong := receive(t), receive(t)
		for from, to := range map[*receiver]string{ping: "pong", pong: "ping"} {
			from.answers(func(_ http.ResponseWriter, r received) {
				if got := p.emitAfter(r.header.Get("Webhook-Hops"), to); got.status != http.StatusOK {
					t.Errorf("%s: %d %s", got.what, got.status, got.body)
				}
			})
		}
		first, second := p.subscribe(ping, `"types":["ping","once"]`).text("id"), p.subscribe(pong, `"types":["pong"],"orderBy":"type"`).text("id")
		p.deliver()
		p.ann.emit(event("ping", `{}`)).want(http.StatusOK)
		p.until("the round ends", func() bool { return p.total(first, "failed") == "1" })
		if a, b := len(ping.all()), len(pong.all()); a != 8 || b != 8 {
			t.Errorf("%d and %d webhooks were sent", a, b)
		}
		for i, r := range ping.all() {
			if got, want := r.header.Get("Webhook-Hops"), strconv.Itoa(2*i+1); got != want {
				t.Errorf("webhook %d is hop %s, want %s", i, got, want)
			}
		}
		dead := p.delivery(first)
		if dead.text("state") != "failed" || !strings.Contains(dead.text("reason"), "16 webhooks led to each other") || dead.text("attempts") != "0" {
			t.Errorf("%s", dead.body)
		}
		last := p.ann.get(events + "?types=ping&limit=1").want(http.StatusOK)
		if last.text("result.events.0.source.hops") != "16" {
			t.Errorf("the last event is not stored: %s", last.body)
		}
		ping.answers(nil)
		pong.answers(nil)
		p.emitAfter("15", "pong").want(http.StatusOK) // the order of its key goes on
		p.until("another one", func() bool { return p.total(second, "delivered") == "9" })
		p.ann.do(http.MethodPost, subscriptions+"/"+first+"/deliveries/"+dead.text("id")+"/replay", "").want(http.StatusOK)
		p.until("what somebody wants again is sent", func() bool { return p.total(first, "failed") == "0" && len(ping.all()) == 9 })
		for _, wrong := range []string{"-1", "1001", "many"} {
			p.emitAfter(wrong, "ping").wantError(http.StatusBadRequest, errs.InvalidParameter)
		}
	})
}
