package sync_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// text is a document as the model has it: a description and some arguments, by their keys.
type text map[string]string

// tree is the automations of a workspace or of a branch.
type tree map[string]text

func (t tree) clone() tree {
	other := make(tree, len(t))
	for slug, doc := range t {
		other[slug] = maps.Clone(doc)
	}
	return other
}

func (t tree) equal(other tree) bool {
	return maps.EqualFunc(t, other, maps.Equal)
}

// String shows a tree for messages.
func (t tree) String() string {
	var lines []string
	for _, slug := range slices.Sorted(maps.Keys(t)) {
		var keys []string
		for _, key := range slices.Sorted(maps.Keys(t[slug])) {
			keys = append(keys, key+"="+t[slug][key])
		}
		lines = append(lines, slug+"{"+strings.Join(keys, " ")+"}")
	}
	return strings.Join(lines, " ")
}

// clash is a place that both sides changed differently; the key is empty when it is the whole document.
type clash struct{ slug, key string }

// side says how a clash is settled.
type side string

const (
	ours   side = "ours"
	theirs side = "theirs"
)

// merge is what merging means, in the simplest words: key by key, whoever changed something wins, and both is a clash.
func merge(base, mine, other tree, settle func(clash) side) (tree, []clash) {
	out, clashes := tree{}, []clash(nil)
	for _, slug := range names(base, mine, other) {
		b, inBase := base[slug]
		m, inMine := mine[slug]
		o, inOther := other[slug]
		switch {
		case inMine == inOther && maps.Equal(m, o), inOther == inBase && maps.Equal(o, b):
			out.put(slug, m, inMine)
		case inMine == inBase && maps.Equal(m, b):
			out.put(slug, o, inOther)
		case !inMine || !inOther:
			at := clash{slug: slug}
			clashes = append(clashes, at)
			if settle != nil && settle(at) == theirs {
				out.put(slug, o, inOther)
			} else {
				out.put(slug, m, inMine)
			}
		default:
			merged := text{}
			for _, key := range names(b, m, o) {
				value, there, clashed := mergeKey(b, m, o, key)
				at := clash{slug, key}
				if clashed {
					clashes = append(clashes, at)
					value, there = m[key], has(m, key)
					if settle != nil && settle(at) == theirs {
						value, there = o[key], has(o, key)
					}
				}
				if there {
					merged[key] = value
				}
			}
			out[slug] = merged
		}
	}
	return out, clashes
}

func mergeKey(b, m, o text, key string) (value string, there, clashed bool) {
	same := func(x, y text) bool { return has(x, key) == has(y, key) && x[key] == y[key] }
	switch {
	case same(m, o), same(o, b):
		return m[key], has(m, key), false
	case same(m, b):
		return o[key], has(o, key), false
	default:
		return "", false, true
	}
}

func (t tree) put(slug string, doc text, there bool) {
	if there {
		t[slug] = maps.Clone(doc)
	}
}

func has(t text, key string) bool {
	_, there := t[key]
	return there
}

func names[M ~map[string]V, V any](all ...M) []string {
	var list []string
	for _, m := range all {
		list = slices.AppendSeq(list, maps.Keys(m))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// yaml is a document as somebody would write it by hand.
func (t text) yaml(slug string) []byte {
	var out strings.Builder
	fmt.Fprintf(&out, "name: %s\nslug: %s\nvalidateArguments: true\n", slug, slug)
	if has(t, "description") {
		fmt.Fprintf(&out, "description: %s\n", t["description"])
	}
	out.WriteString("arguments:\n")
	for _, key := range slices.Sorted(maps.Keys(t)) {
		if name, ok := strings.CutPrefix(key, "arguments."); ok {
			fmt.Fprintf(&out, "    %s:\n        type: string\n        title: %s\n", name, t[key])
		}
	}
	if !slices.ContainsFunc(slices.Collect(maps.Keys(t)), func(key string) bool { return strings.HasPrefix(key, "arguments.") }) {
		return []byte(strings.Replace(out.String(), "arguments:\n", "arguments: {}\n", 1) + "do: []\n")
	}
	return []byte(out.String() + "do: []\n")
}

// body is a document as the API takes it.
func (t text) body(slug string) map[string]any {
	arguments := map[string]any{}
	body := map[string]any{"slug": slug, "name": slug, "do": []any{}, "arguments": arguments, "description": nil}
	for key, value := range t {
		if name, ok := strings.CutPrefix(key, "arguments."); ok {
			arguments[name] = map[string]any{"type": "string", "title": value}
		} else {
			body[key] = value
		}
	}
	return body
}
