package access

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Object is what conditions look at: the thing that an action is about. Field gives the value at a dotted path: text, a
// number, a bool, a list ([]any or []string) or an object (map[string]any). No value and null are the same.
type Object interface {
	Field(path string) (value any, ok bool)
}

// Fields is an Object made of a map. A key may be a dotted path itself; otherwise the path leads through the values.
type Fields map[string]any

// Field implements Object.
func (f Fields) Field(path string) (any, bool) {
	if v, ok := f[path]; ok {
		return v, v != nil
	}
	return walk(f, path)
}

// nested is an Object whose keys are plain names.
type nested map[string]any

// Field implements Object.
func (n nested) Field(path string) (any, bool) { return walk(n, path) }

// walk follows a dotted path through objects; lists are not entered.
func walk(m map[string]any, path string) (any, bool) {
	for {
		key, rest, deeper := strings.Cut(path, ".")
		v, ok := m[key]
		if !ok || v == nil {
			return nil, false
		}
		if !deeper {
			return v, true
		}
		switch x := v.(type) {
		case map[string]any:
			m = x
		case Fields:
			m = x
		case map[string]string:
			s, ok := x[rest]
			return s, ok
		default:
			return nil, false
		}
		path = rest
	}
}

// theObject stands for an object of the workspace of which nothing else is known.
type theObject struct{ workspaceID string }

// Field implements Object.
func (o theObject) Field(path string) (any, bool) {
	switch path {
	case "workspaceId", "runningWorkspaceId", "source.workspaceId":
		return o.workspaceID, true
	case "source.serviceTopic":
		return TopicEmit, true
	case "scope":
		return "workspace", true
	default:
		return nil, false
	}
}

// theWorkspace is the workspace itself, of which nothing but the id is known.
type theWorkspace struct{ workspaceID string }

// Field implements Object.
func (o theWorkspace) Field(path string) (any, bool) {
	if path == "id" {
		return o.workspaceID, true
	}
	return nil, false
}

type scalarKind uint8

const (
	isNull scalarKind = iota
	isBool
	isNumber
	isText
)

// scalar is a value that can be compared.
type scalar struct {
	kind   scalarKind
	truth  bool
	number float64
	text   string
}

// scalarOf gives the value of anything but lists and objects.
func scalarOf(v any) (scalar, bool) {
	switch x := v.(type) {
	case nil:
		return scalar{}, true
	case string:
		return scalar{kind: isText, text: x}, true
	case bool:
		return scalar{kind: isBool, truth: x}, true
	default:
		n, ok := numberOf(v)
		return scalar{kind: isNumber, number: n}, ok
	}
}

func numberOf(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case int:
		return float64(x), true
	case json.Number:
		n, _ := strconv.ParseFloat(x.String(), 64) // out of range it is infinite, and greater than any operand
		return n, true
	default:
		return 0, false
	}
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
