package query_test

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
)

// Every parameter that is not one of the list's own is a path into the event.
func TestParameters(t *testing.T) {
	t.Parallel()
	for parameters, want := range map[string]bool{
		"":                                               true,
		"limit=5":                                        true,
		"types=order.paid":                               true,
		"types=order.sent, order.paid":                   true,
		"types=order.sent":                               false,
		"types=order.*":                                  false,
		"types[0]=a&types[1]=order.paid":                 true,
		"type=order.*":                                   true,
		"type=*.paid":                                    true,
		"type=*d*r*a*":                                   true,
		"type=*paid*paid":                                false,
		"id=1772366400500-3":                             true,
		"id=1772366400500-4":                             false,
		"id=17723664005*":                                true,
		"id=nonsense":                                    false,
		"source.userId=ann":                              true,
		"source.userId=Ann":                              false,
		"source.userId=bob&source.userId=ann":            true,
		"source.userId[0]=bob&source.userId[7]=":         false,
		"source.userId[]=bob&source.userId[]=an*":        true,
		"source.userId=ann&target.userId=ann":            false,
		"source.userId=":                                 false,
		"source.sessionId=":                              false, // alone it is a text that the field would have
		"source.sessionId[0]=":                           true,
		"source.sessionId=x&source.sessionId=":           true,
		"payload.none[]=":                                true,
		"payload.empty[]=":                               true,
		"payload.void[]=":                                true,
		"payload.lines[]=":                               false,
		"payload.amount=12.5":                            true,
		"payload.amount=1.25e1":                          true,
		"payload.amount=12.51":                           false,
		"payload.amount=12.5*":                           true,
		"aggPayload.amount=12.50":                        true,
		"payload.big=1234567890123456789":                true,
		"payload.big=1234567890123456788":                false,
		"payload.ok=true":                                true,
		"payload.ok=false":                               false,
		"payload.ok=1":                                   false,
		"payload.lines.sku=y2":                           true,
		"payload.lines.n=4":                              true,
		"payload.lines.n=5":                              false,
		"payload.lines=x1":                               false,
		"payload.a.b.c=dotted":                           true,
		`payload.note=Say "Hello" to the World-wide Web`: true,
		"payload.note=*Hello*":                           true,
		"error.error=X_Y":                                true,
		"size=*":                                         true,
		"options.async=*":                                false,
		"afterDate=2026-03-01T12:00:00Z":                 true,
		"afterDate=2026-03-01T12:00:00.499Z":             true,
		"afterDate=2026-03-01T12:00:00.500Z":             false,
		"afterDate=2026-03-01T12:00:00.4999999Z":         true,
		"beforeDate=2026-03-01T12:00:00.500Z":            false,
		"beforeDate=2026-03-01T12:00:00.5001Z":           true,
		"beforeDate=2026-03-01":                          false,
		"beforeDate=1772366400501":                       true,
		"afterDate=2026-03&beforeDate=2026-03-02T00:00:00%2B02:00": true,
		"afterDate=9999-12-31":               false,
		"beforeDate=0001-01-01":              false,
		"createdAt=2026-03-01T12:00:00.500Z": true,
		"createdAt=2026-03-01T12:00:00.501Z": false,
		"createdAt=2026-03-01*":              true,
		"afterId=1772366400500-2":            true,
		"afterId=1772366400500-3":            false,
		"beforeId=1772366400500-3":           false,
		"appInstanceDepth=1":                 true,
		"appInstanceDepth=0":                 false,
		"source.appInstanceDepth=1":          true,
		"text=hello":                         true,
		"text=hello web":                     true,
		"text=hello moon":                    false,
		`text="hello to"`:                    true,
		`text="to hello"`:                    false,
		"text=world-wide":                    true,
		"text=wide-world":                    false,
		"text=wor*":                          true,
		"text=wor":                           false,
		"text=-moon hello":                   true,
		"text=-hello":                        false,
		`text=-"hello web" AND web`:          true,
		"text=source.userId:ann":             true,
		"text=source.userId:an*":             true,
		`text=payload.note:"Say"`:            false,
		"text=-source.userId:bob":            true,
		"text=12.50":                         true,
		"text=order.paid":                    true,
		"text=http://web":                    false,
		"text=- ":                            true,
	} {
		filter, err := ask(t, strings.NewReplacer(" ", "%20", `"`, "%22").Replace(parameters), "limit")
		if err != nil {
			t.Errorf("%s: %v", parameters, err)
			continue
		}
		if got := filter.Match(paid()); got != want {
			t.Errorf("%s: %t", parameters, got)
		}
	}
}

func TestWrongParameters(t *testing.T) {
	t.Parallel()
	for parameters, field := range map[string]string{
		"foo=1": "foo", "source=1": "source", "sources.x=1": "sources.x", "a%5Bb%5D=1": "a[b]", "limit=1&limit=2": "limit", "Types=a": "Types",
		"afterDate=yesterday": "afterDate", "afterDate=2026": "afterDate", "beforeDate=1&beforeDate=2": "beforeDate",
		"afterId=x": "afterId", "beforeId=01-0": "beforeId", "appInstanceDepth=-1": "appInstanceDepth", "appInstanceDepth=x": "appInstanceDepth",
		"text=%22open": "text", "text=a%20OR%20b": "text", "text=" + strings.Repeat("x", 1001): "text",
		"types=" + strings.Repeat("a,", 201):                 "types",
		"payload.x=" + strings.Repeat("x", 1001):             "payload.x",
		"payload.x=1" + strings.Repeat("&payload.x=1", 1024): "payload.x",
		"payload." + strings.Repeat("x", 300) + "=1":         "payload." + strings.Repeat("x", 92) + "...",
	} {
		_, err := ask(t, parameters, "limit")
		wantFields(t, parameters[:min(len(parameters), 60)], err, errs.InvalidParameter, field)
	}
}

// Unless asked otherwise, events of apps within apps are left out.
func TestDepth(t *testing.T) {
	t.Parallel()
	deep := event(0, "x", `{"payload":{"appInstanceDepth":0},"source":{"appInstanceDepth":2}}`)
	payload := event(0, "x", `{"payload":{"appInstanceDepth":9},"source":{}}`)
	for parameters, want := range map[string][2]bool{
		"": {false, true}, "appInstanceDepth=2": {true, true}, "appInstanceDepth=0": {false, true}, "source.appInstanceDepth=2": {true, false},
		"source.appInstanceDepth=*&source.appInstanceDepth=": {true, true},
	} {
		filter, err := ask(t, parameters)
		if err != nil {
			t.Fatal(err)
		}
		if got := [2]bool{filter.Match(deep), filter.Match(payload)}; got != want {
			t.Errorf("%s: %v", parameters, got)
		}
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	zero := 0
	for name, c := range map[string]struct {
		options query.Options
		want    bool
	}{
		"nothing":       {query.Options{}, true},
		"types":         {query.Options{Types: []string{"order.paid"}}, true},
		"other types":   {query.Options{Types: []string{"order"}}, false},
		"text":          {query.Options{Text: `"AMOUNT":12.50`}, true},
		"other text":    {query.Options{Text: `amount: 12`}, false},
		"depth":         {query.Options{AppInstanceDepth: &zero}, false},
		"path":          {query.Options{PayloadQuery: json.RawMessage(`{"source.userId":"ann"}`)}, true},
		"nested":        {query.Options{PayloadQuery: json.RawMessage(`{"payload":{"lines":{"sku":["z","x1"]}},"target":{"userId":"b*"}}`)}, true},
		"number":        {query.Options{PayloadQuery: json.RawMessage(`{"payload.amount":12.5}`)}, true},
		"absent":        {query.Options{PayloadQuery: json.RawMessage(`{"source.sessionId":""}`)}, true},
		"not absent":    {query.Options{PayloadQuery: json.RawMessage(`{"source.userId":null}`)}, false},
		"any of none":   {query.Options{PayloadQuery: json.RawMessage(`{"source.userId":[]}`)}, false},
		"any value":     {query.Options{PayloadQuery: json.RawMessage(`{"target.userId":"*"}`)}, true},
		"and":           {query.Options{PayloadQuery: json.RawMessage(`{"source.userId":"ann","target.userId":"ann"}`)}, false},
		"or":            {query.Options{PayloadQuery: json.RawMessage(`[{"source.userId":"eve"},{"target.userId":"bob"}]`)}, true},
		"none of these": {query.Options{PayloadQuery: json.RawMessage(`[{"source.userId":"eve"},{"target.userId":"eve"}]`)}, false},
		"empty list":    {query.Options{PayloadQuery: json.RawMessage(`[]`)}, true},
		"null":          {query.Options{PayloadQuery: json.RawMessage(`null`)}, true},
	} {
		filter, err := c.options.Filter()
		if err != nil || filter.Match(paid()) != c.want {
			t.Errorf("%s: %t %v", name, !c.want, err)
		}
	}
	minus := -1
	for field, options := range map[string]query.Options{
		"types":             {Types: make([]string, 201)},
		"text":              {Text: strings.Repeat("x", 1001)},
		"appInstanceDepth":  {AppInstanceDepth: &minus},
		"payloadQuery":      {PayloadQuery: json.RawMessage(`5`)},
		"payloadQuery[1]":   {PayloadQuery: json.RawMessage(`[{},"x"]`)},
		"payloadQuery.foo":  {PayloadQuery: json.RawMessage(`{"foo":1}`)},
		"payloadQuery.type": {PayloadQuery: json.RawMessage(`{"type":[{}]}`)},
		"payloadQuery.payload" + strings.Repeat(".x", 20): {PayloadQuery: json.RawMessage(`{"payload":` + strings.Repeat(`{"x":`, 20) + `{}` + strings.Repeat("}", 21))},
	} {
		_, err := options.Filter()
		wantFields(t, field, err, errs.ValidationFailed, field)
	}
	asks, _ := query.Options{PayloadQuery: json.RawMessage(`[{"source.sessionId":"x"}]`)}.Filter()
	if !asks.Asks("source.sessionId") || asks.Asks("source.socketId") {
		t.Error("what is asked is not known")
	}
}

// What a store can use of a filter holds for everything that matches.
func TestPlans(t *testing.T) {
	t.Parallel()
	at := func(ms int64) bus.Position { return bus.PositionAt(time.UnixMilli(noon+ms), 0) }
	for parameters, want := range map[string]query.Plan{
		"":                                    {Exact: true, Shallow: true},
		"types=a,b&type=b&appInstanceDepth=3": {Types: []string{"b"}, Exact: true, Shallow: true},
		"types=a&type=b":                      {Types: []string{}, Exact: true, Shallow: true, Nothing: true},
		"source.userId=x&source.userId=y&types=a": {Types: []string{"a"}, Shallow: true, Equal: map[string][]string{"source.userId": {"x", "y"}}},
		"source.correlationId=x&source.userId=":   {Shallow: true, Equal: map[string][]string{"source.correlationId": {"x"}, "source.userId": {""}}},
		"source.userId=x&source.userId=y*":        {Shallow: true},
		"source.userId=x&source.userId=":          {Shallow: true},
		"payload.userId=x":                        {Shallow: true},
		"type=a*":                                 {Shallow: true},
		"afterDate=2026-03-01T12:00:00Z&beforeDate=1772366400010&target.userId=x": {After: at(1) - 1, Before: at(10), Shallow: true},
		"afterDate=2026-03-01T12:00:00Z&beforeDate=2026-03-01T12:00:00Z":          {After: at(1) - 1, Before: at(0), Exact: true, Shallow: true, Nothing: true},
		"id=1772366400000-3": {After: at(0) + 2, Before: at(0) + 4, Shallow: true},
	} {
		filter, err := ask(t, parameters)
		if err != nil {
			t.Fatal(err)
		}
		got := filter.Plan()
		if !slices.Equal(got.Types, want.Types) || got.After != want.After || got.Before != want.Before || got.Exact != want.Exact ||
			got.Shallow != want.Shallow || got.Nothing != want.Nothing || !maps.EqualFunc(got.Equal, want.Equal, slices.Equal) {
			t.Errorf("%s: %+v, want %+v", parameters, got, want)
		}
	}
}

// A pattern means the same however it is matched, and takes no longer for being nasty.
func TestPatterns(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?\\]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab*?]{0,10}`).Draw(t, "text")
		raw, _ := json.Marshal(map[string]any{"wildcard": map[string]any{"payload": pattern}})
		filter, err := query.ParseQuery(raw, "query")
		if err != nil {
			t.Fatal(err)
		}
		payload, _ := json.Marshal(text)
		if got := filter.Match(event(0, "x", `{"payload":`+string(payload)+`}`)); got != slow(pattern, text) {
			t.Fatalf("%q on %q: %t", pattern, text, got)
		}
	})
	nasty, _ := ask(t, "payload.x="+strings.Repeat("*a", 200)+"*b")
	done := make(chan bool)
	go func() {
		done <- nasty.Match(event(0, "x", `{"payload":{"x":"`+strings.Repeat("a", 90_000)+`"}}`))
	}()
	if <-done {
		t.Error("it matched")
	}
}

// slow is what a wildcard pattern means.
func slow(pattern, text string) bool {
	if pattern == "" {
		return text == ""
	}
	switch c, rest := pattern[0], pattern[1:]; {
	case c == '*':
		return slow(rest, text) || text != "" && slow(pattern, text[1:])
	case c == '?':
		return text != "" && slow(rest, text[1:])
	case c == '\\' && rest != "":
		return text != "" && text[0] == rest[0] && slow(rest[1:], text[1:])
	default:
		return text != "" && text[0] == c && slow(rest, text[1:])
	}
}

// A value is found however it is escaped in what is stored.
func TestEscapedText(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"payload":{"x":"caf\u00e9"}}`, `{"payload":{"x":"café"}}`, `{"payload":{"\u0078":"caf\u00e9"}}`} {
		filter, err := ask(t, "payload.x=caf%C3%A9")
		if err != nil || !filter.Match(event(0, "x", body)) {
			t.Errorf("%s: not found (%v)", body, err)
		}
	}
}

func TestDocuments(t *testing.T) {
	t.Parallel()
	d := paid()
	if v, ok := d.Field("payload.amount"); !ok || v != json.Number("12.50") {
		t.Errorf("a field: %v", v)
	}
	if _, ok := d.Field("payload.lines.sku"); ok {
		t.Error("rules do not enter lists")
	}
	if v, ok := d.Field("createdAt"); !ok || v != "2026-03-01T12:00:00.5Z" {
		t.Errorf("createdAt: %v", v)
	}
	if got := d.Values("payload.lines.n"); !slices.Equal(got, []any{json.Number("2"), json.Number("3"), json.Number("4")}) {
		t.Errorf("values: %v", got)
	}
	if e, err := d.Event(); err != nil || e.Type != "order.paid" || e.Source.UserID != "ann" {
		t.Errorf("the event: %+v %v", e, err)
	}
	broken := event(0, "x", `{`)
	filter, _ := ask(t, "source.userId=x")
	if filter.Match(broken) || len(broken.Values("payload.x")) > 0 {
		t.Error("a broken event matched")
	}
	if _, err := broken.Tree(); err == nil {
		t.Error("a broken event was read")
	}
}
