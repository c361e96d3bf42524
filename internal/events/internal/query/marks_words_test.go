package query_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/events/internal/query"
)

// askedText is the text of a search: words, phrases, beginnings and what must not be there.
func askedText(t *rapid.T) string {
	pieces := rapid.SampledFrom(append(texts(), "x", "word", "WORD2", "wor", "or", "order", "paid", "1772366400500", "2026", "01t12", "5z", "00", "topic", "runtime", "c",
		"stra", "straß", "i\u0307stanbul", "cafe\u0301", "cafe", "ωmeg", "σας", "rare", "rarel", "ünïc", "ünïco", "½", "ⅷ", "ǆung", "abcd", "3", "payload", "x:y")).Draw
	var asked []string
	for range rapid.IntRange(1, 3).Draw(t, "pieces") {
		piece := strings.NewReplacer(`"`, "", "\n", " ").Replace(pieces(t, "piece"))
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			piece += "*"
		case 1:
			piece = `"` + piece + `"`
		case 2:
			piece = strings.ToUpper(piece)
		case 3:
			piece = "-" + piece
		}
		asked = append(asked, piece)
	}
	return strings.Join(asked, " ")
}

// asksAnything is a filter as a search or as parameters have it.
func asksAnything(t *rapid.T) (query.Filter, string) {
	if rapid.Bool().Draw(t, "as a search") {
		return anyFilter(t)
	}
	parameters := url.Values{}
	if rapid.IntRange(0, 3).Draw(t, "with a text") > 0 {
		parameters.Set("text", askedText(t))
	}
	if rapid.Bool().Draw(t, "with a path") {
		parameters[anyPath(t)] = []string{rapid.SampledFrom(texts()).Draw(t, "value"), rapid.SampledFrom([]string{"", "", "x", "wor*"}).Draw(t, "other")}
	}
	filter, err := query.FromParameters(parameters)
	if err != nil {
		t.Skip(err) // a path that is none, or an open quote: another case is drawn
	}
	return filter, parameters.Encode()
}

// An event has the marks of its first words alone when it has very many, and says so.
func TestMarksOfManyWords(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		b.WriteString("word" + strconv.Itoa(i) + " ")
	}
	long := event(0, "order.paid", `{"payload":{"text":"`+b.String()+`","note":"needle"},"source":{}}`)
	for _, asked := range []string{"word1", "word4999", "needle", "haystack"} { // also the last: whoever looks decides
		filter, err := ask(t, "text="+asked)
		if err != nil {
			t.Fatal(err)
		}
		if needs := filter.Needs("W"); len(needs) != 1 || !has(long.Stored(), needs[0]) {
			t.Errorf("%s: an event with very many words is passed over", asked)
		}
	}
	count := 0
	all := query.Marks(long.Stored(), query.Found{Mark: func(uint64) { count++ }})
	if all || count > 10_000 {
		t.Errorf("all words: %t, with %d marks", all, count)
	}
}

// Words of a field are found by the words of all fields.
func TestMarksOfMatches(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`{"match":{"payload.note":{"query":"Hello Web","operator":"and"}}}`: 3, `{"match":{"payload.note":"Hello Moon"}}`: 2, `{"match":{"type":"paid"}}`: 1,
	} {
		filter, err := query.ParseQuery(json.RawMessage(text), "query")
		if err != nil || !filter.Match(paid()) {
			t.Fatalf("%s: %v", text, err)
		}
		list := filter.Needs("W")
		if len(list) != want || slices.ContainsFunc(list, func(need query.Need) bool { return !has(paid().Stored(), need) }) {
			t.Errorf("%s: %d needs, want %d that the event has", text, len(list), want)
		}
	}
}

// Letters of any kind make words and beginnings of them, each once.
func TestMarksOfLetters(t *testing.T) {
	t.Parallel()
	stored := event(0, "x", `{"payload":["Straßenbahn ÜBERALL Ωmega cafe\u0301teria","日本語テキスト ab½Ⅷcd"],"source":{}}`)
	for asked, want := range map[string]bool{
		"straßenbahn": true, "strassenbahn": false, "straß*": true, "stra*": true, "STRAẞ*": true, "strb*": false, "überall": true, "über*": true, "uber*": false,
		"ωmeg*": true, "ωmega*": true, "cafe\u0301*": true, "cafe\u0301teria": true, "café*": false, "日本語テ*": true, "日本語テキ*": true, "日本語キ*": false, "ab½ⅷ*": true, "AB½ⅧCD": true,
	} {
		filter, err := query.FromParameters(url.Values{"text": {asked}})
		if err != nil {
			t.Fatal(err)
		}
		needs := filter.Needs("W")
		if got := len(needs) == 1 && has(stored.Stored(), needs[0]); got != want || filter.Match(stored) != want || len(needs) != 1 {
			t.Errorf("%s: %d needs, of which the event has all: %t, want %t; it matches: %t", asked, len(needs), got, want, filter.Match(stored))
		}
	}
}

// What is empty is nothing, in lists and objects too.
func TestPathsOfEmptyValues(t *testing.T) {
	t.Parallel()
	stored := event(0, "x", `{"payload":{"a":[null],"b":[[],{}],"c":[{"d":null}],"e":[null,{"x":0}],"f":{"g":""},"h":{"i":{}}},"source":{}}`).Stored()
	var told []string
	query.Marks(stored, query.Found{Mark: func(uint64) {}, Path: func(path []byte, _ uint64) { told = append(told, string(path)) }})
	slices.Sort(told)
	if want := []string{"payload", "payload.e", "payload.e.x", "payload.f", "payload.f.g"}; !slices.Equal(told, want) {
		t.Errorf("there is something at %v, want %v", told, want)
	}
}

// A path is told of exactly where an event has something at it: what says that all have it must be true.
func TestPathsOfEvents(t *testing.T) {
	t.Parallel()
	there := 0
	often(t, func(t *rapid.T) {
		path, body := anyPath(t), anyBody(t)
		if strings.Contains(path, "..") || strings.HasSuffix(path, ".") {
			return // nobody is told of those
		}
		filter, err := query.ParseQuery(json.RawMessage(`{"exists":{"field":`+strconv.Quote(path)+`}}`), "query")
		if err != nil {
			return // a path that is none
		}
		told := false
		query.Marks(event(0, "x", body).Stored(), query.Found{Mark: func(uint64) {}, Path: func(p []byte, _ uint64) { told = told || string(p) == path }})
		if has := filter.Match(event(0, "x", body)); has != told {
			t.Fatalf("%s: there is something: %t, told: %t\n%s", path, has, told, body)
		}
		if told {
			there++
		}
	})
	if there == 0 {
		t.Error("no path ever had anything")
	}
}
