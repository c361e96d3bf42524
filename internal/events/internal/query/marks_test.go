package query_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/bus"
	"atelier/internal/events/internal/query"
)

// keys and texts are few, so that filters hit.
func keys() []string {
	return []string{"a", "b", "a.b", "c", "é", `q"k`, "", "source", "userId", "x y", "a.", "..", "\u2028"}
}

func texts() []string {
	return []string{
		"", "x", "true", "false", "null", "5", "5.0", "-0", "1e2", "100", "A-7 b", `say "hi"`, "é", "a\nb", "日本", "\ufffd", "word word2", `\`,
		"Straße", "STRASSE", "İstanbul", "istanbul", "cafe\u0301 noir", "café", "Ωmega ΣΑΣ", "rare-word9", "Rarely", "ünïcode12", "½ Ⅷ", "ǅungla", "\u202eabcde",
	}
}

func anyJSON(t *rapid.T, depth int) any {
	kinds := []string{"text", "number", "bool", "null"}
	if depth > 0 {
		kinds = append(kinds, "object", "list")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "text":
		return rapid.SampledFrom(texts()).Draw(t, "text")
	case "number":
		return json.RawMessage(rapid.SampledFrom([]string{"5", "5.0", "0.5e1", "-0", "0", "100", "1E+2", "1e400", "-1.25", "1234567890123456789012"}).Draw(t, "number"))
	case "bool":
		return rapid.Bool().Draw(t, "bool")
	case "object":
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			object[rapid.SampledFrom(keys()).Draw(t, "key")] = anyJSON(t, depth-1)
		}
		return object
	case "list":
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, anyJSON(t, depth-1))
		}
		return list
	default:
		return nil
	}
}

// anyBody is a stored event, written with or without escapes that need not be.
func anyBody(t *rapid.T) string {
	body := plainBody(t)
	if rapid.Bool().Draw(t, "escaped") {
		return escaped(body)
	}
	return body
}

// escaped is the same event in another spelling.
func escaped(body string) string {
	return strings.NewReplacer("x", `\u0078`, "word", `w\u006frd`).Replace(body)
}

func plainBody(t *rapid.T) string {
	body := map[string]any{"payload": anyJSON(t, 3), "source": map[string]any{
		"workspaceId": "W", "userId": rapid.SampledFrom(texts()).Draw(t, "user"), "correlationId": "c", "serviceTopic": "x",
	}}
	if rapid.Bool().Draw(t, "with a target") {
		body["target"] = anyJSON(t, 2)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// often tries a property more often than the tests of others: what is wrong in a mark shows rarely.
func often(t *testing.T, property func(t *rapid.T)) {
	t.Helper()
	for i := range 30 {
		t.Run(strconv.Itoa(i), func(t *testing.T) { rapid.Check(t, property) })
	}
}

func anyPath(t *rapid.T) string {
	root := rapid.SampledFrom([]string{"payload", "payload", "target", "source"}).Draw(t, "root")
	parts := rapid.SliceOfN(rapid.SampledFrom(append(keys(), "workspaceId", "correlationId", "serviceTopic")), 1, 3).Draw(t, "path")
	return root + "." + strings.Join(parts, ".")
}

func anyClause(t *rapid.T, depth int) map[string]any {
	kinds := []string{"term", "terms", "exists", "prefix", "wildcard", "match", "range"}
	if depth > 0 {
		kinds = append(kinds, "bool", "bool")
	}
	value := func() any {
		if rapid.Bool().Draw(t, "as a number") {
			return json.RawMessage(rapid.SampledFrom([]string{"5", "5.00", "100", "0"}).Draw(t, "asked number"))
		}
		return rapid.SampledFrom(texts()).Draw(t, "asked")
	}
	text := rapid.SampledFrom([]string{"x", "A*", "word", "5", "w", ""}).Draw(t, "asked text")
	switch kind := rapid.SampledFrom(kinds).Draw(t, "clause"); kind {
	case "exists":
		return map[string]any{kind: map[string]any{"field": anyPath(t)}}
	case "term":
		return map[string]any{kind: map[string]any{anyPath(t): map[string]any{"value": value(), "case_insensitive": rapid.Bool().Draw(t, "fold")}}}
	case "terms":
		return map[string]any{kind: map[string]any{anyPath(t): []any{value(), value()}}}
	case "range":
		return map[string]any{kind: map[string]any{anyPath(t): map[string]any{"gte": value()}}}
	case "bool":
		parts := map[string]any{}
		for _, part := range []string{"must", "filter", "should", "must_not"} {
			if rapid.Bool().Draw(t, part) {
				parts[part] = []any{anyClause(t, depth-1), anyClause(t, depth-1)}
			}
		}
		if rapid.Bool().Draw(t, "with a minimum") {
			parts["minimum_should_match"] = rapid.IntRange(0, 3).Draw(t, "minimum")
		}
		return map[string]any{kind: parts}
	default:
		return map[string]any{kind: map[string]any{anyPath(t): text}}
	}
}

func anyFilter(t *rapid.T) (query.Filter, string) {
	text, err := json.Marshal(anyClause(t, 3))
	if err != nil {
		t.Fatal(err)
	}
	filter, err := query.ParseQuery(text, "query")
	if err != nil {
		t.Skip(err) // a path that is none
	}
	return filter, string(text)
}

// has tells whether an event has what is needed.
func has(e bus.Event, need query.Need) bool {
	there, paths := map[uint64]bool{}, map[query.Path]bool{}
	words := query.Marks(e, query.Found{
		Mark: func(mark uint64) { there[mark] = true },
		Path: func(path []byte, _ uint64) { paths[query.PathOf(e.WorkspaceID, string(path))] = true },
	})
	return need.Words && !words || slices.ContainsFunc(need.Marks, func(mark uint64) bool { return there[mark] }) ||
		slices.ContainsFunc(need.Lacks, func(path query.Path) bool { return !paths[path] })
}

func TestMarksNeverHideWhatMatches(t *testing.T) {
	t.Parallel()
	matched, worded, lacking := 0, 0, 0
	often(t, func(t *rapid.T) {
		filter, text := asksAnything(t)
		body := anyBody(t)
		document := event(500, rapid.SampledFrom([]string{"order.paid", "Straße.Rarely", "x"}).Draw(t, "type"), body)
		if !filter.Match(document) {
			return
		}
		matched++
		for _, need := range filter.Needs("W") {
			if !has(document.Stored(), need) {
				t.Fatalf("%s matches %s, which has not what is needed", text, body)
			}
			if need.Words {
				worded++
			}
			if len(need.Lacks) > 0 {
				lacking++
			}
		}
	})
	if matched == 0 || worded == 0 || lacking == 0 {
		t.Errorf("%d matched, of which %d needed words and %d the lack of something", matched, worded, lacking)
	}
}

func TestMarksTellEventsApart(t *testing.T) {
	t.Parallel()
	needs := func(parameters string) query.Need {
		filter, err := ask(t, parameters)
		if err != nil {
			t.Fatal(err)
		}
		list := filter.Needs("W")
		if len(list) != 1 {
			t.Fatalf("%s needs %d things, want one", parameters, len(list))
		}
		return list[0]
	}
	in := func(workspaceID, parameters string) bool {
		stored := paid().Stored()
		stored.WorkspaceID = workspaceID
		return has(stored, needs(parameters))
	}
	for parameters, want := range map[string]bool{
		"payload.id=A-7": true, "payload.id=A-8": false, "payload.amount=12.5": true, "payload.amount=12.51": false,
		"payload.lines.sku=y2": true, "payload.sku=y2": false, "payload.a.b.c=dotted": true, "payload.note=Say+%22Hello%22+to+the+World-wide+Web": true,
		"payload.id=*7": true, "payload.none=*": false, "payload.void=*": false, "payload.empty=*": false, "target.userId=bob": true,
		"text=hello": true, "text=hallo": false, "text=HELL": false, "text=hell*": true, "text=hello*": true, "text=hall*": false, "text=ann": true,
		"text=paid": true, "text=1772366400500": true, "text=12": true, "text=13": false, "text=01T12": true, "text=true": true, "text=-moon+hello": true,
		"payload.id[0]=": false, "payload.none[0]=": true, "payload.void[0]=": true, "payload.empty[0]=": true, "source.userId[0]=": false,
		"source.sessionId[0]=": true, "payload.lines[0]=": false, "payload.id[0]=&payload.id[1]=A-7": true, "payload.id[0]=&payload.id[1]=A-8": false,
	} {
		if got := in("W", parameters); got != want {
			t.Errorf("%s: the event has what is needed: %t, want %t", parameters, got, want)
		}
	}
	folded, err := query.ParseQuery(json.RawMessage(`{"term":{"payload.id":{"value":"a-7","case_insensitive":true}}}`), "query")
	if err != nil || !folded.Match(paid()) || len(folded.Needs("W")) != 1 || !slices.Equal(folded.Needs("W")[0].Marks, needs("payload.id=*").Marks) {
		t.Errorf("a text in any case needs more than that there is one: %v", err)
	}
	if in("Other", "payload.id=A-7") || in("Other", "text=hello") {
		t.Error("an event of another workspace has the same mark")
	}
	for _, parameters := range []string{"source.userId=ann", "type=order.paid", "-x=1", "text=-hello", "text=hel*", "type[0]="} {
		if filter, err := ask(t, parameters); err == nil && len(filter.Needs("W")) > 0 {
			t.Errorf("%s needs marks, which those events do not have", parameters)
		}
	}
}

func TestMarksOfWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOf(rapid.SampledFrom([]byte(`{}[]",:\ntru1-. x`))).Draw(t, "text")
		query.Marks(bus.Event{WorkspaceID: "W", Body: text}, query.Found{Mark: func(uint64) {}, Path: func([]byte, uint64) {}}) // it ends, and reads nothing that is not there
	})
}

// How an event is written does not decide what is found in it: a shortcut that looks at the stored text finds the same.
func TestTextIsFoundHoweverItIsWritten(t *testing.T) {
	t.Parallel()
	found := 0
	often(t, func(t *rapid.T) {
		asked := rapid.SampledFrom([]string{"x", "X*", "word", "WORD2", `"a-7 b"`, "A", "7", "order", "paid", "ORD*", "2026", "01t12*", "500", "1772366400500", "true", "5", "c", "w", "topic", "é", "-x word"}).Draw(t, "asked")
		filter, err := query.FromParameters(url.Values{"text": {asked}})
		if err != nil {
			t.Fatal(err)
		}
		body := plainBody(t)
		plain, written := filter.Match(event(500, "order.paid", body)), filter.Match(event(500, "order.paid", escaped(body)))
		if plain != written {
			t.Fatalf("%s: %t, and %t when it is escaped: %s", asked, plain, written, body)
		}
		if plain {
			found++
		}
	})
	if found == 0 {
		t.Error("nothing was ever found")
	}
}
