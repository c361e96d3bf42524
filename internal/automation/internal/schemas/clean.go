package schemas

import (
	"math"
	"slices"

	"atelier/internal/dsul/expr/value"
)

// clean makes a JSON Schema of a typed argument. What schemas do not know is left out: markers, what forms are drawn with, and
// what is written in a form that means nothing to a validator. Nothing in it leads outside.
func clean(argument *value.Object) map[string]any {
	schema := map[string]any{}
	for key, said := range argument.All() {
		if kept, ok := keyword(key, said); ok {
			schema[key] = kept
		}
	}
	typesOf(argument, schema)
	return schema
}

// keyword is the value of a keyword of JSON Schema; false when it is none, or has a value that it cannot have.
func keyword(name string, said any) (any, bool) {
	switch name {
	case "properties", "patternProperties", "$defs", "definitions":
		return cleanMap(said)
	case "items":
		if list, ok := said.([]any); ok {
			return cleanList(list, false)
		}
		return cleanAny(said)
	case "additionalProperties", "additionalItems", "not", "if", "then", "else", "contains", "propertyNames":
		return cleanAny(said)
	case "oneOf", "anyOf", "allOf":
		list, _ := said.([]any)
		return cleanList(list, true)
	case "required":
		return texts(said)
	case "enum":
		list, ok := said.([]any)
		return plain(list), ok && len(list) > 0
	case "const":
		return plain(said), true
	case "format", "pattern", "$ref":
		text, ok := said.(string)
		return text, ok
	case "uniqueItems":
		flag, ok := said.(bool)
		return flag, ok
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		number, ok := said.(float64)
		return number, ok && !math.IsNaN(number) && !math.IsInf(number, 0)
	case "multipleOf":
		number, ok := said.(float64)
		return number, ok && number > 0 && !math.IsInf(number, 0)
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties":
		number, ok := said.(float64)
		return number, ok && number >= 0 && number <= math.MaxInt32 && number == math.Trunc(number)
	case "dependencies", "dependentRequired":
		return dependencies(said)
	default:
		return nil, false
	}
}

// dependencies are fields that need others: by their names, or by a schema.
func dependencies(said any) (any, bool) {
	of, ok := said.(*value.Object)
	if !ok {
		return nil, false
	}
	made := map[string]any{}
	for name, needs := range of.All() {
		if list, ok := texts(needs); ok {
			made[name] = list
		} else if schema, ok := cleanAny(needs); ok {
			made[name] = schema
		}
	}
	return made, true
}

func cleanMap(said any) (any, bool) {
	of, ok := said.(*value.Object)
	if !ok {
		return nil, false
	}
	made := make(map[string]any, of.Len())
	for name, argument := range of.All() {
		if schema, ok := cleanAny(argument); ok {
			made[name] = schema
		}
	}
	return made, true
}

// cleanAny is the schema that something is: a typed argument, or true and false.
func cleanAny(said any) (any, bool) {
	switch said := said.(type) {
	case *value.Object:
		return clean(said), true
	case bool:
		return said, true
	default:
		return nil, false
	}
}

// cleanList is a list of schemas. Among alternatives a plain value stands for itself.
func cleanList(list []any, alternatives bool) (any, bool) {
	made := make([]any, 0, len(list))
	for _, item := range list {
		schema, ok := cleanAny(item)
		switch {
		case ok:
			made = append(made, schema)
		case alternatives:
			made = append(made, map[string]any{"const": plain(item)})
		}
	}
	return made, len(made) > 0
}

// texts is a list of different texts.
func texts(said any) (any, bool) {
	list, ok := said.([]any)
	if !ok {
		return nil, false
	}
	made := []any{}
	for _, item := range list {
		if text, ok := item.(string); ok && !slices.Contains(made, any(text)) {
			made = append(made, text)
		}
	}
	return made, true
}

// typesOf adds the type of an argument. A localized one is a value, or one for each language.
func typesOf(argument *value.Object, schema map[string]any) {
	names, ok := argument.Get("type").([]any)
	if !ok {
		names = []any{argument.Get("type")}
	}
	var types, choices []any
	for _, name := range names {
		switch name {
		case "string", "number", "integer", "boolean", "object", "array", "null":
			if !slices.Contains(types, name) {
				types = append(types, name)
			}
		case "localized:string", "localized:number", "localized:boolean":
			single, _ := name.(string)
			single = single[len("localized:"):]
			choices = append(choices, map[string]any{"type": single},
				map[string]any{"type": "object", "additionalProperties": map[string]any{"type": single}})
		default: // a type that nobody knows asks for nothing
			return
		}
	}
	if argument.Get("nullable") == true && !slices.Contains(types, any("null")) {
		types = append(types, "null")
	}
	switch {
	case len(choices) == 0 && len(types) == 1:
		schema["type"] = types[0]
	case len(choices) == 0:
		schema["type"] = types
	default:
		if len(types) > 0 {
			choices = append(choices, map[string]any{"type": types})
		}
		all, _ := schema["allOf"].([]any)
		schema["allOf"] = append(all, map[string]any{"anyOf": choices})
	}
}

// plain is a value as the validator knows it. What is not a value of JSON is left out.
func plain(v any) any {
	switch v := v.(type) {
	case *value.Object:
		made := make(map[string]any, v.Len())
		for key, item := range v.All() {
			if known(item) {
				made[key] = plain(item)
			}
		}
		return made
	case []any:
		made := make([]any, len(v))
		for i, item := range v {
			made[i] = plain(item)
		}
		return made
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v
	case string, bool:
		return v
	default:
		return nil
	}
}

// known tells that something is a value of JSON: what is undefined is not there, and a stream is none.
func known(v any) bool {
	switch v.(type) {
	case nil, bool, float64, string, []any, *value.Object:
		return true
	default:
		return false
	}
}
