package query_test

import (
	"encoding/json"
	"strings"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
)

func TestQueries(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"match_all":{}}`:               true,
		`{"term":{"type":"order.paid"}}`: true,
		`{"term":{"type":{"value":"ORDER.paid","case_insensitive":true}}}`:                                       true,
		`{"term":{"type":"ORDER.paid"}}`:                                                                         false,
		`{"term":{"payload.amount":12.5}}`:                                                                       true,
		`{"term":{"aggPayload.amount":"12.5"}}`:                                                                  true,
		`{"term":{"payload.ok":true}}`:                                                                           true,
		`{"term":{"id":"1772366400500-3"}}`:                                                                      true,
		`{"term":{"createdAt":1772366400500}}`:                                                                   true,
		`{"terms":{"source.userId":["eve","ann"]}}`:                                                              true,
		`{"terms":{"createdAt":["2026-03-01T12:00:00.500Z","2020-01-01"]}}`:                                      true,
		`{"terms":{"source.userId":[]}}`:                                                                         false,
		`{"range":{"payload.amount":{"gt":12.5}}}`:                                                               false,
		`{"range":{"payload.amount":{"gte":12.5,"lt":13}}}`:                                                      true,
		`{"range":{"payload.lines.n":{"gt":2,"lt":4}}}`:                                                          true,
		`{"range":{"payload.amount":{"lt":"2"}}}`:                                                                false,
		`{"range":{"payload.when":{"gte":"2026-03-01","lt":"2026-03-02"}}}`:                                      true,
		`{"range":{"createdAt":{"gte":"2026-03-01T12:00:00.500Z","lte":1772366400500}}}`:                         true,
		`{"range":{"createdAt":{"gt":"2026-03-01T12:00:00.500Z"}}}`:                                              false,
		`{"range":{"createdAt":{"lt":"2026-03-01T12:00:00.500Z"}}}`:                                              false,
		`{"range":{"id":{"gte":"1772366400500-3","lte":"1772366400500-3"}}}`:                                     true,
		`{"range":{"size":{"gte":10,"lt":10000}}}`:                                                               true,
		`{"exists":{"field":"target"}}`:                                                                          true,
		`{"exists":{"field":"payload.none"}}`:                                                                    false,
		`{"exists":{"field":"payload.lines.sku"}}`:                                                               true,
		`{"match":{"payload.note":"moon HELLO"}}`:                                                                true,
		`{"match":{"payload.note":{"query":"moon hello","operator":"and"}}}`:                                     false,
		`{"match":{"payload.note":{"query":"web hello","operator":"AND"}}}`:                                      true,
		`{"match":{"payload.note":""}}`:                                                                          false,
		`{"wildcard":{"type":"order.?aid"}}`:                                                                     true,
		`{"wildcard":{"type":{"value":"ORDER*","case_insensitive":true}}}`:                                       true,
		`{"wildcard":{"type":"order"}}`:                                                                          false,
		`{"prefix":{"type":"order."}}`:                                                                           true,
		`{"prefix":{"type":"order.*"}}`:                                                                          false,
		`{"prefix":{"type":{"value":"ORDER.","case_insensitive":true}}}`:                                         true,
		`{"ids":{"values":["x","1772366400500-3"]}}`:                                                             true,
		`{"ids":{"values":[]}}`:                                                                                  false,
		`{"bool":{}}`:                                                                                            true,
		`{"bool":{"must":{"term":{"source.userId":"ann"}},"must_not":[{"term":{"target.userId":"eve"}}]}}`:       true,
		`{"bool":{"must_not":{"match_all":{}}}}`:                                                                 false,
		`{"bool":{"filter":[{"match_all":{}}],"should":[{"term":{"type":"x"}}]}}`:                                true,
		`{"bool":{"should":[{"term":{"type":"x"}}]}}`:                                                            false,
		`{"bool":{"should":[{"match_all":{}},{"match_all":{}},{"term":{"type":"x"}}],"minimum_should_match":2}}`: true,
		`{"bool":{"should":[{"match_all":{}},{"match_all":{}},{"term":{"type":"x"}}],"minimum_should_match":3}}`: false,
	} {
		filter, err := query.ParseQuery(json.RawMessage(text), "query")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := filter.Match(paid()); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// What is not part of the language is named with its path.
func TestWrongQueries(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"bool":{"must":`, 20) + `{"match_all":{}}` + strings.Repeat(`}}`, 20)
	many := `{"bool":{"should":[` + strings.Repeat(`{"match_all":{}},`, 1024) + `{"match_all":{}}]}}`
	for text, field := range map[string]string{
		`5`: "query", `{}`: "query", `{"term":{},"range":{}}`: "query", `[]`: "query",
		`{"script":{"script":"x"}}`:                                "query.script",
		`{"query_string":{"query":"x"}}`:                           "query.query_string",
		`{"term":5}`:                                               "query.term",
		`{"term":{}}`:                                              "query.term",
		`{"term":{"foo":1}}`:                                       "query.term.foo",
		`{"term":{"source":1}}`:                                    "query.term.source",
		`{"term":{"type":null}}`:                                   "query.term.type",
		`{"term":{"type":[1]}}`:                                    "query.term.type",
		`{"term":{"type":{"value":"x","boost":2}}}`:                "query.term.type.boost",
		`{"term":{"type":{"value":"x","case_insensitive":1}}}`:     "query.term.type.case_insensitive",
		`{"terms":{"type":"x"}}`:                                   "query.terms.type",
		`{"terms":{"type":["x",{}]}}`:                              "query.terms.type[1]",
		`{"range":{"type":{}}}`:                                    "query.range.type",
		`{"range":{"createdAt":{"gt":"now-1d"}}}`:                  "query.range.createdAt.gt",
		`{"range":{"createdAt":{"gt":1e300}}}`:                     "query.range.createdAt.gt",
		`{"range":{"createdAt":{"format":"x"}}}`:                   "query.range.createdAt.format",
		`{"range":{"id":{"gt":"x"}}}`:                              "query.range.id.gt",
		`{"range":{"size":{"gt":true}}}`:                           "query.range.size.gt",
		`{"match":{"type":{"query":"x","operator":"xor"}}}`:        "query.match.type.operator",
		`{"match":{"type":[]}}`:                                    "query.match.type",
		`{"wildcard":{"type":5}}`:                                  "query.wildcard.type",
		`{"wildcard":{"type":"` + strings.Repeat("*", 501) + `"}}`: "query.wildcard.type",
		`{"match_all":{"boost":1}}`:                                "query.match_all.boost",
		`{"exists":{"field":"x"}}`:                                 "query.exists.field",
		`{"ids":{"values":"x"}}`:                                   "query.ids.values",
		`{"bool":{"must":[{"term":{"type":"x"}},{"nested":{}}]}}`:  "query.bool.must[1].nested",
		`{"bool":{"minimum_should_match":"75%"}}`:                  "query.bool.minimum_should_match",
		`{"bool":{"boost":1}}`:                                     "query.bool.boost",
		deep:                                                       "query" + strings.Repeat(".bool.must", 20),
		many:                                                       "query.bool.should[1023]",
	} {
		_, err := query.ParseQuery(json.RawMessage(text), "query")
		wantFields(t, text[:min(len(text), 60)], err, errs.ValidationFailed, field)
	}
}

// aggregate counts some events and gives the figures as JSON.
func aggregate(t *testing.T, text string, events ...*query.Document) (string, error) {
	t.Helper()
	all, err := query.ParseAggregations(json.RawMessage(text), "aggs")
	if err != nil {
		return "", err
	}
	collector := all.Collect()
	for _, d := range events {
		if err := collector.Add(d); err != nil {
			return "", err
		}
	}
	result, err := collector.Result()
	if err != nil {
		return "", err
	}
	shown, err := json.Marshal(result)
	return string(shown), err
}

// sample is some events of different kinds; hours apart around midnight in Paris.
func sample() []*query.Document {
	const hour = 3_600_000
	return []*query.Document{
		event(0, "a", `{"payload":{"n":1,"tag":["x","y","x"],"ok":true},"source":{"userId":"ann"}}`),
		event(9*hour, "a", `{"payload":{"n":2.5,"tag":"x"},"source":{"userId":"bob"}}`),
		event(10*hour, "b", `{"payload":{"n":"text","tag":"z"},"source":{"userId":"ann"}}`),
		event(11*hour, "b", `{"payload":{"n":1e400,"tag":7,"ok":false}}`),
		event(60*hour, "c", `{"payload":{"n":10,"tag":7.0}}`),
	}
}

func TestAggregations(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"t":{"terms":{"field":"type"}}}`:                                                                                                                                         `{"t":{"buckets":[{"doc_count":2,"key":"a"},{"doc_count":2,"key":"b"},{"doc_count":1,"key":"c"}],"doc_count_error_upper_bound":0,"sum_other_doc_count":0}}`,
		`{"t":{"terms":{"field":"payload.tag","size":2}}}`:                                                                                                                         `{"t":{"buckets":[{"doc_count":2,"key":7},{"doc_count":2,"key":"x"}],"doc_count_error_upper_bound":0,"sum_other_doc_count":2}}`,
		`{"t":{"terms":{"field":"payload.ok","missing":"?","order":{"_key":"desc"}}}}`:                                                                                             `{"t":{"buckets":[{"doc_count":1,"key":1,"key_as_string":"true"},{"doc_count":1,"key":0,"key_as_string":"false"},{"doc_count":3,"key":"?"}],"doc_count_error_upper_bound":0,"sum_other_doc_count":0}}`,
		`{"t":{"terms":{"field":"type","min_doc_count":2,"order":[{"_count":"asc"},{"_key":"desc"}]}}}`:                                                                            `{"t":{"buckets":[{"doc_count":2,"key":"b"},{"doc_count":2,"key":"a"}],"doc_count_error_upper_bound":0,"sum_other_doc_count":0}}`,
		`{"t":{"terms":{"field":"type","order":{"m.value":"desc"}},"aggs":{"m":{"max":{"field":"payload.n"}}}}}`:                                                                   `{"t":{"buckets":[{"doc_count":1,"key":"c","m":{"value":10}},{"doc_count":2,"key":"a","m":{"value":2.5}},{"doc_count":2,"key":"b","m":{"value":null}}],"doc_count_error_upper_bound":0,"sum_other_doc_count":0}}`,
		`{"d":{"date_histogram":{"field":"createdAt","calendar_interval":"day","time_zone":"Europe/Paris","format":"yyyy-MM-dd"}}}`:                                                `{"d":{"buckets":[{"doc_count":3,"key":1772319600000,"key_as_string":"2026-03-01"},{"doc_count":1,"key":1772406000000,"key_as_string":"2026-03-02"},{"doc_count":0,"key":1772492400000,"key_as_string":"2026-03-03"},{"doc_count":1,"key":1772578800000,"key_as_string":"2026-03-04"}]}}`,
		`{"d":{"date_histogram":{"field":"createdAt","fixed_interval":"12h","min_doc_count":1},"aggs":{"u":{"cardinality":{"field":"source.userId"}}}}}`:                           `{"d":{"buckets":[{"doc_count":4,"key":1772366400000,"key_as_string":"2026-03-01T12:00:00.000Z","u":{"value":2}},{"doc_count":1,"key":1772582400000,"key_as_string":"2026-03-04T00:00:00.000Z","u":{"value":0}}]}}`,
		`{"d":{"date_histogram":{"field":"createdAt","calendar_interval":"1M","min_doc_count":0,"extended_bounds":{"min":"2026-02","max":"2026-04-02"},"format":"epoch_millis"}}}`: `{"d":{"buckets":[{"doc_count":0,"key":1769904000000,"key_as_string":"1769904000000"},{"doc_count":5,"key":1772323200000,"key_as_string":"1772323200000"},{"doc_count":0,"key":1775001600000,"key_as_string":"1775001600000"}]}}`,
		`{"h":{"histogram":{"field":"payload.n","interval":4}}}`:                                                                                                                   `{"h":{"buckets":[{"doc_count":2,"key":0},{"doc_count":0,"key":4},{"doc_count":1,"key":8}]}}`,
		`{"h":{"histogram":{"field":"payload.n","interval":5,"offset":1,"min_doc_count":1,"order":{"_key":"desc"}}}}`:                                                              `{"h":{"buckets":[{"doc_count":1,"key":6},{"doc_count":2,"key":1}]}}`,
		`{"a":{"avg":{"field":"payload.n"}},"b":{"sum":{"field":"aggPayload.n"}},"c":{"min":{"field":"payload.n"}}}`:                                                               `{"a":{"value":4.5},"b":{"value":13.5},"c":{"value":1}}`,
		`{"a":{"stats":{"field":"payload.n","missing":0}}}`:                                                                                                                        `{"a":{"avg":4.5,"count":3,"max":10,"min":1,"sum":13.5}}`,
		`{"a":{"stats":{"field":"payload.none"}},"b":{"avg":{"field":"payload.none"}},"c":{"sum":{"field":"payload.none"}}}`:                                                       `{"a":{"avg":null,"count":0,"max":null,"min":null,"sum":0},"b":{"value":null},"c":{"value":0}}`,
		`{"a":{"max":{"field":"createdAt"}}}`:                                                                                                                                      `{"a":{"value":1772582400000,"value_as_string":"2026-03-04T00:00:00.000Z"}}`,
		`{"a":{"cardinality":{"field":"payload.tag"}}}`:                                                                                                                            `{"a":{"value":4}}`,
		`{"a":{"percentiles":{"field":"payload.n","percents":[0,50,75,100]}}}`:                                                                                                     `{"a":{"values":{"0.0":1,"100.0":10,"50.0":2.5,"75.0":6.25}}}`,
		`{"a":{"percentiles":{"field":"payload.none","percents":[99.9]}}}`:                                                                                                         `{"a":{"values":{"99.9":null}}}`,
		`{"f":{"filters":{"filters":{"ann":{"term":{"source.userId":"ann"}},"x":{"term":{"payload.tag":"x"}}},"other_bucket_key":"rest"}}}`:                                        `{"f":{"buckets":{"ann":{"doc_count":2},"rest":{"doc_count":2},"x":{"doc_count":2}}}}`,
		`{"f":{"filters":{"filters":[{"match_all":{}}]},"aggs":{"s":{"sum":{"field":"payload.n"}}}}}`:                                                                              `{"f":{"buckets":[{"doc_count":5,"s":{"value":13.5}}]}}`,
	} {
		if got, err := aggregate(t, text, sample()...); got != want {
			t.Errorf("%s: %v\n got %s\nwant %s", text, err, got, want)
		}
	}
}

func TestWrongAggregations(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat(`{"a":{"terms":{"field":"type"},"aggs":`, 5) + `{"a":{"avg":{"field":"size"}}}` + strings.Repeat(`}}`, 5)
	for text, field := range map[string]string{
		`5`: "aggs", `{"a":5}`: "aggs.a", `{"a":{}}`: "aggs.a", `{"":{}}`: "aggs.", `{"a>b":{}}`: "aggs.a>b",
		`{"a":{"scripted_metric":{}}}`: "aggs.a.scripted_metric", `{"a":{"top_hits":{}}}`: "aggs.a.top_hits",
		`{"a":{"terms":{"script":"x"}}}`: "aggs.a.terms.script", `{"a":{"terms":{"field":"x"}}}`: "aggs.a.terms.field",
		`{"a":{"terms":{"field":"type"},"avg":{"field":"size"}}}`:                                                "aggs.a.terms",
		`{"a":{"terms":{"field":"type","size":0}}}`:                                                              "aggs.a.terms.size",
		`{"a":{"terms":{"field":"type","size":10001}}}`:                                                          "aggs.a.terms.size",
		`{"a":{"terms":{"field":"type","min_doc_count":0}}}`:                                                     "aggs.a.terms.min_doc_count",
		`{"a":{"terms":{"field":"type","order":{"x":"asc"}}}}`:                                                   "aggs.a.terms.order.x",
		`{"a":{"terms":{"field":"type","order":{"_key":"up"}}}}`:                                                 "aggs.a.terms.order._key",
		`{"a":{"avg":{"field":"size"},"aggs":{"b":{"avg":{"field":"size"}}}}}`:                                   "aggs.a.aggs",
		`{"a":{"date_histogram":{"field":"createdAt"}}}`:                                                         "aggs.a.date_histogram",
		`{"a":{"date_histogram":{"field":"createdAt","fixed_interval":"1M"}}}`:                                   "aggs.a.date_histogram.fixed_interval",
		`{"a":{"date_histogram":{"field":"createdAt","fixed_interval":"999999999d"}}}`:                           "aggs.a.date_histogram.fixed_interval",
		`{"a":{"date_histogram":{"field":"createdAt","calendar_interval":"2d"}}}`:                                "aggs.a.date_histogram.calendar_interval",
		`{"a":{"date_histogram":{"field":"createdAt","calendar_interval":"day","time_zone":"../etc/passwd"}}}`:   "aggs.a.date_histogram.time_zone",
		`{"a":{"date_histogram":{"field":"createdAt","calendar_interval":"day","time_zone":"Local"}}}`:           "aggs.a.date_histogram.time_zone",
		`{"a":{"date_histogram":{"field":"createdAt","calendar_interval":"day","format":"Q"}}}`:                  "aggs.a.date_histogram.format",
		`{"a":{"date_histogram":{"field":"createdAt","calendar_interval":"day","extended_bounds":{"min":"x"}}}}`: "aggs.a.date_histogram.extended_bounds.min",
		`{"a":{"histogram":{"field":"size","interval":0}}}`:                                                      "aggs.a.histogram.interval",
		`{"a":{"histogram":{"field":"size"}}}`:                                                                   "aggs.a.histogram.interval",
		`{"a":{"percentiles":{"field":"size","percents":[101]}}}`:                                                "aggs.a.percentiles.percents",
		`{"a":{"filters":{}}}`:                              "aggs.a.filters.filters",
		`{"a":{"filters":{"filters":{"x":{"script":{}}}}}}`: "aggs.a.filters.filters.x.script",
		deep: "aggs" + strings.Repeat(".a.aggs", 5),
	} {
		_, err := query.ParseAggregations(json.RawMessage(text), "aggs")
		wantFields(t, text[:min(len(text), 60)], err, errs.ValidationFailed, field)
	}
	for text, field := range map[string]string{ // what only shows when counting
		`{"a":{"date_histogram":{"field":"createdAt","fixed_interval":"1ms"}}}`:                             "aggs.a",
		`{"a":{"histogram":{"field":"payload.n","interval":1e-300}}}`:                                       "aggs.a",
		`{"a":{"histogram":{"field":"payload.n","interval":1,"extended_bounds":{"min":-1e18,"max":1e18}}}}`: "aggs.a",
	} {
		_, err := aggregate(t, text, sample()...)
		wantFields(t, text, err, errs.ValidationFailed, field)
	}
}

// numbers is an event with a list of numbers.
func numbers(count int, number func(n int) int) *query.Document {
	list := make([]int, count)
	for n := range list {
		list[n] = number(n)
	}
	payload, _ := json.Marshal(list)
	return event(int64(number(0)), "x", `{"payload":`+string(payload)+`}`)
}

// Counting does not take unbounded memory.
func TestTooManyValues(t *testing.T) {
	t.Parallel()
	all, err := query.ParseAggregations(json.RawMessage(`{"a":{"terms":{"field":"payload"}}}`), "aggs")
	if err != nil {
		t.Fatal(err)
	}
	collector := all.Collect()
	for i := 0; i < 251 && err == nil; i++ {
		err = collector.Add(numbers(1000, func(n int) int { return i*1000 + n }))
	}
	wantFields(t, "a quarter of a million values", err, errs.ValidationFailed, "aggs.a")
}

// Percentiles of many numbers are close, and exact at the ends.
func TestManyNumbers(t *testing.T) {
	t.Parallel()
	all, err := query.ParseAggregations(json.RawMessage(`{"a":{"percentiles":{"field":"payload","percents":[0,1,50,99,100]}}}`), "aggs")
	if err != nil {
		t.Fatal(err)
	}
	collector := all.Collect()
	const count = 50_000
	for i := range count / 500 {
		if err := collector.Add(numbers(500, func(n int) int { return (i*500 + n) * 7919 % count })); err != nil {
			t.Fatal(err)
		}
	}
	result, err := collector.Result()
	if err != nil {
		t.Fatal(err)
	}
	values := result["a"].(map[string]any)["values"].(map[string]any)
	for name, want := range map[string]float64{"0.0": 0, "1.0": 500, "50.0": 25_000, "99.0": 49_500, "100.0": 49_999} {
		if got := values[name].(float64); got < want-0.002*count || got > want+0.002*count {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

func TestOrdersAndFields(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`5`: "sort[0]", `{"createdAt":"up"}`: "sort[0].createdAt", `{"foo":"asc"}`: "sort[0].foo", `{"type":"asc"}`: "sort[0].type",
		`{"size":{"order":"asc","mode":"min"}}`: "sort[0].size.mode", `{}`: "sort[0]",
	} {
		_, err := query.ParseOrder([]json.RawMessage{json.RawMessage(text)}, "sort")
		wantFields(t, text, err, errs.ValidationFailed, field)
	}
	if _, err := query.ParseFields([]string{"type", "foo"}, "source"); err == nil {
		t.Error("an unknown field was taken")
	}
	fields, err := query.ParseFields([]string{"id", "payload.lines.sku", "source.*", "payload.a.b.c"}, "source")
	if err != nil {
		t.Fatal(err)
	}
	picked, err := paid().Pick(fields)
	shown, _ := json.Marshal(picked)
	const want = `{"id":"1772366400500-3","payload":{"a.b":{"c":"dotted"},"lines":[{"sku":"x1"},{"sku":"y2"}]},"source":{"appInstanceDepth":1,"correlationId":"c-1","userId":"ann","workspaceId":"W"}}`
	if err != nil || string(shown) != want {
		t.Errorf("%s %v", shown, err)
	}
}
