package model_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"atelier/internal/automation/internal/instructions"
	"atelier/internal/automation/internal/model"
	"atelier/internal/sqldb/sqldbtest"
)

// city is a workspace with many automations of a usual size.
func city(b *testing.B, automations int) (*house, string) {
	b.Helper()
	h := newHouse(b, sqldbtest.SQLite(b, migrations()...))
	id := h.workspace("city")
	for i := range automations {
		var do []any
		for step := range 12 {
			do = append(do,
				object{"set": object{"name": fmt.Sprintf("result.step%d", step), "value": "{{body.items[0].name}} of {% upper({{user.email}}) %}"}},
				object{"conditions": object{"{{body.kind}} == 'a' and {{step}} > 3": []any{object{"other": object{"payload": "{{body}}", "output": "out"}}}, "default": []any{}}},
			)
		}
		h.automation(id, fmt.Sprintf("a%d", i), object{
			"description": fmt.Sprintf("automation %d", i), "when": object{"endpoint": fmt.Sprintf("things/%d/:id", i), "events": []string{fmt.Sprintf("event%d", i%20)}},
			"arguments": object{"body": object{"type": "object", "properties": object{"kind": object{"type": "string"}}}}, "do": do, "output": "{{result}}",
		})
	}
	return h, id
}

// BenchmarkCold reads and compiles a workspace of 500 automations that nobody has compiled before.
func BenchmarkCold(b *testing.B) {
	h, id := city(b, 500)
	for b.Loop() {
		models, err := model.New(model.Deps{Log: slog.New(slog.DiscardHandler), Source: h.source, Instructions: instructions.Control()})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := models.Of(context.Background(), id); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkChanged reads a workspace of 500 automations of which one has changed.
func BenchmarkChanged(b *testing.B) {
	h, id := city(b, 500)
	n := 0
	for b.Loop() {
		b.StopTimer()
		n++
		h.automation(id, "a0", object{"description": fmt.Sprint("changed ", n)})
		b.StartTimer()
		h.of(id)
	}
}

// BenchmarkOf asks for a workspace that has not changed.
func BenchmarkOf(b *testing.B) {
	h, id := city(b, 500)
	h.of(id)
	for b.Loop() {
		h.of(id)
	}
}

// BenchmarkEndpoint looks for an endpoint among 500 patterns.
func BenchmarkEndpoint(b *testing.B) {
	h, id := city(b, 500)
	m := h.of(id)
	for b.Loop() {
		if len(m.Endpoint("things/499/x")) != 1 {
			b.Fatal("it is not found")
		}
	}
}
