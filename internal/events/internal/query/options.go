package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"atelier/internal/errs"
)

// Options is the short name of SearchOptions, which is what the document of the API calls it.
type Options = SearchOptions

// SearchOptions is what those who listen to events ask for: live feeds, and subscriptions of webhooks.
type SearchOptions struct {
	Types            []string        `json:"types,omitempty" maxItems:"200" nullable:"false" doc:"Only these types."`
	Text             string          `json:"text,omitempty" maxLength:"1000" doc:"Only events whose JSON contains this text, in upper or lower case."`
	AppInstanceDepth *int            `json:"appInstanceDepth,omitempty" minimum:"0" doc:"Only events of apps up to this depth, and of the workspace itself. 1 unless given, or asked for in payloadQuery."`
	PayloadQuery     json.RawMessage `json:"payloadQuery,omitempty" doc:"Values by dotted paths into the event, all of which must fit; or a list of such objects, one of which must. A list of values means any of them, an empty text that there is none, * any text."`
}

// Filter checks the options and makes a filter of them. What is wrong is validation_failed with the name of the field.
func (o SearchOptions) Filter() (Filter, error) {
	var parts all
	if len(o.Types) > maxTypes {
		return Filter{}, invalid("types", "name at most 200 types")
	}
	if len(o.Types) > 0 {
		types := make([]any, 0, len(o.Types))
		for _, t := range o.Types {
			types = append(types, t)
		}
		parts = append(parts, newTerm(fieldType, false, types...))
	}
	if len(o.Text) > maxText {
		return Filter{}, invalid("text", "use at most 1,000 characters")
	}
	if o.Text != "" {
		parts = append(parts, contains{strings.ToLower(o.Text)})
	}
	if o.AppInstanceDepth != nil && *o.AppInstanceDepth < 0 {
		return Filter{}, invalid("appInstanceDepth", "use a number from 0")
	}
	if len(o.PayloadQuery) > 0 && !bytes.Equal(o.PayloadQuery, []byte("null")) {
		part, err := payloadQuery(o.PayloadQuery)
		if err != nil {
			return Filter{}, err
		}
		parts = append(parts, part)
	}
	switch {
	case o.AppInstanceDepth != nil:
		parts = append(parts, shallow{*o.AppInstanceDepth})
	case !parts.asks(depthPath):
		parts = append(parts, shallow{defaultDepth})
	}
	return Filter{root: parts}, nil
}

func payloadQuery(raw json.RawMessage) (node, error) {
	const field = "payloadQuery"
	value, err := decode(raw)
	if err != nil {
		return nil, invalid(field, "write an object, or a list of objects")
	}
	asked := &listened{}
	list, ok := value.([]any)
	if !ok {
		return asked.object(field, "", value, 0)
	}
	parts := make([]node, 0, len(list))
	for i, element := range list {
		part, err := asked.object(fmt.Sprintf("%s[%d]", field, i), "", element, 0)
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return anything{}, nil
	}
	return either(parts), nil
}

// listened counts what a payloadQuery asks.
type listened struct{ clauses int }

// object reads values by path. Objects within it lead on.
func (l *listened) object(field, prefix string, value any, depth int) (node, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, invalid(field, "write an object of values by dotted paths")
	}
	if depth > maxDepth {
		return nil, invalid(field, "nest at most 20 objects")
	}
	parts := make(all, 0, len(object))
	for _, key := range slices.Sorted(maps.Keys(object)) {
		var part node
		var err error
		if _, deeper := object[key].(map[string]any); deeper {
			part, err = l.object(field+"."+short(key), prefix+key+".", object[key], depth+1)
		} else {
			part, err = l.value(field+"."+short(key), prefix+key, object[key])
		}
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func (l *listened) value(field, path string, value any) (node, error) {
	path, ok := cleanPath(path)
	if !ok {
		return nil, invalid(field, Paths)
	}
	values, list := value.([]any)
	if !list {
		values = []any{value}
	}
	if l.clauses += len(values); l.clauses > maxClauses {
		return nil, invalid(field, "ask for less: 1,024 values in all")
	}
	texts := make([]string, 0, len(values))
	for _, v := range values {
		switch {
		case v == nil:
			texts = append(texts, "")
		case !scalar(v):
			return nil, invalid(field, "use texts, numbers and booleans")
		case len(textOf(v)) > maxText:
			return nil, invalid(field, "use at most 1,000 characters")
		default:
			texts = append(texts, textOf(v))
		}
	}
	if len(texts) == 0 {
		return never{}, nil
	}
	return anyOf(path, texts, true), nil
}

func invalid(field, message string) error {
	return errs.Invalid(errs.Field{Field: field, Message: message})
}

// decode reads JSON and keeps numbers as they were written.
func decode(raw json.RawMessage) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	err = decoder.Decode(&value)
	return value, err
}
