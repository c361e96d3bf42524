package query_test

import (
	"encoding/json"
	"net/url"
	"testing"
	"time"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
)

const noon = 1_772_366_400_000 // 2026-03-01T12:00:00Z

// event makes a stored event, so many milliseconds after noon.
func event(ms int64, eventType, body string) *query.Document {
	return query.Read(bus.Event{Position: bus.PositionAt(time.UnixMilli(noon+ms), 3), WorkspaceID: "W", Type: eventType, Body: json.RawMessage(body)})
}

// paid is the event that most filters of the tests are asked about.
func paid() *query.Document {
	return event(500, "order.paid", `{"payload":{"id":"A-7","amount":12.50,"big":1234567890123456789,"ok":true,"none":null,"empty":[],"void":{},
		"lines":[{"sku":"x1","n":2},{"sku":"y2","n":[3,4]}],"a.b":{"c":"dotted"},"note":"Say \"Hello\" to the World-wide Web","when":"2026-03-01T10:00:00Z"},
		"source":{"workspaceId":"W","userId":"ann","correlationId":"c-1","appInstanceDepth":1},"target":{"userId":"bob"},"error":{"error":"X_Y","message":"It failed"}}`)
}

func ask(t *testing.T, parameters string, reserved ...string) (query.Filter, error) {
	t.Helper()
	values, err := url.ParseQuery(parameters)
	if err != nil {
		t.Fatal(err)
	}
	return query.FromParameters(values, reserved...)
}

// wantFields fails unless the error is of the kind and names the field.
func wantFields(t *testing.T, what string, err error, code errs.Code, field string) {
	t.Helper()
	failure := errs.From(err)
	if err == nil || failure.Code != code || len(failure.Fields) != 1 || failure.Fields[0].Field != field {
		t.Errorf("%s: %v %+v, want %s about %s", what, err, failure, code, field)
	}
}
