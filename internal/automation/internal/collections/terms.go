package collections

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"atelier/internal/automation/internal/collections/internal/query"
	"atelier/internal/dsul/expr/value"
)

// A term is a text for a value, or for those of several fields, such that terms have the order of values: nothing, numbers, texts, lists
// and objects, false, true. The first character tells the kind.
const (
	termNull   = "0"
	termNumber = "1"
	termText   = "2"
	termOther  = "3"
	termFalse  = "4"
	termTrue   = "5"
	termEnd    = "6"
	// after comes after whatever may follow a term.
	after = "~"
)

// maxTermText is how many bytes of a text are in its term, and the rest of the last character.
const maxTermText = 96

func termOf(v any) string {
	switch v := v.(type) {
	case nil, value.Undefined:
		return termNull
	case bool:
		if v {
			return termTrue
		}
		return termFalse
	case float64:
		return termNumber + orderedNumber(v)
	case string:
		return termText + orderedText(v)
	default:
		return termOther
	}
}

// orderedNumber writes a number in digits whose order is that of numbers.
func orderedNumber(n float64) string {
	bits := math.Float64bits(n + 0) // there is one zero
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return fmt.Sprintf("%016x", bits)
}

// orderedText writes the beginning of a text. Its end is a character that comes before all others, and these three, one of which no
// database can store, are written as two.
func orderedText(text string) string {
	if len(text) > maxTermText {
		cut := maxTermText
		for cut < len(text) && !utf8.RuneStart(text[cut]) {
			cut++ // whether a character is in must not depend on its length, or texts that are cut lose their order
		}
		text = text[:cut]
	}
	text = strings.ToValidUTF8(text, "\ufffd")
	return strings.NewReplacer("\x00", "\x02\x02", "\x01", "\x02\x03", "\x02", "\x02\x04").Replace(text) + "\x01"
}

// maxTerms is how many terms an index may have for one record: lists have one for each item.
const maxTerms = 1000

// terms are what an index knows of a record.
func (x index) terms(record *value.Object) ([]string, error) {
	all := []string{""}
	for _, field := range x.fields {
		own := fieldTerms(record.Get(field))
		if len(all)*len(own) > maxTerms {
			return nil, invalid("The lists of the fields %s are too long for their index: it takes %d different items.", strings.Join(x.fields, ", "), maxTerms)
		}
		next := make([]string, 0, len(all)*len(own))
		for _, prefix := range all {
			for _, term := range own {
				next = append(next, prefix+term)
			}
		}
		all = next
	}
	return all, nil
}

// fieldTerms are the terms of a value: those of its items when it is a list.
func fieldTerms(v any) []string {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		return []string{termOf(v)}
	}
	found := make(map[string]bool, len(list))
	for _, item := range list {
		found[termOf(item)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// digest is what a unique holds of a record; empty when one of the values is missing, which holds nothing.
func (x index) digest(record *value.Object) string {
	values := make([]any, len(x.fields))
	for i, field := range x.fields {
		if values[i] = record.Get(field); !value.Exists(values[i]) {
			return ""
		}
	}
	return digestOf(values)
}

func digestOf(values []any) string {
	sum := sha256.Sum256([]byte(jsonText(sorted(values))))
	return hex.EncodeToString(sum[:])
}

// sorted gives a value whose objects have their keys in order, so that equal ones are written the same.
func sorted(v any) any {
	switch v := v.(type) {
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = sorted(item)
		}
		return out
	case *value.Object:
		keys := make([]string, 0, v.Len())
		for key := range v.All() {
			keys = append(keys, key)
		}
		slices.Sort(keys)
		out := value.NewObject(len(keys))
		for _, key := range keys {
			out.Set(key, sorted(v.Get(key)))
		}
		return out
	default:
		return v
	}
}

// span is a part of an index: from low on, below high.
type span struct{ low, high string }

// maxSpans is how many parts of an index a query looks at.
const maxSpans = 64

// spans gives the parts of the index in which all records are that match the bounds, and how many of its fields that uses, in halves.
// It is false when the index is of no use.
func (x index) spans(s *Schema, bounds []query.Bound) (parts []span, used int, ok bool) {
	prefixes := []string{""}
	for _, field := range x.fields {
		points, has := fewest(bounds, field)
		if !has || len(prefixes)*len(points) > maxSpans {
			low, high, has := side(s, bounds, field)
			if has {
				used++
			}
			return around(prefixes, low, high), used, used > 0
		}
		next := make([]string, 0, len(prefixes)*len(points))
		for _, prefix := range prefixes {
			for _, point := range points {
				next = append(next, prefix+termOf(point))
			}
		}
		prefixes, used = next, used+2
	}
	return around(prefixes, "", after), used, true
}

func around(prefixes []string, low, high string) []span {
	parts := make([]span, 0, len(prefixes))
	for _, prefix := range prefixes {
		parts = append(parts, span{prefix + low, prefix + high})
	}
	return parts
}

// fewest gives the shortest list of values that a field may have.
func fewest(bounds []query.Bound, field string) (points []any, ok bool) {
	for _, b := range bounds {
		if b.Field == field && b.Points != nil && (!ok || len(b.Points) < len(points)) {
			points, ok = b.Points, true
		}
	}
	return points, ok
}

// side gives where the terms of a field lie that is compared with a value. Both ends are used when the field never has a list: one
// item of a list may fulfil the one and another one the other.
func side(s *Schema, bounds []query.Bound, field string) (low, high string, ok bool) {
	low, high = "", after
	kind := ""
	for _, b := range bounds {
		v := b.Low
		if (v == value.Undefined{}) {
			v = b.High
		}
		if b.Field != field || b.Points != nil || !value.Exists(v) {
			continue
		}
		term := termOf(v)
		if ok && (!s.class(field).single() || kind != term[:1]) {
			continue
		}
		if !ok {
			low, high = kindSpan(term[:1])
		}
		ok, kind = true, term[:1]
		if (b.Low != value.Undefined{}) {
			low = max(low, term)
		} else {
			high = min(high, term+after)
		}
	}
	return low, high, ok
}

// kindSpan is where the terms of a kind lie.
func kindSpan(kind string) (low, high string) {
	switch kind {
	case termNumber:
		return termNumber, termText
	case termText:
		return termText, termOther
	default:
		return termFalse, termEnd
	}
}
