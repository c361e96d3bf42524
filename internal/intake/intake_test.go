package intake_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/envelope"
	"atelier/internal/intake"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// guarded runs a test on a log with an intake, on every engine. What is appended goes both ways in turn.
func guarded(t *testing.T, settings intake.Settings, run func(t *testing.T, store func(r bus.Record) (envelope.Event, error))) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		table, err := sqlbus.Open(db, clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		log := intake.Guard(table, settings)
		t.Cleanup(func() { _ = log.Close() })
		turn := 0
		run(t, func(r bus.Record) (envelope.Event, error) {
			var stored []bus.Event
			var err error
			if turn++; turn%2 == 0 {
				stored, err = log.Append(t.Context(), r)
			} else {
				err = db.Tx(t.Context(), func(tx *sqldb.Tx) (err error) {
					stored, err = log.AppendTx(t.Context(), tx, r)
					return err
				})
			}
			if err != nil {
				return envelope.Event{}, err
			}
			return found(t, db, stored[0])
		})
	}, sqlbus.Migrations())
}

// found reads an event from the table: what was answered is what is there.
func found(t *testing.T, db *sqldb.DB, answered bus.Event) (envelope.Event, error) {
	t.Helper()
	events, err := sqldb.All(t.Context(), db, sqlbus.ScanEvent, `SELECT pos, workspace_id, type, body FROM bus_events WHERE pos = $1`, int64(answered.Position))
	if err != nil || len(events) != 1 || events[0].Type != answered.Type || string(events[0].Body) != string(answered.Body) {
		t.Fatalf("%v %v, want %v", events, err, answered)
	}
	return envelope.Read(events[0])
}

func native(t *testing.T, p catalogue.Payload) bus.Record {
	t.Helper()
	r, err := envelope.Native(t.Context(), "workspaces", "w", p)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func custom(ctx context.Context, t *testing.T, eventType, payload string) bus.Record {
	t.Helper()
	r, err := envelope.Custom(ctx, "w", eventType, envelope.Event{Payload: json.RawMessage(payload)}, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// The last native event that fits is stored, whatever its characters are made of; instead of one that is larger there is an
// error that says so. Events of users are not looked at: they were refused before.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	const most = 2000
	guarded(t, intake.Settings{MaxLen: most}, func(t *testing.T, store func(bus.Record) (envelope.Event, error)) {
		room := most - utf8.RuneCount(native(t, &catalogue.Error{Message: ""}).Body)
		for _, character := range []string{"a", "é", "€", "😀"} {
			fits := native(t, &catalogue.Error{Message: strings.Repeat(character, room)})
			if got, err := store(fits); err != nil || got.Size != most || got.Type != "error" {
				t.Errorf("%s: %d %v", character, got.Size, err)
			}
			got, err := store(native(t, &catalogue.WorkspaceDeleted{WorkspaceID: "w", Name: strings.Repeat(character, most)}))
			if err != nil {
				t.Fatal(err)
			}
			var said catalogue.Error
			if err := json.Unmarshal(got.Payload, &said); err != nil {
				t.Fatal(err)
			}
			if got.Type != "error" || said.Type != "workspaces.deleted" || said.Error != "EventTooLarge" || said.Message == "" || said.Details["maxSize"] != float64(most) {
				t.Errorf("%+v %s", got, got.Payload)
			}
			if got.Source.WorkspaceID != "w" || got.Source.ServiceTopic != "error" || got.Source.Host == nil || got.Source.Host.Service != "workspaces" {
				t.Errorf("%+v", got.Source)
			}
		}
		if got, err := store(custom(t.Context(), t, "mine", `"`+strings.Repeat("x", most)+`"`)); err != nil || got.Type != "mine" || got.Size < most {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// An executed event loses its largest fields until it fits, and nothing else.
func TestExecutedIsStripped(t *testing.T) {
	t.Parallel()
	const most = 3000
	long := strings.Repeat("😀", most)
	half := strings.Repeat("x", most/2)
	guarded(t, intake.Settings{MaxLen: 100_000, ExecutedMaxLen: most}, func(t *testing.T, store func(bus.Record) (envelope.Event, error)) {
		for name, c := range map[string]struct {
			payload, output any
			wantPayload     string
			wantOutput      string
		}{
			"fits":               {"in", "out", `"in"`, `"out"`},
			"payload":            {long, "out", `"LARGE_CONTENT_STRIPPED"`, `"out"`},
			"output":             {"in", long, `"in"`, `"LARGE_CONTENT_STRIPPED"`},
			"only one of two":    {half, half + "y", `"` + half + `"`, `"LARGE_CONTENT_STRIPPED"`},
			"both":               {long, long, `"LARGE_CONTENT_STRIPPED"`, `"LARGE_CONTENT_STRIPPED"`},
			"a field inside":     {map[string]any{"a": 1, "b": map[string]any{"c": long, "d": 2}}, 1, `{"a":1,"b":{"c":"LARGE_CONTENT_STRIPPED","d":2}}`, `1`},
			"many fields inside": {many(1000), 1, `"LARGE_CONTENT_STRIPPED"`, `1`},
			"a list":             {strings.Split(strings.Repeat("x", most), ""), 1, `"LARGE_CONTENT_STRIPPED"`, `1`},
		} {
			got, err := store(native(t, &catalogue.AutomationExecuted{Slug: "a", Payload: c.payload, Output: c.output}))
			if err != nil {
				t.Fatal(err)
			}
			var said struct{ Payload, Output json.RawMessage }
			if err := json.Unmarshal(got.Payload, &said); err != nil {
				t.Fatal(err)
			}
			if got.Type != catalogue.ExecutedType || got.Size > most || string(said.Payload) != c.wantPayload || string(said.Output) != c.wantOutput {
				t.Errorf("%s: %d characters: %.200s %.200s", name, got.Size, said.Payload, said.Output)
			}
		}
	})
}

func many(n int) map[string]any {
	fields := map[string]any{}
	for i := range n {
		fields[fmt.Sprint("field", i)] = i
	}
	return fields
}

// A type of the platform that is not in the catalogue cannot be stored, unless its prefix is exempt.
func TestUnknownTypes(t *testing.T) {
	t.Parallel()
	guarded(t, intake.Settings{Exempt: []string{"apps."}}, func(t *testing.T, store func(bus.Record) (envelope.Event, error)) {
		for eventType, stored := range map[string]bool{"workspaces.invented": false, "Runtime.x": false, "apps.invented": true, "mine": true, "usage": true} {
			if _, err := store(custom(t.Context(), t, eventType, `{}`)); (err == nil) != stored {
				t.Errorf("%s: %v", eventType, err)
			}
		}
	})
}
