package waits_test

import (
	"errors"
	"strings"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/bus"
	"atelier/internal/dsul/expr/value"
)

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	v, err := value.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*value.Object)
}

func TestFilters(t *testing.T) {
	t.Parallel()
	event := object(t, `{"id": "1-2", "type": "a", "payload": {"n": 5, "s": "five", "list": [1, {"x": 2}], "o": {"k": 1}, "none": null}, "source": {"userId": "u"}}`)
	for filters, want := range map[string]bool{
		`{}`:                                  true,
		`{"payload.n": 5}`:                    true,
		`{"payload.n": "5"}`:                  true, // equality is loose
		`{"payload.n": 6}`:                    false,
		`{"payload.n": 5, "payload.s": "no"}`: false,
		`{"payload.list.1.x": 2}`:             true,
		`{"payload.o": {"k": 1}}`:             true,
		`{"payload.o": {"k": 2}}`:             false,
		`{"payload.missing.deep": null}`:      true,
		`{"source.userId": "u", "id": "1-2"}`: true,
		`{"payload.n": {"$eq": 5}}`:           true,
		`{"payload.n": {"$ne": 5}}`:           false,
		`{"payload.n": {"$in": [1, 5]}}`:      true,
		`{"payload.n": {"$in": []}}`:          false,
		`{"payload.n": {"$nin": [1, 5]}}`:     false,
		`{"payload.n": {"$gt": 4, "$lt": 6}}`: true,
		`{"payload.n": {"$gt": 5}}`:           false,
		`{"payload.n": {"$gte": 5}}`:          true,
		`{"payload.n": {"$lte": 5}}`:          true,
		`{"payload.n": {"$lt": 5}}`:           false,
		`{"payload.missing": {"$gte": 0}}`:    false,
		`{"payload.none": {"$gte": 0}}`:       false,
		`{"payload.s": {"$regex": "^fi"}}`:    true,
		`{"payload.s": {"$regex": "/^FI/i"}}`: true,
		`{"payload.s": {"$regex": "^vi"}}`:    false,
		`{"payload.missing": {"$regex": ""}}`: false,
		`{"payload.s": {"$exists": true}}`:    true,
		`{"payload.s": {"$exists": false}}`:   false,
		`{"payload.none": {"$exists": true}}`: false,
	} {
		one := waits.Want{Type: "a", Filters: object(t, filters)}
		if err := (waits.Wanted{one}).Check(); err != nil {
			t.Errorf("%s: %v", filters, err)
		}
		if got := one.Holds(event); got != want {
			t.Errorf("%s holds: %v", filters, got)
		}
	}
}

func TestBadFilters(t *testing.T) {
	t.Parallel()
	for _, filters := range []string{
		`{"a": {"$where": "1"}}`, `{"a": {"$in": 1}}`, `{"a": {"$nin": {}}}`, `{"a": {"$regex": "("}}`, `{"a": {"$regex": 1}}`,
		`{"a": {"$regex": "` + strings.Repeat("a", 1001) + `"}}`,
	} {
		err := waits.Wanted{{Type: "a", Filters: object(t, filters)}}.Check()
		if failure, ok := errors.AsType[*machine.Failure](err); !ok || failure.Name != machine.InvalidInstruction {
			t.Errorf("%.40s: %v", filters, err)
		}
	}
}

func TestValue(t *testing.T) {
	t.Parallel()
	position, err := bus.ParseID("1757668991388-64")
	if err != nil {
		t.Fatal(err)
	}
	v, err := waits.Value(bus.Event{Position: position, Type: "a", Body: []byte(`{"payload":{"n":1},"source":{}}`)})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := value.JSON(v, "", 1000)
	if want := `{"id":"1757668991388-64","type":"a","createdAt":"2025-09-12T09:23:11.388Z","size":31,"payload":{"n":1},"source":{}}`; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if _, err := waits.Value(bus.Event{Body: []byte(`[]`)}); err == nil {
		t.Error("a list is no event")
	}
}
