// Package value says what a YAML node means: aliases followed, merge keys applied, scalars read as JSON knows them. Two
// nodes mean the same when their values are equal, however they are written.
package value

import (
	"errors"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Kind tells what a value is.
type Kind uint8

// The kinds of values.
const (
	Null Kind = iota
	Bool
	Number
	String
	List
	Map
)

// The limits of a value, beyond those of any document: they stop texts that only aim to exhaust.
const (
	maxSize  = 2 << 20
	maxDepth = 1000
)

// ErrTooLarge says that a value is too large or too deep once its aliases are followed, or holds itself.
var ErrTooLarge = errors.New("the value is too large or too deep once its aliases are followed")

// Value is what a node means. It is never changed once made, and parts may be shared.
type Value struct {
	Kind    Kind
	Tag     string // a tag of its own, such as !local; empty for what JSON knows
	Text    string // of a scalar: true, false, a JSON number, or the characters of a string
	Items   []*Value
	Entries []Entry

	hash    uint64 // without regard to the order of keys
	ordered uint64 // with the order of the own keys
	size    int
	height  int
}

// Entry is one key of a mapping with its value. Keys with the same name are the same key, whatever they were written as.
type Entry struct {
	Name   string // the characters of a scalar key
	Key    *Value
	Value  *Value
	Merged bool // comes from a merge key
}

// Of resolves a node. It fails for duplicate keys, for merge keys without a mapping, for nodes that hold themselves and
// for what is too large. A nil node is null.
func Of(node *yaml.Node) (*Value, error) {
	r := resolver{known: map[*yaml.Node]*Value{}}
	return r.resolve(node)
}

// Equal tells whether two values are the same. The order of keys matters only in the mapping below a key `conditions`.
func (v *Value) Equal(other *Value) bool { return equal(v, other, false) }

// EqualBelow is Equal for the values of a key, whose name may make the order of their keys matter.
func (v *Value) EqualBelow(key string, other *Value) bool { return equal(v, other, OrderMatters(key)) }

// OrderMatters tells whether the order of the keys in the mapping below this key means something.
func OrderMatters(key string) bool { return key == "conditions" }

func equal(a, b *Value, inOrder bool) bool {
	if a == b {
		return true
	}
	if a.hash != b.hash || a.Kind != b.Kind || a.Tag != b.Tag || a.Text != b.Text ||
		len(a.Items) != len(b.Items) || len(a.Entries) != len(b.Entries) {
		return false
	}
	for i, item := range a.Items {
		if !equal(item, b.Items[i], false) {
			return false
		}
	}
	return equalEntries(a, b, inOrder)
}

func equalEntries(a, b *Value, inOrder bool) bool {
	var places map[string]int
	for i, entry := range a.Entries {
		at := i
		if b.Entries[i].Name != entry.Name {
			if inOrder {
				return false
			}
			if places == nil {
				places = b.places()
			}
			found, ok := places[entry.Name]
			if !ok {
				return false
			}
			at = found
		}
		if !equal(entry.Value, b.Entries[at].Value, OrderMatters(entry.Name)) {
			return false
		}
	}
	return true
}

// Index gives the values of a mapping by their keys.
func (v *Value) Index() map[string]*Value {
	index := make(map[string]*Value, len(v.Entries))
	for _, entry := range v.Entries {
		index[entry.Name] = entry.Value
	}
	return index
}

func (v *Value) places() map[string]int {
	places := make(map[string]int, len(v.Entries))
	for i, entry := range v.Entries {
		places[entry.Name] = i
	}
	return places
}

// Get gives the value of a key.
func (v *Value) Get(name string) (*Value, bool) {
	for _, entry := range v.Entries {
		if entry.Name == name {
			return entry.Value, true
		}
	}
	return nil, false
}

// Collection tells whether the value is a list or a mapping.
func (v *Value) Collection() bool { return v.Kind >= List }

// Empty tells whether a list or a mapping has nothing in it.
func (v *Value) Empty() bool { return len(v.Items) == 0 && len(v.Entries) == 0 }

// NewList makes a list.
func NewList(items []*Value) *Value { return (&Value{Kind: List, Items: items}).seal() }

// NewMap makes a mapping from entries with different names.
func NewMap(entries []Entry) *Value { return (&Value{Kind: Map, Entries: entries}).seal() }

// WithItems makes a list like this one, with other items.
func (v *Value) WithItems(items []*Value) *Value {
	return (&Value{Kind: List, Tag: v.Tag, Items: items}).seal()
}

// WithEntries makes a mapping like this one, with other entries.
func (v *Value) WithEntries(entries []Entry) *Value {
	return (&Value{Kind: Map, Tag: v.Tag, Entries: entries}).seal()
}

// NewString makes a string.
func NewString(text string) *Value { return (&Value{Kind: String, Text: text}).seal() }

// seal computes what comparisons need. The value must not change afterwards.
func (v *Value) seal() *Value {
	sum := newHash().number(uint64(v.Kind)).text(v.Tag).text(v.Text)
	v.size = 1
	for _, item := range v.Items {
		sum = sum.number(item.hash)
		v.grow(item)
	}
	inOrder, anyOrder := sum, uint64(0)
	for _, entry := range v.Entries {
		one := newHash().text(entry.Name)
		if OrderMatters(entry.Name) {
			one = one.number(entry.Value.ordered)
		} else {
			one = one.number(entry.Value.hash)
		}
		inOrder = inOrder.number(uint64(one))
		anyOrder += uint64(one)
		v.grow(entry.Value)
		v.grow(entry.Key)
	}
	v.hash, v.ordered = uint64(sum.number(anyOrder)), uint64(inOrder)
	return v
}

func (v *Value) grow(part *Value) {
	v.size = min(v.size+part.size, maxSize+1)
	v.height = max(v.height, part.height+1)
}

func (v *Value) check() (*Value, error) {
	if v.size > maxSize || v.height > maxDepth {
		return nil, ErrTooLarge
	}
	return v, nil
}

// keyName gives a key as a name: its characters when it is a scalar, what it means otherwise.
func keyName(node *yaml.Node, key *Value) string {
	if key.Collection() {
		return "\x00" + string(key.AppendJSON(nil))
	}
	for node.Kind == yaml.AliasNode {
		node = node.Alias
	}
	return node.Value
}

// hash64 is FNV-1a with a last stir. Equal values always have equal sums; comparisons never trust equal sums alone.
type hash64 uint64

func newHash() hash64 { return 14695981039346656037 }

func (h hash64) text(s string) hash64 {
	for i := range len(s) {
		h = (h ^ hash64(s[i])) * 1099511628211
	}
	return h.number(uint64(len(s)))
}

func (h hash64) number(n uint64) hash64 {
	mixed := (uint64(h) ^ n) * 0x9E3779B97F4A7C15
	return hash64((mixed ^ mixed>>29) * 0xBF58476D1CE4E5B9)
}

func duplicate(node *yaml.Node, name string) error {
	return fmt.Errorf("line %d: the key %q is there twice", node.Line, name)
}
