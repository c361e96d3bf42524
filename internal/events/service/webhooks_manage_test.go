package service_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/service"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// Whoever may update the workspace manages its webhooks; nobody else sees them, and ids of other workspaces do not exist.
func TestSubscriptions(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		made := p.subscribe(r, `"types":["order.paid","order.paid"],"description":"orders","headers":{"x-token":"secret text","x-color":"blue"},"orderBy":"payload.id","concurrency":2`)
		id := made.text("id")
		path := subscriptions + "/" + id
		if made.header.Get("Location") != path || !strings.HasPrefix(made.text("secrets.0"), "whsec_") || made.text("createdBy") != "ann" || made.text("state") != "active" {
			t.Errorf("made: %v %s", made.header, made.body)
		}
		got := p.bob.get(path).want(http.StatusOK)
		if got.at("secrets") != nil || got.text("headers.X-Token") != "***" || got.text("headers.X-Color") != "blue" || got.text("orderBy") != "payload.id" || got.text("concurrency") != "2" {
			t.Errorf("read: %s", got.body)
		}
		changed := p.bob.do(http.MethodPatch, path, `{"headers":{"x-token":"***","x-size":"9"},"enabled":false}`).want(http.StatusOK)
		if changed.text("state") != "disabled" || changed.text("reason") != "manual" || changed.text("updatedBy") != "bob" || changed.text("headers.X-Size") != "9" || changed.text("types.0") != "order.paid" {
			t.Errorf("changed: %s", changed.body)
		}
		if test := p.ann.do(http.MethodPost, path+"/test", "").want(http.StatusOK); test.text("attempt.outcome") != "delivered" || r.all()[0].header.Get("X-Token") != "secret text" {
			t.Errorf("a masked value was not kept: %s %v", test.body, r.all()[0].header)
		}
		for _, who := range []*caller{p.eve, p.as(access.Principal{Kind: access.Internal})} {
			who.get(subscriptions).want(http.StatusForbidden)
			who.do(http.MethodDelete, path, "").want(http.StatusForbidden)
		}
		p.nobody.get(subscriptions).wantError(http.StatusUnauthorized, errs.MissingToken)
		p.key("read", "workspaces").get(subscriptions).wantError(http.StatusForbidden, errs.PermissionDenied)
		p.key("update", "workspaces").get(subscriptions).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied) // reads no events
		p.tx(func(ctx context.Context, tx *sqldb.Tx) error {
			return access.Grant(access.With(ctx, p.eve.who), tx, "Other00", access.Owner)
		})
		elsewhere := "/v2/workspaces/Other00/subscriptions"
		p.eve.get(elsewhere+"/"+id).wantError(http.StatusNotFound, errs.NotFound)
		p.eve.do(http.MethodDelete, elsewhere+"/"+id, "").wantError(http.StatusNotFound, errs.NotFound)
		p.eve.do(http.MethodPost, elsewhere+"/"+id+"/test", "").wantError(http.StatusNotFound, errs.NotFound)
		p.eve.get(elsewhere+"/"+id+"/deliveries").wantError(http.StatusNotFound, errs.NotFound)
		if list := p.ann.get(subscriptions).want(http.StatusOK); list.header.Get("X-Total-Count") != "1" || list.text("0.id") != id {
			t.Errorf("list: %s", list.body)
		}
		p.ann.do(http.MethodDelete, path, "").want(http.StatusOK)
		p.ann.get(path).wantError(http.StatusNotFound, errs.NotFound)
		if got := p.root.types(); got != "events.subscriptions.created events.subscriptions.updated events.subscriptions.tested events.subscriptions.deleted" {
			t.Errorf("events: %s", got)
		}
	})
}

// REST Hooks subscribe with other words.
func TestRESTHooks(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		first := p.ann.do(http.MethodPost, subscriptions, `{"target_url":"`+r.URL+`","event":"order.paid"}`).want(http.StatusCreated)
		second := p.ann.do(http.MethodPost, subscriptions, `{"hookUrl":"`+r.URL+`","event":"order.sent"}`).want(http.StatusCreated)
		p.deliver()
		p.ann.emit(paid, sent).want(http.StatusOK)
		p.until("both", r.has(2))
		p.ann.do(http.MethodDelete, subscriptions+"/"+first.text("id"), "").want(http.StatusOK)
		p.ann.emit(paid, sent).want(http.StatusOK)
		p.until("the other", r.has(3))
		if r.all()[2].eventType != "order.sent" || first.text("types.0") != "order.paid" {
			t.Errorf("received: %s", r.types())
		}
		r.status(http.StatusGone)
		p.ann.emit(sent).want(http.StatusOK)
		p.until("the end", func() bool { return p.ann.get(subscriptions+"/"+second.text("id")).text("reason") == "gone" })
		p.ann.emit(sent).want(http.StatusOK)
		p.ann.do(http.MethodPost, subscriptions, `{"hookUrl":"`+r.URL+`","url":"`+r.URL+`"}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		p.ann.do(http.MethodPost, subscriptions, `{"event":"a"}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
	})
}

// What cannot work, or must not, is refused when it is said.
func TestSubscriptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		secretOf := func(n int) string { return "whsec_" + base64.StdEncoding.EncodeToString(make([]byte, n)) }
		const good = `"url":"https://example.com/hook"`
		for body, field := range map[string]string{
			`"url":"ftp://example.com/"`:                                               "url",
			`"url":"https://user:pw@example.com/"`:                                     "url",
			`"url":"https://10.0.0.1/"`:                                                "url",
			`"url":"http://169.254.169.254/latest"`:                                    "url",
			`"url":"https://[::ffff:10.0.0.1]/"`:                                       "url",
			`"url":"https://0xa000001/"`:                                               "url",
			`"url":"https://example.com/a b"`:                                          "url",
			`"url":"https://example.com/\r\nx: y"`:                                     "url",
			`"url":"https://example.com/#here"`:                                        "url",
			good + `,"types":["with/slash"]`:                                           "types[0]",
			good + `,"types":["*.paid"]`:                                               "types[0]",
			good + `,"orderBy":"payload..id"`:                                          "orderBy",
			good + `,"headers":{"Host":"a"}`:                                           "headers.Host",
			good + `,"headers":{"authorization":"Bearer x"}`:                           "headers.Authorization",
			good + `,"headers":{"webhook-id":"x"}`:                                     "headers.Webhook-Id",
			good + `,"headers":{"content-length":"1"}`:                                 "headers.Content-Length",
			good + `,"headers":{"x-a":"b\r\nx-c: d"}`:                                  "headers.X-A",
			good + `,"headers":{"x a":"b"}`:                                            "headers",
			good + `,"headers":{"x-a":"b","X-A":"c"}`:                                  "headers",
			good + `,"headers":{"x-a":"` + strings.Repeat("v", 4097) + `"}`:            "headers.X-A",
			good + `,"secrets":["` + secretOf(23) + `"]`:                               "secrets[0]",
			good + `,"secrets":["` + secretOf(65) + `"]`:                               "secrets[0]",
			good + `,"secrets":["` + strings.TrimPrefix(secretOf(32), "whsec_") + `"]`: "secrets[0]",
			good + `,"filters":{"payloadQuery":7}`:                                     "filters.payloadQuery",
		} {
			refused := p.ann.do(http.MethodPost, subscriptions, `{`+body+`}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
			if got := refused.text("details.errors.0.field"); got != field {
				t.Errorf("%s: %s is wrong, want %s: %s", body, got, field, refused.body)
			}
			if strings.Contains(refused.body.String(), "AAAAAAAA") {
				t.Errorf("a secret is repeated: %s", refused.body)
			}
		}
		p.ann.do(http.MethodPost, subscriptions, `{`+good+`,"types":["b","a"]}`).want(http.StatusCreated)
		p.ann.do(http.MethodPost, subscriptions, `{`+good+`,"types":["a","b","a"]}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		for i := range 99 {
			p.ann.do(http.MethodPost, subscriptions, fmt.Sprintf(`{"url":"https://example.com/%d","secrets":["%s","%s"]}`, i, secretOf(24), secretOf(64))).want(http.StatusCreated)
		}
		p.ann.do(http.MethodPost, subscriptions, `{"url":"https://example.com/more"}`).wantError(http.StatusUnprocessableEntity, errs.QuotaExceeded)
		page := p.ann.get(subscriptions + "?limit=60").want(http.StatusOK)
		next := strings.TrimPrefix(strings.Split(page.header.Get("Link"), ">")[0], "<")
		if rest := p.ann.get(next).want(http.StatusOK); page.header.Get("X-Total-Count") != "100" || rest.at("39.id") == nil || rest.at("40") != nil {
			t.Errorf("pages: %v %v", page.header, rest.header)
		}
	})
}

// A subscription sends only what whoever made or last changed it may read, at the time it is sent.
func TestWebhooksReadAsTheirOwner(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		made := p.subscribeAs(p.bob, r, `"types":["apikeys.created","order.*"]`)
		path := subscriptions + "/" + made.text("id")
		p.deliver()
		p.native("apikeys.created")
		p.bob.emit(paid).want(http.StatusOK)
		p.until("what an editor may read", func() bool { return p.total(made.text("id"), "delivered") == "1" })
		p.ann.do(http.MethodPatch, path, `{"description":"now of an owner"}`).want(http.StatusOK)
		p.native("apikeys.created")
		p.until("what an owner may read", r.has(2))
		if got := r.types(); got != "order.paid apikeys.created" {
			t.Errorf("received: %s", got)
		}
		p.until("two in the log", func() bool { return p.total(made.text("id"), "delivered") == "2" })
		if seen := p.bob.get(path + "/deliveries").want(http.StatusOK); seen.header.Get("X-Total-Count") != "1" || seen.text("0.eventType") != "order.paid" {
			t.Errorf("an editor sees in the log: %s", seen.body)
		}
		hidden := p.ann.get(path + "/deliveries?limit=1").want(http.StatusOK).text("0.id")
		p.bob.get(path+"/deliveries/"+hidden).wantError(http.StatusNotFound, errs.NotFound)
		p.bob.do(http.MethodPost, path+"/deliveries/"+hidden+"/replay", "").wantError(http.StatusNotFound, errs.NotFound)
		p.bob.do(http.MethodPatch, path, `{"description":"an editor's again"}`).want(http.StatusOK)
		p.people.remove("bob")
		p.clock.Advance(3 * time.Second) // what somebody may do is believed for two
		p.ann.emit(paid).want(http.StatusOK)
		p.until("the end", func() bool { return p.ann.get(path).text("state") == "disabled" })
		if got := p.ann.get(path); got.text("reason") != "access_lost" || len(r.all()) != 2 {
			t.Errorf("%s; received %s", got.body, r.types())
		}
		if !strings.Contains(p.root.types(), "events.subscriptions.disabled") {
			t.Errorf("nobody is told: %s", p.root.types())
		}
	})
}

// With another master key the secrets of webhooks are rewrapped, and sign as before.
func TestWebhookMasterKeys(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		made := p.subscribe(r, "")
		old, err := vault.DerivedKey("a key for tests")
		if err != nil {
			t.Fatal(err)
		}
		both, err1 := vault.New(vault.MasterKey{ID: "new", Key: [32]byte{1}}, old)
		alone, err2 := vault.New(vault.MasterKey{ID: "new", Key: [32]byte{1}})
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		if found, err := service.SurveyWebhooks(t.Context(), p.db, alone); err != nil || found.Lost[old.ID] != 1 {
			t.Errorf("without the old key: %+v, %v", found, err)
		}
		if done, err := service.RewrapWebhooks(t.Context(), p.db, both); err != nil || done.Rewrapped != 1 {
			t.Errorf("rewrapped: %+v, %v", done, err)
		}
		deps := p.deps
		deps.Webhooks.Vault = alone
		p.door = service.New(deps).API.Handler()
		p.ann.do(http.MethodPost, subscriptions+"/"+made.text("id")+"/test", "").want(http.StatusOK)
		if got := r.all()[0]; got.signature != got.mac(t, made.text("secrets.0")) {
			t.Errorf("signed %s", got.signature)
		}
		deps.Webhooks.Vault, err = vault.New(vault.MasterKey{ID: "other", Key: [32]byte{2}})
		if err != nil {
			t.Fatal(err)
		}
		p.door = service.New(deps).API.Handler()
		if lost := p.ann.do(http.MethodPost, subscriptions+"/"+made.text("id")+"/test", "").want(http.StatusOK); !strings.Contains(lost.text("attempt.error"), "rotate") || len(r.all()) != 1 {
			t.Errorf("with a lost key: %s", lost.body)
		}
		p.ann.do(http.MethodPost, subscriptions+"/"+made.text("id")+"/rotate", `{}`).want(http.StatusOK)
	})
}
