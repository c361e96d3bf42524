package dsul

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// fields are the keys of a map and the rules of their values. Without a key that ends with ! a document cannot run; one that
// ends with ? is required for API writes only; one that ends with ~ is set by the service: kept on imports, refused on
// API writes.
type fields map[string]rule

// shape is the rule of a map with known keys. Null stands for an absent value where a key is not required.
func shape(known fields) rule {
	s := &schema{rules: make(map[string]rule, len(known))}
	for _, key := range sortedKeys(known) {
		name := strings.TrimRight(key, "!?~")
		s.rules[name] = known[key]
		switch key[len(key)-1] {
		case '~':
			s.rules[name] = nil
			continue
		case '!', '?':
			s.required = append(s.required, key)
		}
		s.names = append(s.names, name)
	}
	return s.check
}

type schema struct {
	rules    map[string]rule // nil for keys that the service sets
	names    []string        // those a user may write, sorted
	required []string        // with their ! or ?
}

func (s *schema) check(c *checker, at *where, n *yaml.Node) {
	if !c.isMap(at, n) {
		return
	}
	all := entries(n)
	for _, e := range all {
		check, ok := s.rules[e.key]
		switch {
		case !ok:
			s.unknown(c, at.at(e.key), e)
		case check == nil:
			c.owned(at.at(e.key), e.at)
		case !isNull(e.value):
			check(c, at.at(e.key), e.value)
		}
	}
	for _, key := range s.required {
		s.require(c, at, n, key)
	}
}

func (s *schema) require(c *checker, at *where, n *yaml.Node, key string) {
	name := strings.TrimRight(key, "!?")
	if value := get(n, name); value != nil && !isNull(value) {
		return
	}
	report := c.fail
	if strings.HasSuffix(key, "?") {
		report = c.mind
	}
	report(at.at(name), n, "missing_key", fmt.Sprintf("the key %s is required", name))
}

func (s *schema) unknown(c *checker, at *where, e entry) {
	if len(c.problems) >= maxProblems {
		return
	}
	message := fmt.Sprintf("there is no key %q here; allowed: %s", shorten(e.key), listed(s.names))
	if near := nearest(e.key, s.names); near != "" {
		message = fmt.Sprintf("there is no key %q here; did you mean %s?", shorten(e.key), near)
	}
	c.mind(at, e.at, "unknown_key", message)
}

// list is the rule of a list whose items follow one rule.
func list(item rule) rule {
	return func(c *checker, at *where, n *yaml.Node) {
		if c.isList(at, n) {
			for i, one := range n.Content {
				item(c, at.item(i), through(one))
			}
		}
	}
}

// mapOf is the rule of a map with any keys whose values follow one rule, or are null.
func mapOf(value rule) rule {
	return func(c *checker, at *where, n *yaml.Node) {
		if c.isMap(at, n) {
			for _, e := range entries(n) {
				if !isNull(e.value) {
					value(c, at.at(e.key), e.value)
				}
			}
		}
	}
}

// either is the rule of a value that is a text of one kind, or a map of another.
func either(text, object rule) rule {
	return func(c *checker, at *where, n *yaml.Node) {
		if n.Kind == yaml.MappingNode {
			object(c, at, n)
		} else {
			text(c, at, n)
		}
	}
}

// oneOf is the rule of a text with a few allowed values.
func oneOf(values ...string) rule {
	return func(c *checker, at *where, n *yaml.Node) {
		if n.Kind != yaml.ScalarNode || !slices.Contains(values, n.Value) {
			c.mind(at, n, "bad_value", "this must be one of: "+strings.Join(values, ", "))
		}
	}
}

// free is the rule of a value that may be anything.
func free(*checker, *where, *yaml.Node) {}

// owned reports a key that the service sets.
func (c *checker) owned(at *where, n *yaml.Node) {
	if c.mode == Strict {
		c.fail(at, n, "server_owned", "this key is set by the service; leave it out")
	}
}
