package service_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// join lets somebody into a topic, as automations do.
func (h *house) join(topic, user string) {
	h.t.Helper()
	h.tx(func(ctx context.Context, tx *sqldb.Tx) error {
		if _, err := access.CreateTopic(ctx, tx, home, topic, time.UnixMilli(0)); err != nil {
			return err
		}
		if _, err := access.JoinTopic(ctx, tx, home, topic, user, time.UnixMilli(0)); err != nil {
			return err
		}
		record, err := envelope.Native(ctx, "runtime", home, &catalogue.UserTopicJoined{User: catalogue.TopicUser{ID: user}, Topic: topic})
		if err != nil {
			return err
		}
		_, err = h.log.AppendTx(ctx, tx, record)
		return err
	})
	h.dirty.Store(true)
}

func toTopic(eventType, topic string) string {
	return `{"type":"` + eventType + `","payload":{},"target":{"userTopic":"` + topic + `"}}`
}

// Who is in a topic reads what is meant for it: in lists, and live from the moment of joining on.
func TestTopics(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		carl, eve := h.user("carl"), h.user("eve")
		h.join("news", "carl")
		h.join("news", "eve")
		carls, eves := carl.listen("", ""), eve.listen("", "")
		h.ann.emit(toTopic("first", "news"), toTopic("hidden", "team"), paid).want(http.StatusOK)
		h.join("team", "carl")
		h.ann.emit(toTopic("second", "team"), toTopic("third", "news")).want(http.StatusOK)
		if got := carls.types(3); got != "first second third" {
			t.Errorf("carl gets %s", got)
		}
		if got := eves.types(2); got != "first third" {
			t.Errorf("eve gets %s", got)
		}
		h.pass(5 * time.Second) // the rules were looked at again
		h.ann.emit(toTopic("fourth", "team")).want(http.StatusOK)
		if got := carls.types(1); got != "fourth" {
			t.Errorf("carl gets %s", got)
		}
		list := carl.get(events + "?sort=asc").want(http.StatusOK)
		for i, want := range []string{"first", "hidden", "second", "third", "fourth"} {
			if got := list.text("result.events." + string(rune('0'+i)) + ".type"); got != want {
				t.Errorf("%d: %s is listed, want %s", i, got, want)
			}
		}
	})
}

// Nobody comes into a topic by saying so.
func TestForgedJoin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.secure("authorizations:\n  rules:\n    - {action: create, subject: events}\n    - {action: read, subject: events, conditions: {source.userId: '${user.id}'}}\n")
		carl := h.user("carl")
		s := carl.listen("", "")
		const joined, payload = "events.userTopics.joined", `{"topic":"team","user":{"id":"carl"}}`
		carl.emit(`{"type":"` + joined + `","payload":` + payload + `}`).want(http.StatusForbidden)
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error { // and if it got through
			record, err := envelope.Custom(access.With(ctx, carl.who), home, joined, envelope.Event{Payload: json.RawMessage(payload)}, 1000)
			if err != nil {
				return err
			}
			_, err = h.log.AppendTx(ctx, tx, record)
			return err
		})
		h.ann.emit(toTopic("secret", "team")).want(http.StatusOK)
		carl.emit(`{"type":"mine","payload":{}}`).want(http.StatusOK)
		for {
			m := s.next()
			if kind := m.text("type"); strings.Contains(kind, "secret") {
				t.Fatal("carl reads what is meant for others")
			} else if kind == "mine" {
				return
			}
		}
	})
}
