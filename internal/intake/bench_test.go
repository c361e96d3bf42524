package intake_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/intake"
	"atelier/internal/sqldb"
)

// nowhere is a log that keeps nothing, so that only the intake is measured.
type nowhere struct{ bus.Log }

func (nowhere) Append(context.Context, ...bus.Record) ([]bus.Event, error) { return nil, nil }

func (nowhere) AppendTx(context.Context, *sqldb.Tx, ...bus.Record) ([]bus.Event, error) {
	return nil, nil
}

// BenchmarkIntake measures what the intake adds to an event: one without a rule, two of the platform with rules, and one with a
// rule that fits.
func BenchmarkIntake(b *testing.B) {
	bundled, err := intake.Bundled()
	if err != nil {
		b.Fatal(err)
	}
	login, err := envelope.Native(b.Context(), "gateway", "platform", &catalogue.LoginSucceeded{ID: "u", Email: "a@b.c", Provider: "local", AuthData: map[string]any{"local": map[string]any{"id": "u"}}})
	if err != nil {
		b.Fatal(err)
	}
	own, err := envelope.Custom(b.Context(), "w", "order.paid", envelope.Event{Payload: json.RawMessage(`{"amount":12,"card":{"number":"4111"}}`)}, 100_000)
	if err != nil {
		b.Fatal(err)
	}
	depth := 1
	executed, err := envelope.NativeFrom(b.Context(), "runtime", "Workspc", &catalogue.AutomationExecuted{
		Slug: "hello", Trigger: catalogue.Trigger{Type: "endpoint", Value: "hello"}, StartedAt: time.UnixMilli(1_700_000_000_000).UTC(),
		Payload: json.RawMessage(`{"body":{"name":"world"},"headers":{"content-length":"16","content-type":"application/json"},"method":"POST","query":{},"pathParams":{},"workspaceId":"Workspc","automationSlug":"hello"}`),
		Output:  json.RawMessage(`{"message":"Hello world"}`),
	}, envelope.Origin{Run: envelope.Run{AutomationSlug: "hello", AutomationDepth: &depth, AppInstanceDepth: new(int)}})
	if err != nil {
		b.Fatal(err)
	}
	card := rules(b, `[{"id": "card", "events": ["order.paid"], "fields": ["payload.card.number"], "action": "redact"}]`)
	for name, c := range map[string]struct {
		rules  intake.Rules
		record bus.Record
	}{"no rule": {bundled, own}, "login": {bundled, login}, "executed": {bundled, executed}, "redacted": {card, own}} {
		b.Run(name, func(b *testing.B) {
			log := intake.Guard(nowhere{}, intake.Settings{MaxLen: 100_000, ExecutedMaxLen: 10_000, Rules: c.rules})
			b.ReportAllocs()
			ctx := b.Context()
			for b.Loop() {
				if _, err := log.Append(ctx, c.record); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
