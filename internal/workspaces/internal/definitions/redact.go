package definitions

import (
	"bytes"
	"encoding/json"

	"atelier/internal/dsul"
)

// redacted stands for a value that must not be told.
const redacted = "***"

// configOf is the configuration of a workspace as events say it: what its schema calls secret is not in it, nor what the
// schema did before or does after the change.
func configOf(doc, other *dsul.Document) any {
	config, ok := decoded(part(doc, "config")).(map[string]any)
	if !ok {
		return nil
	}
	if value, there := config["value"]; there {
		value = withoutSecrets(config["schema"], value)
		if beside, ok := decoded(part(other, "config")).(map[string]any); ok {
			value = withoutSecrets(beside["schema"], value)
		}
		config["value"] = value
	}
	return config
}

// decoded reads JSON and keeps the digits of its numbers; nil when there is nothing to read.
func decoded(text []byte) (value any) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// withoutSecrets is a configuration without what its schema calls secret. A schema has a typed argument for each field, or
// is itself one with properties.
func withoutSecrets(schema, value any) any {
	fields, ok := schema.(map[string]any)
	if !ok {
		return value
	}
	if _, typed := fields["type"].(string); typed {
		return redactedBy(fields, value)
	}
	return redactedBy(map[string]any{"properties": fields}, value)
}

// redactedBy is a value without what a typed argument calls secret, at any depth. Where it cannot be told which part of the
// argument a value belongs to, every part counts.
func redactedBy(argument map[string]any, value any) any {
	if value == nil {
		return nil
	}
	_, elsewhere := argument["$ref"]
	if argument["secret"] == true || argument["redact"] == true || elsewhere {
		return redacted
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		choices, _ := argument[key].([]any)
		for _, choice := range choices {
			value = redactedByAny(choice, value)
		}
	}
	for _, key := range []string{"if", "then", "else"} {
		value = redactedByAny(argument[key], value)
	}
	switch value := value.(type) {
	case map[string]any:
		return redactedFields(argument, value)
	case []any:
		return redactedItems(argument, value)
	default:
		return value
	}
}

// redactedByAny is redactedBy with what may be an argument.
func redactedByAny(argument, value any) any {
	if known, ok := argument.(map[string]any); ok {
		return redactedBy(known, value)
	}
	return value
}

func redactedFields(argument, object map[string]any) map[string]any {
	properties, _ := argument["properties"].(map[string]any)
	patterns, _ := argument["patternProperties"].(map[string]any)
	shown := make(map[string]any, len(object))
	for name, value := range object {
		if of, declared := properties[name]; declared {
			value = redactedByAny(of, value)
		} else {
			value = redactedByAny(argument["additionalProperties"], value)
		}
		for _, of := range patterns {
			value = redactedByAny(of, value)
		}
		shown[name] = value
	}
	return shown
}

func redactedItems(argument map[string]any, list []any) []any {
	shown := make([]any, 0, len(list))
	places, _ := argument["items"].([]any)
	for i, item := range list {
		if i < len(places) {
			item = redactedByAny(places[i], item)
		}
		item = redactedByAny(argument["contains"], redactedByAny(argument["items"], item))
		shown = append(shown, item)
	}
	return shown
}
