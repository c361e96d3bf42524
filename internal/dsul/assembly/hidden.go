package assembly

import (
	"maps"
	"slices"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// Hidden lists the texts of a place that must not be seen where others look: its secrets, and what the schema of its
// configuration calls secret.
func (p *Place) Hidden(c Config) []string {
	found := map[string]bool{}
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			found[text] = true
		}
	}
	for _, text := range p.Secrets {
		add(text)
	}
	schema, _ := Value(said(p.Index, "config", "schema")).(*value.Object)
	if schema != nil {
		argument := schema
		if _, typed := schema.Get("type").(string); !typed { // a typed argument for each field
			argument = value.NewObject(1)
			argument.Set("properties", schema)
		}
		secretTexts(argument, c.Value, false, add)
	}
	return slices.Sorted(maps.Keys(found))
}

// secretTexts gives the texts in a value that a typed argument calls secret. All that is below a secret is one.
func secretTexts(argument *value.Object, v any, secret bool, add func(string)) {
	secret = secret || argument != nil && argument.Get("secret") == true
	switch v := v.(type) {
	case string:
		if secret {
			add(v)
		}
	case float64:
		if secret {
			add(value.FormatNumber(v))
		}
	case []any:
		items := part(argument, "items")
		for _, item := range v {
			secretTexts(items, item, secret, add)
		}
	case *value.Object:
		properties, others := part(argument, "properties"), part(argument, "additionalProperties")
		for key, item := range v.All() {
			of := part(properties, key)
			if of == nil {
				of = others
			}
			secretTexts(of, item, secret, add)
		}
	}
	alternatives(argument, func(choice *value.Object) { secretTexts(choice, v, secret, add) })
}

// alternatives visits what a value may be besides: where it cannot be told which one holds, each counts.
func alternatives(argument *value.Object, visit func(*value.Object)) {
	if argument == nil {
		return
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		choices, _ := argument.Get(key).([]any)
		for _, choice := range choices {
			if of, ok := choice.(*value.Object); ok {
				visit(of)
			}
		}
	}
}

// part is an object below another one; nil without one.
func part(of *value.Object, key string) *value.Object {
	if of == nil {
		return nil
	}
	found, _ := of.Get(key).(*value.Object)
	return found
}
