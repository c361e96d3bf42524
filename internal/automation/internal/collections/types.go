package collections

import (
	"encoding/base64"
	"math"
	"slices"
	"strings"
	"time"

	"atelier/internal/dsul/expr/value"
)

// class is how a type holds its values.
type class int

const (
	classNone class = iota
	classText
	classMoment
	classClock
	classNumber
	classInteger
	classBoolean
	classBytes
	classTexts
	classEnum
	classEnums
	classJSON
)

func typeOf(name string) class {
	switch name {
	case "string", "text":
		return classText
	case "date", "datetime":
		return classMoment
	case "time":
		return classClock
	case "number", "double", "float", "decimal":
		return classNumber
	case "integer":
		return classInteger
	case "boolean":
		return classBoolean
	case "uint8array", "blob":
		return classBytes
	case "array":
		return classTexts
	case "enum":
		return classEnum
	case "enumArray":
		return classEnums
	case "json":
		return classJSON
	default:
		return classNone
	}
}

func typeNames() []string {
	return []string{
		"string", "text", "date", "time", "datetime", "number", "double", "float", "integer", "decimal", "boolean", "uint8array",
		"array", "enum", "enumArray", "json", "blob",
	}
}

// single tells that a field of the class never holds a list or an object.
func (c class) single() bool { return c != classTexts && c != classEnums && c != classJSON }

// check gives a value in the form in which the field holds it. Null is for who knows whether the field may be.
func (p property) check(v any) (any, error) {
	if out, ok := p.convert(v); ok {
		return out, nil
	}
	return nil, invalid("The field %q takes %s.", p.name, p.takes())
}

func (p property) convert(v any) (any, bool) {
	switch typeOf(p.kind) {
	case classText:
		text, ok := v.(string)
		return strings.ToValidUTF8(text, "\ufffd"), ok
	case classMoment:
		return moment(v)
	case classClock:
		return clockTime(v)
	case classNumber, classInteger:
		return p.number(v)
	case classBoolean:
		b, ok := v.(bool)
		return b, ok
	case classBytes:
		return byteText(v)
	case classTexts, classEnums:
		return p.list(v)
	case classEnum:
		return p.item(v)
	case classJSON:
		return clean(v, 0)
	default:
		return nil, false
	}
}

func (p property) number(v any) (any, bool) {
	n, ok := v.(float64)
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) {
		return nil, false
	}
	const exact = 1 << 53
	if typeOf(p.kind) == classInteger && (n != math.Trunc(n) || math.Abs(n) > exact) {
		return nil, false
	}
	return n + 0, true
}

func (p property) list(v any) (any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	out := make([]any, len(list))
	for i, item := range list {
		if out[i], ok = p.item(item); !ok {
			return nil, false
		}
	}
	return out, true
}

// item is a value of an enum, or a text of an array.
func (p property) item(v any) (any, bool) {
	if len(p.items) > 0 {
		return v, slices.ContainsFunc(p.items, func(item any) bool { return value.StrictEqual(item, v) })
	}
	if n, ok := v.(float64); ok && typeOf(p.kind) != classTexts {
		return n, !math.IsNaN(n) && !math.IsInf(n, 0)
	}
	text, ok := v.(string)
	return strings.ToValidUTF8(text, "\ufffd"), ok
}

// clean makes JSON of a value: no undefined, no numbers that JSON has not.
func clean(v any, depth int) (any, bool) {
	if depth > value.MaxDepth-2 {
		return nil, false
	}
	switch v := v.(type) {
	case string:
		return strings.ToValidUTF8(v, "\ufffd"), true
	case float64:
		return v + 0, !math.IsNaN(v) && !math.IsInf(v, 0)
	case value.Undefined:
		return nil, true
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			var ok bool
			if out[i], ok = clean(item, depth+1); !ok {
				return nil, false
			}
		}
		return out, true
	case *value.Object:
		out := value.NewObject(v.Len())
		for key, item := range v.All() {
			if (item == value.Undefined{}) {
				continue
			}
			inner, ok := clean(item, depth+1)
			if !ok {
				return nil, false
			}
			out.Set(strings.ToValidUTF8(key, "\ufffd"), inner)
		}
		return out, true
	default:
		return v, true
	}
}

// takes says in words what a field takes.
func (p property) takes() string {
	switch typeOf(p.kind) {
	case classText:
		return "a text"
	case classMoment:
		return "a date such as 2026-01-31T12:00:00Z, or milliseconds since 1970"
	case classClock:
		return "a time such as 12:30 or 12:30:15"
	case classNumber:
		return "a number"
	case classInteger:
		return "a whole number"
	case classBoolean:
		return "true or false"
	case classBytes:
		return "bytes as a text in base64, or as a list of numbers from 0 to 255"
	case classTexts:
		return "a list of texts"
	case classEnum, classEnums:
		return p.takesItems()
	default:
		return "anything that JSON can write"
	}
}

func (p property) takesItems() string {
	what := "a text or a number"
	if len(p.items) > 0 {
		what = "one of " + shorten(value.Join(p.items, ", "))
	}
	if typeOf(p.kind) == classEnums {
		return "a list with each item " + what
	}
	return what
}

// momentForm is the form in which dates are stored: the order of the texts is that of the dates.
const momentForm = "2006-01-02T15:04:05.000Z"

// moment reads a date: ISO 8601, with a time or without, or milliseconds. Without a zone it is UTC.
func moment(v any) (any, bool) {
	switch v := v.(type) {
	case float64:
		const most = 253_402_300_799_999 // the end of the year 9999
		if v != math.Trunc(v) || v < -62_135_596_800_000 || v > most {
			return nil, false
		}
		return time.UnixMilli(int64(v)).UTC().Format(momentForm), true
	case string:
		for _, form := range []string{time.RFC3339Nano, "2006-01-02", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02 15:04:05.999999999"} {
			if t, err := time.Parse(form, v); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
				return t.UTC().Truncate(time.Millisecond).Format(momentForm), true
			}
		}
	}
	return nil, false
}

// clockTime reads a time of the day.
func clockTime(v any) (any, bool) {
	text, ok := v.(string)
	if !ok {
		return nil, false
	}
	for _, form := range []string{"15:04:05.999999999", "15:04"} {
		if t, err := time.Parse(form, text); err == nil {
			if t.Nanosecond() != 0 {
				return t.Format("15:04:05.000"), true
			}
			return t.Format("15:04:05"), true
		}
	}
	return nil, false
}

// byteText gives bytes as a text in base64.
func byteText(v any) (any, bool) {
	switch v := v.(type) {
	case string:
		decoded, err := base64.StdEncoding.DecodeString(v)
		return base64.StdEncoding.EncodeToString(decoded), err == nil
	case []any:
		out := make([]byte, len(v))
		for i, item := range v {
			n, ok := item.(float64)
			if !ok || n < 0 || n > 255 || n != math.Trunc(n) {
				return nil, false
			}
			out[i] = byte(n)
		}
		return base64.StdEncoding.EncodeToString(out), true
	default:
		return nil, false
	}
}
