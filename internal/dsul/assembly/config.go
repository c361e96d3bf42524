package assembly

import (
	"maps"
	"slices"

	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
)

// Config is the configuration of a place.
type Config struct {
	// Value is the configuration with everything put in.
	Value *value.Object
	// Own is the part of it that is written where the place can be configured: in the index of the workspace, or in the app
	// instance. It is as it is written there, with nothing put in; undefined when nothing is.
	Own any
	// given is the part that the parent gives, with everything put in.
	given *value.Object
	// secrets are those of the place.
	secrets *value.Object
}

// Secrets gives the secrets of a place as a value of the language.
func (p *Place) secrets() *value.Object {
	made := value.NewObject(len(p.Secrets))
	for _, name := range slices.Sorted(maps.Keys(p.Secrets)) {
		made.Set(name, p.Secrets[name])
	}
	return made
}

// Root computes the configuration of the workspace: what the operator gives, under what its index says. In that,
// {{config.name}} and {{secret.name}} are put in, once.
func (p *Place) Root() Config {
	own := Value(said(p.Index, "config", "value"))
	c := Config{Own: own, secrets: p.secrets()}
	layers := overlay(environment(p.Environment), own)
	c.Value = putIn(layers, layers, c.secrets)
	return c
}

// Under computes the configuration of an app instance from that of its parent. What the instance says is the parent's: its
// variables are those of the parent. It stands over what the app says, whose variables are those of the app.
func (p *Place) Under(parent Config) Config {
	c := Config{Own: Value(said(p.Import, "config")), secrets: p.secrets()}
	c.given = putIn(overlay(value.NewObject(0), c.Own), parent.Value, parent.secrets)
	if parent.given != nil { // an app instance in an app instance is configured by the outermost one, under its slug
		if nested, ok := parent.given.Get(p.Instance).(*value.Object); ok {
			c.given = overlay(c.given, nested)
		}
	}
	layers := overlay(environment(p.Environment), Value(said(p.Index, "config", "value")))
	c.Value = overlay(putIn(layers, overlay(layers, c.given), c.secrets), c.given)
	return c
}

// Secrets are those of the place, as a value of the language.
func (c Config) Secrets() *value.Object { return c.secrets }

// environment is what the operator gives, in an order that is always the same.
func environment(variables map[string]string) *value.Object {
	made := value.NewObject(len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		made.Set(name, variables[name])
	}
	return made
}

// overlay is an object with the keys of another one over its own; what is no object changes nothing.
func overlay(under *value.Object, over any) *value.Object {
	top, ok := over.(*value.Object)
	if !ok {
		return under
	}
	made := value.NewObject(under.Len() + top.Len())
	for key, v := range under.All() {
		made.Set(key, v)
	}
	for key, v := range top.All() {
		made.Set(key, v)
	}
	return made
}

// putIn replaces {{config.name}} and {{secret.name}} in every text. What does not exist stays as it is written, and so do
// expressions and what stands in the values that are put in.
func putIn(in, config, secrets *value.Object) *value.Object {
	env := &expr.Env{Lookup: func(name string) any {
		switch name {
		case "config":
			return config
		case "secret":
			return secrets
		default:
			return value.Undefined{}
		}
	}}
	made := value.NewObject(in.Len())
	for key, v := range in.All() {
		made.Set(key, put(env, v))
	}
	return made
}

func put(env *expr.Env, v any) any {
	switch v := v.(type) {
	case string:
		return putText(env, v)
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			list[i] = put(env, item)
		}
		return list
	case *value.Object:
		made := value.NewObject(v.Len())
		for key, item := range v.All() {
			made.Set(key, put(env, item))
		}
		return made
	default:
		return v
	}
}

func putText(env *expr.Env, text string) any {
	template, err := expr.ParseVariables(text)
	if err != nil {
		return text
	}
	if _, plain := template.Literal(); plain {
		return text
	}
	program, err := expr.CompileKnown(template)
	if err != nil {
		return text
	}
	v, err := program.Eval(env)
	if err != nil {
		return text
	}
	return v
}
