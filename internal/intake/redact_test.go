package intake_test

import (
	"strings"
	"testing"

	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/intake"
)

func rules(t testing.TB, text string) intake.Rules {
	t.Helper()
	made, err := intake.Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// What a rule names is gone before the event is stored; the rest is as it was written.
func TestRedaction(t *testing.T) {
	t.Parallel()
	made := rules(t, `[
		{"id": "one", "events": ["order.paid"], "fields": ["payload.card.number"], "action": "redact"},
		{"id": "any", "events": ["order.*"], "fields": ["payload.*.pin", "payload.**.secret"], "action": "redact"},
		{"id": "topic", "topics": ["topic:runtime:emit"], "fields": ["payload.everywhere"], "action": "redact"},
		{"id": "whole", "events": ["private"], "action": "redact"},
		{"id": "native", "topics": ["workspaces.*"], "fields": ["payload.name"], "action": "redact"}
	]`)
	guarded(t, intake.Settings{Rules: made}, func(t *testing.T, store func(bus.Record) (envelope.Event, error)) {
		for name, c := range map[string]struct{ eventType, payload, want string }{
			"a path":           {"order.paid", `{"card":{"number":"4111","name":"x"}}`, `{"card":{"name":"x","number":"REDACTED"}}`},
			"another type":     {"order.sent", `{"card":{"number":"4111"}}`, `{"card":{"number":"4111"}}`},
			"capitals":         {"order.paid", `{"Card":{"NUMBER":1}}`, `{"Card":{"NUMBER":"REDACTED"}}`},
			"an escape":        {"order.paid", `{"card":{"n\u0075mber":1}}`, `{"card":{"number":"REDACTED"}}`},
			"a long s":         {"order.x", `{"ſecret":1}`, `{"ſecret":"REDACTED"}`},
			"an object":        {"order.paid", `{"card":{"number":{"a":[1,2]}}}`, `{"card":{"number":"REDACTED"}}`},
			"nothing there":    {"order.paid", `{"card":{"number":null}, "n": 1.0}`, `{"card":{"number":null},"n":1.0}`},
			"one field":        {"order.x", `{"a":{"pin":1},"pin":2,"b":{"c":{"pin":3}}}`, `{"a":{"pin":"REDACTED"},"b":{"c":{"pin":3}},"pin":2}`},
			"any depth":        {"order.x", `{"secret":1,"a":{"b":{"secret":2}}}`, `{"a":{"b":{"secret":"REDACTED"}},"secret":"REDACTED"}`},
			"in lists":         {"order.x", `{"a":[{"secret":1},[{"secret":2}],3]}`, `{"a":[{"secret":"REDACTED"},[{"secret":"REDACTED"}],3]}`},
			"all of a topic":   {"whatever", `{"everywhere":1,"big":123456789012345678901234567890,"s":"<é>"}`, `{"big":123456789012345678901234567890,"everywhere":"REDACTED","s":"<é>"}`},
			"the payload":      {"private", `{"a":1}`, `"REDACTED"`},
			"not an object":    {"order.paid", `"card"`, `"card"`},
			"nothing to do":    {"order.paid", `{"z": 1.0, "a":"\ud83d\ude00"}`, `{"z":1.0,"a":"\ud83d\ude00"}`},
			"topic of another": {"mine", `{"name":"x"}`, `{"name":"x"}`},
		} {
			got, err := store(custom(t.Context(), t, c.eventType, c.payload))
			if err != nil || string(got.Payload) != c.want {
				t.Errorf("%s: %s %v", name, got.Payload, err)
			}
		}
		got, err := store(native(t, &catalogue.WorkspaceDeleted{WorkspaceID: "w", WorkspaceSlug: "s", Name: "x"}))
		if err != nil || string(got.Payload) != `{"name":"REDACTED","workspaceId":"w","workspaceSlug":"s"}` {
			t.Errorf("native: %s %v", got.Payload, err)
		}
	})
}

// The bundled rules take credentials out of what the platform tells, and leave events of users alone.
func TestBundledRules(t *testing.T) {
	t.Parallel()
	made, err := intake.Load("")
	if err != nil {
		t.Fatal(err)
	}
	const canary = "canary-7f3a"
	guarded(t, intake.Settings{Rules: made}, func(t *testing.T, store func(bus.Record) (envelope.Event, error)) {
		headers := map[string]any{"Authorization": canary, "Cookie": canary, "X-Api-Key": canary, "Accept": "kept"}
		for name, p := range map[string]catalogue.Payload{
			"login":    &catalogue.LoginSucceeded{AuthData: map[string]any{"x": map[string]any{"access_token": canary, "token": canary, "id": "kept"}}},
			"fetch":    &catalogue.FetchFailed{Request: map[string]any{"url": "kept", "headers": headers}, Response: &catalogue.FetchResponse{Headers: map[string]any{"Set-Cookie": canary}}},
			"executed": &catalogue.AutomationExecuted{Slug: "kept", Payload: map[string]any{"headers": headers, "body": map[string]any{"password": canary, "client_secret": canary}}},
			"changes":  &catalogue.UserUpdated{Audited: catalogue.Audited{Changes: &catalogue.Changes{After: map[string]any{"password": canary, "name": "kept"}}}},
		} {
			got, err := store(native(t, p))
			if err != nil || strings.Contains(string(got.Payload), canary) || !strings.Contains(string(got.Payload), "kept") {
				t.Errorf("%s: %s %v", name, got.Payload, err)
			}
		}
		if got, err := store(custom(t.Context(), t, "mine", `{"password":"x"}`)); err != nil || string(got.Payload) != `{"password":"x"}` {
			t.Errorf("%s %v", got.Payload, err)
		}
	})
}

// Rules that are wrong are refused with the rule and the place.
func TestWrongRules(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:  "not a JSON list of rules",
		`[`:   "not a JSON list of rules",
		`[]x`: "something follows",
		`[{"id":"a","action":"redact","fileds":["x"]}]`:               `unknown field "fileds"`,
		`[{"action":"redact"}]`:                                       "rule 1: id:",
		`[{"id":"a","action":"redact"},{"id":"a","action":"redact"}]`: `rule "a": id: another rule has it`,
		`[{"id":"a"}]`:                   `rule "a": action: "" is not known`,
		`[{"id":"a","action":"remove"}]`: `rule "a": action: "remove" is not known`,
		`[{"id":"a","action":"redact","fields":["payload.x",""]}]`:       `rule "a": fields[1]:`,
		`[{"id":"a","action":"redact","fields":["card"]}]`:               `rule "a": fields[0]: "card" does not begin with payload`,
		`[{"id":"a","action":"redact","fields":["source.workspaceId"]}]`: `rule "a": fields[0]:`,
		`[{"id":"a","action":"redact","fields":["payload.a*"]}]`:         `has a * inside of a name`,
		`[{"id":"a","action":"redact","fields":["payload.**.**.a"]}]`:    `has ** twice`,
		`[{"id":"a","action":"redact","events":["a[b"]}]`:                `rule "a": events[0]:`,
		`[{"id":"a","action":"redact","topics":[""]}]`:                   `rule "a": topics[0]:`,
	} {
		if _, err := intake.Read([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := intake.Load(t.TempDir() + "/missing.json"); err == nil {
		t.Error("a file that is not there was read")
	}
}
