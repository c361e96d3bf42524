package access_test

import (
	"testing"

	"atelier/internal/access"
)

// forUser is an event that is meant for somebody.
func forUser(workspaceID, path, who string) access.Fields {
	return access.Fields{"type": "x", "source": map[string]any{"workspaceId": workspaceID}, "target": map[string]any{path: who}}
}

// Whoever an event is meant for may read it, unless a rule denies it; somebody to whom a workspace is closed reads nothing of it.
func TestTargets(t *testing.T) {
	t.Parallel()
	const rules = "    - {action: read, subject: events, conditions: {type: open}}\n" +
		"    - {action: read, subject: events, inverted: true, conditions: {target.userId: editor}}\n"
	eachHouse(t, rules, func(h *house) {
		for _, c := range []struct {
			user  string
			event access.Fields
			want  bool
		}{
			{"stranger", forUser("w", "userId", "stranger"), true},
			{"stranger", forUser("w", "sessionId", "s-stranger"), true},
			{"stranger", forUser("w", "userId", "reader"), false},
			{"stranger", forUser("w", "sessionId", "stranger"), false},
			{"stranger", forUser("w", "userTopic", "stranger"), false},
			{"visitor", forUser("w", "userId", "visitor"), true},
			{"visitor", forUser("w", "userId", ""), false},
			{"editor", forUser("w", "userId", "editor"), false},
			{"nobody", forUser("w", "userId", ""), false},
			{"nobody", forUser("w", "sessionId", ""), false},
			{"service", forUser("w", "userId", "service"), false},
			{"stranger", forUser("v", "userId", "stranger"), false},
		} {
			h.may(c.user, "read", "events", c.event, c.want)
		}
		h.may("stranger", "delete", "events", forUser("w", "userId", "stranger"), false)
		if h.load(h.as("stranger"), "v").Decide("read", "events", forUser("v", "userId", "stranger")).Allowed {
			h.t.Error("a workspace that is closed, or not there, is read")
		}
	})
}
