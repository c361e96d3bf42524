package envelope_test

import (
	"encoding/json"
	"strings"
	"testing"

	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
)

// An event of an automation says which one, and nothing of the account that it acts for.
func TestByAutomation(t *testing.T) {
	t.Parallel()
	depth, no := 2, false
	made, err := envelope.ByAutomation("w", "said", envelope.Event{
		Payload: json.RawMessage(`{"n":1}`), Options: &envelope.Options{Persist: &no},
		Source: envelope.Source{UserID: "u", SessionID: "s", SocketID: "c", Hops: 3, WorkspaceID: "other", Run: envelope.Run{AutomationSlug: "a", AutomationDepth: &depth}},
	}, 1000)
	if err != nil || !made.Transient || made.Type != "said" || made.WorkspaceID != "w" {
		t.Fatalf("%+v %v", made, err)
	}
	want := `{"payload":{"n":1},"source":{"workspaceId":"w","sessionId":"s","socketId":"c","serviceTopic":"topic:runtime:emit","hops":3,"automationSlug":"a","automationDepth":2},"options":{"persist":false}}`
	if string(made.Body) != want {
		t.Errorf("%s, want %s", made.Body, want)
	}
	_, err = envelope.ByAutomation("w", "said", envelope.Event{Payload: json.RawMessage(`"` + strings.Repeat("x", 1000) + `"`)}, 1000)
	if errs.CodeOf(err) != errs.ValidationFailed || errs.From(err).Details["reason"] != "EventTooLarge" {
		t.Errorf("%v", err)
	}
}

// An event about another one belongs to whoever that one comes from.
func TestInherit(t *testing.T) {
	t.Parallel()
	made, err := envelope.Native(t.Context(), "runtime", "w", &catalogue.Interaction{WorkspaceID: "w", Automation: "a"})
	if err != nil {
		t.Fatal(err)
	}
	inherited, err := envelope.Inherit(made, envelope.Source{UserID: "u", SessionID: "s", CorrelationID: "c", SocketID: "k", Hops: 1, ServiceTopic: envelope.CustomTopic})
	if err != nil {
		t.Fatal(err)
	}
	read, err := envelope.Read(bus.Event{Body: inherited.Body})
	if err != nil || read.Source.UserID != "u" || read.Source.SessionID != "s" || read.Source.CorrelationID != "c" || read.Source.SocketID != "k" || read.Source.Hops != 1 ||
		read.Source.ServiceTopic != made.Type || read.Source.Host.Service != "runtime" || !strings.Contains(string(read.Payload), `"automation":"a"`) {
		t.Errorf("%+v %s %v", read.Source, read.Payload, err)
	}
}
