package dsul

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// size is what a node amounts to after every alias in it is replaced by what it stands for.
type size struct{ nodes, bytes, height int }

// survey checks a tree before anything walks it: limits, references to itself, tags, keys. It visits every node of the text
// once; what an alias stands for is counted, not visited again. On the way it tags the scalars.
func survey(root *yaml.Node) Problems {
	s := surveyor{anchored: map[*yaml.Node]size{}, open: map[*yaml.Node]bool{}}
	s.node(root, 1)
	return s.problems
}

type surveyor struct {
	anchored map[*yaml.Node]size // finished nodes that aliases may stand for
	open     map[*yaml.Node]bool // anchored nodes we are inside of
	problems Problems
	stopped  bool // a limit is broken: what is left must not be looked at
}

func (s *surveyor) report(n *yaml.Node, code, message string) {
	if len(s.problems) < maxShown {
		s.problems = append(s.problems, Problem{Line: n.Line, Column: n.Column, Code: code, Message: message})
	}
}

func (s *surveyor) stop(n *yaml.Node, code, message string) size {
	if !s.stopped {
		s.stopped = true
		s.report(n, code, message)
	}
	return size{}
}

func (s *surveyor) node(n *yaml.Node, depth int) size {
	if s.stopped {
		return size{}
	}
	if n.Kind == yaml.AliasNode {
		return s.alias(n, depth)
	}
	if n.Anchor != "" {
		s.open[n] = true
	}
	total := s.content(n, depth)
	if n.Anchor != "" {
		delete(s.open, n)
		s.anchored[n] = total
	}
	switch {
	case total.nodes > maxNodes:
		return s.stop(n, "too_many_values", fmt.Sprintf("the document has more than %d values when aliases are replaced by what they stand for", maxNodes))
	case total.bytes > maxBytes:
		return s.stop(n, "too_large", fmt.Sprintf("the document has more than %d bytes when aliases are replaced by what they stand for", maxBytes))
	}
	return total
}

func (s *surveyor) content(n *yaml.Node, depth int) size {
	s.tag(n)
	total := size{nodes: 1, bytes: len(n.Value)}
	if n.Kind == yaml.ScalarNode {
		return total
	}
	if depth > maxDepth {
		return s.stop(n, "too_deep", fmt.Sprintf("maps and lists nest deeper than %d here", maxDepth))
	}
	for i, child := range n.Content {
		part := s.node(child, depth+1)
		if child.Tag == tagMerge && (n.Kind == yaml.SequenceNode || i%2 == 1) {
			child.Tag = tagStr // << is special as a key only
		}
		total.nodes = min(total.nodes+part.nodes, math.MaxInt32)
		total.bytes = min(total.bytes+part.bytes, math.MaxInt32)
		total.height = max(total.height, part.height)
	}
	total.height++
	if n.Kind == yaml.MappingNode && !s.stopped {
		s.keys(n)
	}
	return total
}

func (s *surveyor) alias(n *yaml.Node, depth int) size {
	if s.open[n.Alias] {
		return s.stop(n, "self_reference", fmt.Sprintf("*%s stands inside what it refers to", n.Value))
	}
	stands := s.anchored[n.Alias]
	if depth+stands.height-1 > maxDepth {
		return s.stop(n, "too_deep", fmt.Sprintf("maps and lists nest deeper than %d here", maxDepth))
	}
	return stands
}

// tag gives a scalar its type, and refuses tags that are not of the core schema or contradict their value.
func (s *surveyor) tag(n *yaml.Node) {
	written := n.Tag
	own := surveyed(n)
	if strings.IndexByte(n.Value, 0) >= 0 {
		s.report(n, "bad_character", "the zero character is not allowed, also not as an escape")
	}
	if n.Style&yaml.TaggedStyle == 0 {
		n.Tag = own
		return
	}
	switch {
	case written == own, written == tagFloat && own == tagInt:
		n.Tag = own
	case strings.HasPrefix(written, "!!") && coreTag(written):
		s.report(n, "bad_tag", fmt.Sprintf("the value is not what its tag %s says", written))
	default:
		s.report(n, "bad_tag", fmt.Sprintf("the tag %s is not allowed; leave it out", shorten(written)))
	}
}

// surveyed is Tag for a node of a text. There the library's own opinion of a plain scalar does not count: it takes numbers
// that it cannot hold for texts.
func surveyed(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return tagMap
	case n.Kind == yaml.SequenceNode:
		return tagSeq
	case n.Style == 0 && n.Tag != tagMerge:
		return plainTag(n.Value)
	default:
		return Tag(n)
	}
}

func coreTag(tag string) bool {
	switch tag {
	case tagNull, tagBool, tagInt, tagFloat, tagStr, tagMap, tagSeq:
		return true
	}
	return false
}

// keys refuses keys that are not text and keys that are there twice, however they are written, and checks what is merged.
func (s *surveyor) keys(n *yaml.Node) {
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		at := n.Content[i]
		key := through(at)
		if key.Kind != yaml.ScalarNode {
			s.report(at, "bad_key", "a key must be a text, not a map or a list")
			continue
		}
		id := key.Value
		if isMerge(key) {
			id = "\x00merge" // a key "<<" in quotes is another one
			s.merged(n.Content[i+1])
		}
		if seen[id] {
			s.report(at, "duplicate_key", fmt.Sprintf("the key %q is there twice", shorten(key.Value)))
		}
		seen[id] = true
	}
}

func (s *surveyor) merged(value *yaml.Node) {
	from := []*yaml.Node{value}
	if list := through(value); list.Kind == yaml.SequenceNode {
		from = list.Content
	}
	for _, one := range from {
		if through(one).Kind != yaml.MappingNode {
			s.report(one, "bad_merge", "only maps, or a list of maps, can be merged with <<")
		}
	}
}

// shorten keeps messages readable when a text is not.
func shorten(s string) string {
	const most = 60
	if runes := []rune(s[:min(len(s), 4*most)]); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return s
}
