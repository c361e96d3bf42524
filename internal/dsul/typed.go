package dsul

import (
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// tables are the schemas that refer to themselves. They are made once a check, when they are first needed.
type tables struct {
	arguments rule            // a typed argument
	commands  map[string]rule // the instructions by name
	block     fields          // what all blocks have in common
}

// typed is the rule of a typed argument: what arguments, configurations, secrets, blocks and events declare of their values.
func typed(c *checker, at *where, n *yaml.Node) {
	if c.arguments == nil {
		c.arguments = shape(argumentFields())
	}
	c.arguments(c, at, n)
}

// argumentFields are the keywords of a typed argument: JSON Schema, what forms add to it, and the markers of the platform.
func argumentFields() fields {
	known := fields{
		"type": typeName, "format": words, "title": localized, "description": localized, "label": localized, "placeholder": localized,
		"add": localized, "remove": localized, "properties": mapOf(typed), "items": schemas, "oneOf": list(choice), "anyOf": list(choice),
		"allOf": list(choice), "required": requiredNames, "additionalProperties": flagOrTyped, "enum": listOrText, "enumNames": listOrText,
		"pattern": expression, "secret": flag, "redact": flag, "event": flag, "hidden": free, "validators": free,
		"errors": free, "extends": free, "value": free, "default": free, "const": free, "examples": free, "patternProperties": mapOf(typed),
		"$defs": mapOf(typed), "definitions": mapOf(typed), "not": typed, "if": typed, "then": typed, "else": typed, "contains": typed,
	}
	for name := range strings.FieldsSeq("minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength minItems maxItems uniqueItems " +
		"minProperties maxProperties propertyNames dependentRequired dependencies nullable readOnly writeOnly deprecated " +
		"contentEncoding contentMediaType $ref $id $schema $comment ui:widget ui:options") {
		known[name] = free
	}
	return known
}

// schemas is the rule of the items of a list: one typed argument, or one for each place.
func schemas(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		list(typed)(c, at, n)
	} else {
		flagOrTyped(c, at, n)
	}
}

// choice is the rule of one alternative: a typed argument, or a plain value.
func choice(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		typed(c, at, n)
	}
}

func flagOrTyped(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		flag(c, at, n)
	} else {
		typed(c, at, n)
	}
}

// typeName is the rule of the type of an argument: one of the known ones, or a list of them.
func typeName(c *checker, at *where, n *yaml.Node) {
	known := oneOf("string", "number", "integer", "boolean", "object", "array", "null", "localized:string", "localized:number", "localized:boolean")
	if n.Kind == yaml.SequenceNode {
		known = list(known)
	}
	known(c, at, n)
}

// requiredNames is the rule of required: the names of properties, or true as older forms have it.
func requiredNames(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		flag(c, at, n)
	} else {
		list(words)(c, at, n)
	}
}

// listOrText is the rule of a list of values, which may also come from a variable.
func listOrText(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.MappingNode || n.Kind == yaml.ScalarNode && Tag(n) != tagStr {
		c.mind(at, n, "wrong_type", "this must be a list of values")
	}
}

// expression is the rule of a regular expression.
func expression(c *checker, at *where, n *yaml.Node) {
	if !c.isWords(at, n) {
		return
	}
	const longest = 1000
	if len(n.Value) > longest {
		c.mind(at, n, "bad_pattern", "a pattern has at most 1000 characters")
		return
	}
	if _, err := regexp.Compile(n.Value); err != nil {
		c.mind(at, n, "bad_pattern", "this is not a regular expression (RE2): "+strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
}

// fieldsOf is the rule of a schema that is written either as a map of typed arguments, or as one typed argument of type
// object that has them as its properties.
func fieldsOf(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		if kind := get(n, "type"); kind != nil && kind.Kind == yaml.ScalarNode {
			typed(c, at, n)
			return
		}
	}
	mapOf(typed)(c, at, n)
}
