package envelope_test

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/catalogue"
	"atelier/internal/envelope"
)

// A source is written as the standard library writes it, whichever of its fields are set: also those that are new.
func TestSourcesAreWritten(t *testing.T) {
	t.Parallel()
	var fill func(t *rapid.T, v reflect.Value)
	fill = func(t *rapid.T, v reflect.Value) {
		for _, field := range v.Fields() {
			switch set := rapid.Bool().Draw(t, "set"); {
			case field.Kind() == reflect.Struct:
				fill(t, field)
			case !set:
			case field.Kind() == reflect.String:
				field.SetString(rapid.StringMatching(`[a-z"é/]*`).Draw(t, "text")) // the standard library escapes HTML here
			case field.Kind() == reflect.Int:
				field.SetInt(int64(rapid.Int().Draw(t, "number")))
			case field.Type().Elem().Kind() == reflect.Int:
				n := rapid.Int().Draw(t, "number")
				field.Set(reflect.ValueOf(&n))
			default:
				field.Set(reflect.ValueOf(&envelope.Host{Service: rapid.StringMatching(`[a-z]*`).Draw(t, "service")}))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var source envelope.Source
		fill(t, reflect.ValueOf(&source).Elem())
		want, err := json.Marshal(source)
		if got := envelope.Written(&source); err != nil || got != string(want) {
			t.Fatalf("%s, want %s %v", got, want, err)
		}
	})
}

// An event that writes itself is one like all others.
func TestWrittenEvents(t *testing.T) {
	t.Parallel()
	depth := 2
	origin := envelope.Origin{Run: envelope.Run{AutomationSlug: "a", AutomationDepth: &depth}, SocketID: "socket", Hops: 3}
	made, err := envelope.NativeFrom(request(t.Context(), "192.0.2.1"), "runtime", "w", &catalogue.Interaction{
		WorkspaceID: "w", Automation: "a", Trigger: catalogue.Trigger{Type: "endpoint", Value: "<a>"}, StartedAt: time.UnixMilli(1).UTC(),
	}, origin)
	const want = `{"payload":{"workspaceId":"w","automation":"a","trigger":{"type":"endpoint","value":"<a>"},"startedAt":"1970-01-01T00:00:00.001Z"},` +
		`"source":{"workspaceId":"w","userId":"alice","sessionId":"s","ip":"192.0.2.1","correlationId":"the-id","socketId":"socket",` +
		`"serviceTopic":"runtime.interactions.triggered","hops":3,"host":{"service":"runtime"},"automationSlug":"a","automationDepth":2}}`
	if err != nil || string(made.Body) != want || made.Correlation != "the-id" || made.User != "alice" || made.Type != "runtime.interactions.triggered" {
		t.Errorf("%+v %v: %s", made, err, made.Body)
	}
	if _, err := envelope.Native(t.Context(), "runtime", "w", &catalogue.AutomationExecuted{Payload: make(chan int)}); err == nil {
		t.Error("what cannot be written was")
	}
}

// BenchmarkNative makes the event of a run.
func BenchmarkNative(b *testing.B) {
	ctx, payload := request(b.Context(), "192.0.2.1"), &catalogue.AutomationExecuted{
		Slug: "hello", Trigger: catalogue.Trigger{Type: "endpoint", Value: "hello"}, StartedAt: time.UnixMilli(1_700_000_000_000).UTC(),
		Payload: json.RawMessage(`{"body":{"name":"world"},"headers":{"content-type":"application/json"}}`), Output: json.RawMessage(`{"message":"Hello world"}`),
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := envelope.Native(ctx, "runtime", "w", payload); err != nil {
			b.Fatal(err)
		}
	}
}
