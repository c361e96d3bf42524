package envelope_test

import (
	"context"
	"encoding/json"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

func request(ctx context.Context, client string) context.Context {
	info := &httpx.Info{CorrelationID: "the-id"}
	if client != "" {
		info.Client = netip.MustParseAddr(client)
	}
	return access.With(httpx.WithInfo(ctx, info), access.Principal{Kind: access.User, UserID: "alice", SessionID: "s"})
}

func custom(t *testing.T, payload string, maxLen int) (bus.Record, error) {
	t.Helper()
	return envelope.Custom(request(t.Context(), ""), "w", "my.type", envelope.Event{Payload: json.RawMessage(payload)}, maxLen)
}

// The limit is in characters of the stored text, not in bytes: the last that fits fits whatever it is made of.
func TestSizeIsInCharacters(t *testing.T) {
	t.Parallel()
	empty, err := custom(t, `""`, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	const limit = 1000
	room := limit - utf8.RuneCount(empty.Body)
	for name, character := range map[string]string{"one byte": "a", "two bytes": "é", "three bytes": "€", "four bytes": "😀", "HTML": "<", "ampersand": "&"} {
		fits, err := custom(t, `"`+strings.Repeat(character, room)+`"`, limit)
		if err != nil || utf8.RuneCount(fits.Body) != limit {
			t.Errorf("%s: %d characters: %v", name, utf8.RuneCount(fits.Body), err)
		}
		_, err = custom(t, `"`+strings.Repeat(character, room+1)+`"`, limit)
		failure := errs.From(err)
		if errs.CodeOf(err) != errs.ValidationFailed {
			t.Errorf("%s: one more: %v", name, err)
			continue
		}
		if failure.Details["reason"] != "EventTooLarge" || failure.Details["eventSize"] != limit+1 || failure.Details["maxSize"] != limit ||
			failure.Details["eventType"] != "my.type" {
			t.Errorf("%s: %v", name, failure.Details)
		}
	}
}

// What is read is what was written: payload text, target and options, with the facts of the log added.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	const payload = `{"n":1.0,"big":123456789012345678901234567890,"s":"<&> \ud83d\ude00 😀","z":null}`
	current := true
	sent := envelope.Event{
		Payload: json.RawMessage(payload), Target: &envelope.Target{UserTopic: "t", UserID: "bob", CurrentSocket: &current},
		Options: &envelope.Options{AggPayload: true},
	}
	made, err := envelope.Custom(request(t.Context(), "203.0.113.9"), "w", "my.type", sent, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	at := bus.PositionAt(time.UnixMilli(1_757_668_991_388), 0)
	got, err := envelope.Read(bus.Event{Position: at, WorkspaceID: "w", Type: made.Type, Body: made.Body})
	if err != nil {
		t.Fatal(err)
	}
	want := envelope.Event{
		ID: "1757668991388-0", Type: "my.type", CreatedAt: time.UnixMilli(1_757_668_991_388).UTC(), Size: utf8.RuneCount(made.Body),
		Payload: json.RawMessage(payload), Target: sent.Target, Options: sent.Options,
		Source: envelope.Source{
			WorkspaceID: "w", UserID: "alice", SessionID: "s", IP: "203.0.113.9", CorrelationID: "the-id", ServiceTopic: envelope.CustomTopic,
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	if _, err := envelope.Read(bus.Event{Body: json.RawMessage(`{`)}); err == nil {
		t.Error("a broken event was read")
	}
}

// The platform's own events say which service made them; users cannot make such a source.
func TestNative(t *testing.T) {
	t.Parallel()
	made, err := envelope.Native(request(t.Context(), ""), "workspaces", "w", &catalogue.Error{Message: "<b>"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := envelope.Read(bus.Event{Type: made.Type, Body: made.Body})
	if err != nil || got.Source.ServiceTopic != "error" || got.Source.Host == nil || got.Source.Host.Service != "workspaces" {
		t.Errorf("%+v %v", got, err)
	}
	if string(got.Payload) != `{"message":"<b>"}` {
		t.Errorf("%s", got.Payload)
	}
	forged, err := envelope.Custom(request(t.Context(), ""), "w", "x", envelope.Event{
		Payload: json.RawMessage(`1`), Source: envelope.Source{UserID: "bob", Host: &envelope.Host{Service: "gateway"}},
	}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if read, _ := envelope.Read(bus.Event{Body: forged.Body}); read.Source.UserID != "alice" || read.Source.Host != nil {
		t.Errorf("%+v", read.Source)
	}
	if _, err := envelope.Native(t.Context(), "x", "w", &catalogue.WorkspaceConfigured{Config: func() {}}); err == nil {
		t.Error("a payload that cannot be written was written")
	}
	if _, err := envelope.Native(t.Context(), "x", "w", &catalogue.Page{Verb: catalogue.Rotated}); err == nil {
		t.Error("an event that is not in the catalogue was made")
	}
	if _, err := custom(t, `{`, 1000); err == nil {
		t.Error("a payload that is not JSON was written")
	}
}

// Addresses of private networks are nobody's business.
func TestPrivateAddressesAreRemoved(t *testing.T) {
	t.Parallel()
	for client, kept := range map[string]bool{
		"203.0.113.9": true, "2001:db8::1": true, "8.8.8.8": true,
		"10.1.2.3": false, "172.16.0.1": false, "192.168.1.1": false, "127.0.0.1": false, "169.254.1.1": false,
		"::1": false, "fc00::1": false, "fe80::1": false, "": false,
	} {
		made, err := envelope.Native(request(t.Context(), client), "x", "w", new(catalogue.Error))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := envelope.Read(bus.Event{Body: made.Body})
		if (got.Source.IP != "") != kept {
			t.Errorf("%s: %q", client, got.Source.IP)
		}
	}
}

// What an emitter is told of its event is what everybody reads later.
func TestEmittedIsWhatIsRead(t *testing.T) {
	t.Parallel()
	ctx, persist := request(t.Context(), "203.0.113.9"), false
	for _, sent := range []envelope.Event{
		{Payload: json.RawMessage(`{"a":[1,{"b":null}]}`)},
		{Payload: json.RawMessage(`"<b>"`), Target: &envelope.Target{UserID: "bob"}, Options: &envelope.Options{Persist: &persist}, Source: envelope.Source{SocketID: "s1", UserID: "eve"}},
	} {
		made, err := envelope.Custom(ctx, "w", "my.type", sent, 1000)
		if err != nil {
			t.Fatal(err)
		}
		stored := bus.Event{Position: bus.PositionAt(time.UnixMilli(1_757_668_991_388), 3), WorkspaceID: "w", Type: made.Type, Body: made.Body}
		want, err := envelope.Read(stored)
		if got := envelope.Emitted(ctx, stored, sent); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%+v\nwant %+v %v", got, want, err)
		}
	}
}

// An act says who did it to what, and what it changed; what the payload says itself of them stays.
func TestAudit(t *testing.T) {
	t.Parallel()
	act := envelope.Act{Payload: &catalogue.Link{Verb: catalogue.Created}, TargetType: "users", TargetID: "u", After: map[string]any{"id": 1}}
	for want, make := range map[string]func(*catalogue.Audited){
		`{"actor":{"kind":"user","userId":"alice","sessionId":"s"},"target":{"type":"users","id":"u"},"changes":{"after":{"id":1},"before":null}}`: func(*catalogue.Audited) {},
		`{"actor":{"kind":"other"},"target":{"type":"x","id":"y"},"changes":{"after":{"id":1},"before":null}}`: func(a *catalogue.Audited) {
			a.Actor, a.Target = &catalogue.Actor{Kind: "other"}, &catalogue.Target{Type: "x", ID: "y"}
		},
	} {
		said := &catalogue.Link{Verb: catalogue.Created}
		make(&said.Audited)
		act.Payload = said
		record, err := envelope.Audit(request(t.Context(), ""), "gateway", "platform", act)
		if err != nil {
			t.Fatal(err)
		}
		got, err := envelope.Read(bus.Event{Type: record.Type, Body: record.Body})
		if err != nil || record.Type != "gateway.links.created" || string(got.Payload) != want {
			t.Errorf("%s %s %v", record.Type, got.Payload, err)
		}
	}
}
