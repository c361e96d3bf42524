package catalogue_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/catalogue"
	"atelier/internal/errs"
)

// encoded is what the standard library writes.
func encoded(t *rapid.T, v any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(text.Bytes(), []byte("\n")))
}

// fill gives every field of a struct something, or nothing: a field that is new is written as well, or the test fails.
func fill(t *rapid.T, v reflect.Value) {
	for _, field := range v.Fields() {
		if rapid.Bool().Draw(t, "empty") {
			continue
		}
		switch field.Interface().(type) {
		case string:
			field.SetString(rapid.String().Draw(t, "text"))
		case bool:
			field.SetBool(true)
		case int64:
			field.SetInt(rapid.Int64().Draw(t, "number"))
		case time.Time:
			field.Set(reflect.ValueOf(time.UnixMilli(rapid.Int64Range(0, 1<<41).Draw(t, "time")).UTC()))
		case *errs.Shown:
			field.Set(reflect.ValueOf(&errs.Shown{Error: "e", Message: "<m>", Details: map[string]any{"n": 1}}))
		case catalogue.Trigger:
			fill(t, field)
		default: // payload and output
			field.Set(reflect.ValueOf(rapid.SampledFrom([]any{
				json.RawMessage(`{"a":[1,"<é>"]}`), json.RawMessage(`null`), json.RawMessage(nil), map[string]any{"b": "<>"}, "text", 1.5,
			}).Draw(t, "any")))
		}
	}
}

// A payload that writes itself writes what the standard library would.
func TestWriters(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		for _, payload := range []catalogue.Writer{&catalogue.Interaction{}, &catalogue.AutomationExecuted{}} {
			fill(t, reflect.ValueOf(payload).Elem())
			got, err := payload.AppendJSON([]byte("before "))
			if want := "before " + encoded(t, payload); err != nil || string(got) != want {
				t.Fatalf("%s %v\nwant %s", got, err, want)
			}
		}
		text := rapid.OneOf(rapid.String(), rapid.StringOf(rapid.SampledFrom([]rune("a<\"\\\n\x00\x7f\u2028é")))).Draw(t, "text") + rapid.SampledFrom([]string{"", "\xff"}).Draw(t, "end")
		if got := string(catalogue.AppendText(nil, text)); got != encoded(t, text) {
			t.Fatalf("%q: %s", text, got)
		}
	})
}

// What cannot be written is an error.
func TestWritersFail(t *testing.T) {
	t.Parallel()
	for name, payload := range map[string]catalogue.Writer{
		"payload": &catalogue.AutomationExecuted{Payload: make(chan int)}, "output": &catalogue.AutomationExecuted{Output: make(chan int)},
		"time": &catalogue.AutomationExecuted{StartedAt: time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC)}, "begin": &catalogue.Interaction{StartedAt: time.Date(-5, 1, 1, 0, 0, 0, 0, time.UTC)},
		"error": &catalogue.AutomationExecuted{Error: &errs.Shown{Details: map[string]any{"a": make(chan int)}}},
	} {
		if _, err := payload.AppendJSON(nil); err == nil {
			t.Errorf("%s was written", name)
		}
	}
}
