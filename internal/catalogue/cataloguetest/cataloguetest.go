// Package cataloguetest holds what services store against the catalogue.
package cataloguetest

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"testing"

	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// Stored looks, when the test is over, at every event of the platform that is in the log: its payload has what its type must
// have, and nothing else.
func Stored(t testing.TB, db *sqldb.DB) {
	t.Helper()
	t.Cleanup(func() {
		events, err := sqldb.All(context.Background(), db, sqlbus.ScanEvent, `SELECT pos, workspace_id, type, body FROM bus_events`)
		if err != nil {
			t.Logf("the events were not looked at: %v", err) // the test has closed the database, or broken it
			return
		}
		for _, e := range events {
			Conforms(t, e)
		}
	})
}

// Conforms fails the test when a stored event is the platform's and not as the catalogue says.
func Conforms(t testing.TB, stored bus.Event) {
	t.Helper()
	event, err := envelope.Read(stored)
	if err != nil || event.Source.Host == nil { // not a service's
		return
	}
	entry, ok := catalogue.Find(event.Type)
	if !ok {
		t.Errorf("%s is not in the catalogue", event.Type)
		return
	}
	read := reflect.New(reflect.TypeOf(entry.Payload).Elem()).Interface()
	decoder := json.NewDecoder(bytes.NewReader(event.Payload))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(read); err != nil {
		t.Errorf("%s: %v: %s", event.Type, err, event.Payload)
		return
	}
	for name := range members(t, read) { // what is always written was there
		if _, there := members(t, event.Payload)[name]; !there {
			t.Errorf("%s has no %s: %s", event.Type, name, event.Payload)
		}
	}
}

func members(t testing.TB, value any) (fields map[string]json.RawMessage) {
	t.Helper()
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, &fields)
	}
	if err != nil {
		t.Error(err)
	}
	return fields
}
