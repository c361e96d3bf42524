// Package value holds the values of the automation language and what JavaScript does with them: what is equal, what is
// greater, what counts as true, what becomes of a number in a text. Nothing else ever enters an expression: no host
// object, no method, no inherited property.
package value

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Undefined is the value of what does not exist. It differs from null, which is nil.
type Undefined struct{}

// A value is one of: Undefined, nil (null), bool, float64, string, []any, *Object. Lists and objects are never changed by
// an expression, so they may be shared.

// From makes a value of what Go's decoders give: maps, whose keys come in alphabetical order, and numbers of every kind.
// What is a value already stays what it is.
func From(v any) any {
	switch v := v.(type) {
	case map[string]any:
		object := NewObject(len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			object.Set(key, From(v[key]))
		}
		return object
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = From(item)
		}
		return list
	case []string:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = item
		}
		return list
	case Undefined, nil, bool, float64, string, *Object:
		return v
	default:
		return fromScalar(v)
	}
}

func fromScalar(v any) any {
	switch v := v.(type) {
	case int:
		return float64(v)
	case int64:
		return float64(v)
	case uint64:
		return float64(v)
	case json.Number:
		return ParseNumber(string(v))
	case fmt.Stringer:
		return v.String()
	default:
		return Undefined{}
	}
}

// Exists says that a value is neither null nor undefined.
func Exists(v any) bool {
	return v != nil && v != Undefined{}
}

// Truthy says what a value is worth as a condition: false, null, undefined, 0, NaN and the empty text are false.
func Truthy(v any) bool {
	switch v := v.(type) {
	case nil, Undefined:
		return false
	case bool:
		return v
	case float64:
		return v != 0 && !math.IsNaN(v)
	case string:
		return v != ""
	default:
		return true
	}
}

// Get returns a property: an item of a list or its length, a character of a text or its length, a key of an object.
// Whatever else is asked for is undefined.
func Get(v any, key string) any {
	switch v := v.(type) {
	case *Object:
		return v.Get(key)
	case []any:
		if key == "length" {
			return float64(len(v))
		}
		if i, ok := index(key, len(v)); ok {
			return v[i]
		}
	case string:
		return character(v, key)
	}
	return Undefined{}
}

// index reads a key as the position of an item, the way JavaScript writes numbers: no sign, no leading zero.
func index(key string, length int) (int, bool) {
	const digits = 9 // more than any list has
	if key == "" || len(key) > digits || len(key) > 1 && key[0] == '0' {
		return 0, false
	}
	n := 0
	for i := range len(key) {
		if key[i] < '0' || key[i] > '9' {
			return 0, false
		}
		n = n*10 + int(key[i]-'0')
	}
	return n, n < length
}
