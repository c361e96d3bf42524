package access_test

import (
	"fmt"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

func (h *house) join(workspaceID, topic, user string) {
	h.t.Helper()
	h.tx(func(tx *sqldb.Tx) error {
		if _, err := access.CreateTopic(h.t.Context(), tx, workspaceID, topic, h.clock.Now()); err != nil {
			return err
		}
		_, err := access.JoinTopic(h.t.Context(), tx, workspaceID, topic, user, h.clock.Now())
		return err
	})
}

// meant is an event that is meant for a topic.
func meant(workspaceID, topic string) access.Fields {
	return access.Fields{"type": "x", "source": map[string]any{"workspaceId": workspaceID}, "target": map[string]any{"userTopic": topic}}
}

// Who is in a topic may read what is meant for it, unless a rule denies it, and nothing else.
func TestTopics(t *testing.T) {
	t.Parallel()
	const rules = "    - {action: read, subject: events, inverted: true, conditions: {target.userTopic: denied}}\n" +
		"    - {action: create, subject: events, conditions: {target.userTopic: {$in: '${user.topics}'}}}\n"
	eachHouse(t, rules, func(h *house) {
		for _, topic := range []string{"news", "team", "denied"} {
			h.join("w", topic, "stranger")
		}
		h.join("w", "news", "visitor")
		h.join("v", "other", "stranger")
		h.join("w", "news", "")
		for _, c := range []struct {
			user, action string
			event        access.Fields
			want         bool
		}{
			{"stranger", "read", meant("w", "news"), true},
			{"stranger", "read", meant("w", "team"), true},
			{"visitor", "read", meant("w", "news"), true},
			{"visitor", "read", meant("w", "team"), false},
			{"nobody", "read", meant("w", "news"), false},
			{"service", "read", meant("w", "news"), false},
			{"stranger", "read", meant("w", "denied"), false},
			{"stranger", "read", meant("w", "other"), false},
			{"stranger", "read", meant("v", "news"), false},
			{"stranger", "read", access.Fields{"type": "x", "source": map[string]any{"workspaceId": "w"}}, false},
			{"stranger", "delete", meant("w", "news"), false},
		} {
			h.may(c.user, c.action, "events", c.event, c.want)
		}
		emitted := meant("w", "news")
		emitted["source"] = map[string]any{"workspaceId": "w", "serviceTopic": access.TopicEmit}
		h.may("stranger", "create", "events", emitted, true) // the placeholder has the topics too
		h.may("reader", "create", "events", emitted, false)
		h.may("stranger", "read", "workspaces", nil, false)

		joined := h.load(h.as("reader"), "w").WithTopic("news")
		if !joined.Decide("read", "events", meant("w", "news")).Allowed || joined.Decide("read", "events", meant("w", "team")).Allowed ||
			!joined.Decide("create", "events", emitted).Allowed {
			h.t.Error("a topic that was just joined")
		}
		more := joined.WithTopic("team").WithTopic("team")
		if !more.Decide("read", "events", meant("w", "team")).Allowed || !more.Decide("read", "events", meant("w", "news")).Allowed || joined.Decide("read", "events", meant("w", "team")).Allowed {
			h.t.Error("one more topic")
		}
	})
}

// Topics go with their workspace and with the account.
func TestTopicsEnd(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		ctx := h.t.Context()
		h.join("w", "news", "stranger")
		h.tx(func(tx *sqldb.Tx) error { return access.Park(ctx, tx, "w") })
		h.may("stranger", "read", "events", meant("w", "news"), false)
		h.join("w", "news", "stranger") // somebody was late
		h.tx(func(tx *sqldb.Tx) error { return access.Unpark(ctx, tx, "w") })
		h.may("stranger", "read", "events", meant("w", "news"), true)
		if known, err := access.HasTopic(ctx, h.db, "w", "news"); err != nil || !known {
			h.t.Error(known, err)
		}
		h.tx(func(tx *sqldb.Tx) error { _, err := access.RevokeUser(ctx, tx, "stranger"); return err })
		h.may("stranger", "read", "events", meant("w", "news"), false)
		h.join("w", "news", "stranger")
		h.tx(func(tx *sqldb.Tx) error { return access.RevokeAll(ctx, tx, "w") })
		h.may("stranger", "read", "events", meant("w", "news"), false)
		if known, err := access.HasTopic(ctx, h.db, "w", "news"); err != nil || known {
			h.t.Error(known, err)
		}
	})
}

func TestTooManyTopics(t *testing.T) {
	t.Parallel()
	eachHouse(t, "", func(h *house) {
		ctx := h.t.Context()
		err := h.db.Tx(ctx, func(tx *sqldb.Tx) error {
			for i := range access.MaxTopics + 1 {
				if _, err := access.JoinTopic(ctx, tx, "w", fmt.Sprint(i), "u", h.clock.Now()); err != nil {
					return fmt.Errorf("%d: %w", i, err)
				}
			}
			return nil
		})
		if errs.CodeOf(err) != errs.QuotaExceeded {
			h.t.Error(err)
		}
	})
}
