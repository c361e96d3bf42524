package service_test

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
)

// An event arrives as the body of a signed POST, once, and the log shows exactly what was sent and what came back.
func TestWebhookIsDelivered(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		r.answers(func(w http.ResponseWriter, _ received) {
			w.Header().Set("X-Answer", "yes")
			w.Header().Set("Set-Cookie", "session=secret")
			_, _ = w.Write([]byte("thank you"))
		})
		p.ann.emit(event("order.paid", `{"before":true}`)).want(http.StatusOK)
		made := p.subscribe(r, `"types":["order.*"],"filters":{"payloadQuery":{"payload.amount":["12.5","13"]}},"headers":{"x-color":"blue","X-Api-Key":"a very secret value"}`)
		id, secret := made.text("id"), made.text("secrets.0")
		p.deliver()
		stored := p.ann.emit(event("order.paid", `{"amount":12.5,"text":"<b>&"}`)).want(http.StatusOK)
		p.ann.emit(event("order.paid", `{"amount":1}`), event("bill.paid", `{"amount":12.5}`)).want(http.StatusOK)
		p.ann.emit(`{"type":"order.paid","payload":{"amount":12.5},"options":{"persist":false}}`).want(http.StatusOK)
		p.ann.emit(event("order.sent", `{"amount":13}`)).want(http.StatusOK)
		p.until("two deliveries", func() bool { return p.total(id, "delivered") == "2" })
		if got := r.types(); got != "order.paid order.sent" && got != "order.sent order.paid" {
			t.Fatalf("delivered: %s", got)
		}
		paid := r.all()[0]
		if paid.eventType != "order.paid" {
			paid = r.all()[1]
		}
		var sentEvent, storedEvent any
		if err := json.Unmarshal(paid.body, &sentEvent); err != nil {
			t.Fatal(err)
		}
		storedEvent = stored.at("0")
		if fmt.Sprint(plainJSON(t, sentEvent)) != fmt.Sprint(plainJSON(t, storedEvent)) || !strings.Contains(string(paid.body), "<b>&") {
			t.Errorf("the body is %s, the event %v", paid.body, storedEvent)
		}
		if paid.signature != paid.mac(t, secret) || strings.Contains(paid.id, ".") || paid.header.Get("Content-Type") != "application/json" ||
			paid.header.Get("X-Color") != "blue" || paid.header.Get("X-Api-Key") != "a very secret value" {
			t.Errorf("headers: %v", paid.header)
		}
		shown := p.ann.get(subscriptions + "/" + id + "/deliveries/" + paid.id).want(http.StatusOK)
		for path, want := range map[string]string{
			"state": "delivered", "attempts": "1", "lastStatus": "200", "eventType": "order.paid", "eventId": stored.text("0.id"), "log.0.outcome": "delivered",
			"log.0.request.method": "POST", "log.0.request.url": r.URL + "/hook", "log.0.request.body": string(paid.body),
			"log.0.request.headers.Webhook-Signature": paid.signature, "log.0.request.headers.X-Color": "blue", "log.0.request.headers.X-Api-Key": "***",
			"log.0.response.status": "200", "log.0.response.body": "thank you", "log.0.response.headers.X-Answer": "yes", "log.0.response.headers.Set-Cookie": "***",
		} {
			if got := shown.text(path); got != want {
				t.Errorf("%s is %s, want %s", path, got, want)
			}
		}
		if strings.Contains(shown.body.String(), "very secret") || strings.Contains(shown.body.String(), secret) {
			t.Errorf("the log shows a secret: %s", shown.body)
		}
		if last := p.ann.get(subscriptions + "/" + id).want(http.StatusOK); last.text("lastDelivery.state") != "delivered" || last.text("state") != "active" || last.at("secrets") != nil {
			t.Errorf("the subscription: %s", last.body)
		}
	})
}

func plainJSON(t *testing.T, value any) any {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		t.Fatal(err)
	}
	return plain
}

// While secrets are being changed both sign, the newest first; afterwards only the new one does.
func TestWebhookRotation(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		own := "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", 24)))
		made := p.subscribe(r, `"secrets":["`+own+`"]`)
		if made.text("secrets.0") != own {
			t.Fatalf("made: %s", made.body)
		}
		path := subscriptions + "/" + made.text("id")
		p.deliver()
		p.ann.emit(paid).want(http.StatusOK)
		p.until("the first", r.has(1))
		rotated := p.ann.do(http.MethodPost, path+"/rotate", `{"overlap":3600}`).want(http.StatusOK)
		second := rotated.text("secrets.0")
		if second == "" || second == own || rotated.at("previousSecretUntil") == nil {
			t.Fatalf("rotated: %s", rotated.body)
		}
		p.ann.emit(paid).want(http.StatusOK)
		p.until("the second", r.has(2))
		p.clock.Advance(time.Hour)
		p.ann.emit(paid).want(http.StatusOK)
		p.until("the third", r.has(3))
		all := r.all()
		for i, want := range []string{all[0].mac(t, own), all[1].mac(t, second) + " " + all[1].mac(t, own), all[2].mac(t, second)} {
			if all[i].signature != want {
				t.Errorf("delivery %d is signed %s, want %s", i, all[i].signature, want)
			}
		}
		p.ann.do(http.MethodPost, path+"/rotate", `{"overlap":0}`).want(http.StatusOK)
		p.ann.do(http.MethodPost, path+"/rotate", `{"secret":"whsec_c2hvcnQ="}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		p.ann.do(http.MethodPost, path+"/rotate", `{"overlap":604801}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
	})
}

func TestWebhookEd25519(t *testing.T) {
	t.Parallel()
	eachPost(t, func(t *testing.T, p *post) {
		r := receive(t)
		made := p.subscribe(r, `"signature":"ed25519"`)
		if made.at("secrets") != nil || strings.Contains(made.body.String(), "whsk_") {
			t.Errorf("a private key is shown: %s", made.body)
		}
		p.deliver()
		p.ann.do(http.MethodPost, subscriptions+"/"+made.text("id")+"/rotate", `{}`).want(http.StatusOK)
		p.ann.emit(paid).want(http.StatusOK)
		p.until("a delivery", r.has(1))
		got := r.all()[0]
		keys := p.ann.get(subscriptions + "/" + made.text("id")).want(http.StatusOK)
		signatures := strings.Fields(got.signature)
		if len(signatures) != 2 || keys.text("publicKeys.1") != made.text("publicKeys.0") {
			t.Fatalf("signed %s, keys %s", got.signature, keys.body)
		}
		for i, signature := range signatures {
			public, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(keys.text(fmt.Sprintf("publicKeys.%d", i)), "whpk_"))
			raw, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(signature, "v1a,"))
			if len(public) != ed25519.PublicKeySize || !ed25519.Verify(public, []byte(got.id+"."+got.timestamp+"."+string(got.body)), raw) {
				t.Errorf("signature %d is wrong: %s", i, signature)
			}
		}
		p.ann.do(http.MethodPost, subscriptions, `{"url":"`+r.URL+`","signature":"ed25519","secrets":["whsec_`+strings.Repeat("aaaa", 8)+`"]}`).
			wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
	})
}
