package merge_test

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"
)

// world makes random documents and edits. Every scalar that it makes is one of its own, so that it can be looked for.
type world struct {
	*rapid.T
	made  int
	block bool // write nothing in flow style
}

func (w *world) chance(percent int) bool { return rapid.IntRange(0, 99).Draw(w.T, "chance") < percent }

func (w *world) number(from, to int) int { return rapid.IntRange(from, to).Draw(w.T, "number") }

// fresh is a scalar that nothing else is equal to.
func (w *world) fresh(side string) *yaml.Node {
	w.made++
	text := fmt.Sprintf("%s%d.", side, w.made)
	switch w.number(0, 5) {
	case 0:
		text += "\nlines\n"
	case 1:
		text += ": #'"
	}
	return text0(text)
}

func text0(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

func (w *world) tree(side string, depth int) *yaml.Node {
	switch kind := w.number(0, 9); {
	case kind < 4 || depth == 0:
		return w.fresh(side)
	case kind < 7:
		return w.mapping(side, depth)
	default:
		return w.list(side, depth)
	}
}

func (w *world) mapping(side string, depth int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "do", "conditions", "1", "e f"}), 0, 4, rapid.ID).Draw(w.T, "keys") {
		name := text0(key)
		if w.chance(20) {
			w.made++
			name.HeadComment = fmt.Sprintf("# %sc%d.", side, w.made)
		}
		n.Content = append(n.Content, name, w.tree(side, depth-1))
	}
	return n
}

func (w *world) list(side string, depth int) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	named := w.chance(40)
	for range w.number(0, 4) {
		n.Content = append(n.Content, w.item(side, depth, named))
	}
	return n
}

// item is an item of a list, with a slug of its own if it must have a name.
func (w *world) item(side string, depth int, named bool) *yaml.Node {
	if !named {
		return w.tree(side, depth-1)
	}
	n := w.mapping(side, depth-1)
	n.Content = append(n.Content, text0("slug"), w.fresh(side))
	return n
}

func isNamed(list *yaml.Node) bool {
	for _, item := range list.Content {
		if item.Kind == yaml.MappingNode && get(item, "slug") != nil {
			return true
		}
	}
	return false
}

func get(n *yaml.Node, key string) *yaml.Node {
	if n.Kind == yaml.SequenceNode {
		if i, err := strconv.Atoi(key); err == nil && i < len(n.Content) {
			return n.Content[i]
		}
		return nil
	}
	for i := 0; n.Kind == yaml.MappingNode && i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func clone(n *yaml.Node) *yaml.Node {
	same := *n
	same.Content = nil
	for _, child := range n.Content {
		same.Content = append(same.Content, clone(child))
	}
	return &same
}

// all are the nodes below a node that are no keys, itself first.
func all(n *yaml.Node, found []*yaml.Node) []*yaml.Node {
	found = append(found, n)
	for i, child := range n.Content {
		if n.Kind == yaml.SequenceNode || i%2 == 1 {
			found = all(child, found)
		}
	}
	return found
}

// edit changes one thing somewhere.
func (w *world) edit(root *yaml.Node, side string) {
	nodes := all(root, nil)
	n := nodes[w.number(0, len(nodes)-1)]
	step := 1
	if n.Kind == yaml.MappingNode {
		step = 2
	}
	size := len(n.Content) / step
	what := w.number(0, 5)
	switch {
	case n.Kind == yaml.ScalarNode:
		*n = *w.fresh(side)
	case what <= 2 && n.Kind == yaml.SequenceNode:
		n.Content = slices.Insert(n.Content, w.number(0, size), w.item(side, 2, isNamed(n)))
	case what <= 2:
		if key := rapid.SampledFrom([]string{"a", "b", "new", "conditions"}).Draw(w.T, "key"); get(n, key) == nil {
			n.Content = slices.Insert(n.Content, 2*w.number(0, size), text0(key), w.tree(side, 2))
		}
	case size > 0 && what == 3: // delete
		at := step * w.number(0, size-1)
		n.Content = slices.Delete(n.Content, at, at+step)
	case size > 0 && what == 4: // move
		at := step * w.number(0, size-1)
		part := slices.Clone(n.Content[at : at+step])
		rest := slices.Delete(n.Content, at, at+step)
		n.Content = slices.Insert(rest, step*w.number(0, size-1), part...)
	}
}

func (w *world) edited(root *yaml.Node, side string) *yaml.Node {
	n := clone(root)
	for range w.number(0, 4) {
		w.edit(n, side)
	}
	return n
}

// write writes a tree in one of many ways.
func (w *world) write(root *yaml.Node) []byte {
	n := clone(root)
	for _, one := range all(n, nil) {
		switch {
		case one.Kind != yaml.ScalarNode && !w.block && w.chance(15):
			one.Style = yaml.FlowStyle
		case one.Kind == yaml.ScalarNode:
			one.Style = rapid.SampledFrom([]yaml.Style{0, 0, yaml.DoubleQuotedStyle, yaml.SingleQuotedStyle, yaml.LiteralStyle}).Draw(w.T, "style")
		}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(rapid.SampledFrom([]int{2, 2, 2, 4}).Draw(w.T, "indent"))
	if err := encoder.Encode(n); err != nil {
		w.Fatal(err)
	}
	if w.chance(10) {
		return bytes.ReplaceAll(out.Bytes(), []byte("\n"), []byte("\r\n"))
	}
	return out.Bytes()
}

// plain writes a tree in the usual way.
func (w *world) plain(root *yaml.Node) []byte {
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		w.Fatal(err)
	}
	return out.Bytes()
}

// trio is a base with two changed trees, and their texts: written alike, or each in its own way.
type trio struct {
	trees [3]*yaml.Node
	texts [3][]byte
}

func (w *world) trio() trio {
	base := w.mapping("b", 4)
	if get(base, "do") == nil {
		base.Content = append(base.Content, text0("do"), w.list("b", 3))
	}
	t := trio{trees: [3]*yaml.Node{base, w.edited(base, "o"), w.edited(base, "t")}}
	alike := w.chance(50)
	for i, tree := range t.trees {
		if t.texts[i] = w.plain(tree); !alike {
			t.texts[i] = w.write(tree)
		}
	}
	return t
}
