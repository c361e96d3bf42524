package versioning

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/dsul/merge"
	"atelier/internal/dsul/splice"
	"atelier/internal/workspaces/internal/store"
)

// Conflict is a place that was changed on both sides in different ways.
type Conflict struct {
	Document string `json:"document" doc:"The document, such as automations/hello."`
	// Path is empty when one side deleted the document and the other one changed it, and when its texts cannot be compared.
	Path   []string        `json:"path" nullable:"false" doc:"The keys that lead to the place; none when it is the whole document."`
	Key    string          `json:"key" doc:"The same as one text."`
	Base   json.RawMessage `json:"base,omitempty" doc:"What both had; absent when there was nothing."`
	Ours   json.RawMessage `json:"ours,omitempty" doc:"What the workspace has; absent when it was deleted there."`
	Theirs json.RawMessage `json:"theirs,omitempty" doc:"What the repository has; absent when it was deleted there."`
	// Settled is how it was settled so far.
	Settled string `json:"settled,omitempty" doc:"How it was settled: ours, theirs, base or value; absent when it is open."`
}

// choice settles one conflict.
type choice struct {
	Document string          `json:"document"`
	Path     []string        `json:"path"`
	Take     string          `json:"take"`
	Value    json.RawMessage `json:"value,omitempty"`
}

// merged is the outcome of a merge.
type merged struct {
	side      side
	conflicts []Conflict
}

// merger merges the documents of three sides.
type merger struct {
	base, ours, theirs side
	choices            []choice
	// kept tells which documents stay ours whatever the others did; nil for none.
	kept func(path string) bool
}

// merge merges the changes from base to theirs into ours. Where a conflict is open, ours stays.
func (m merger) merge() (merged, error) {
	out := merged{side: make(side, len(m.ours))}
	paths := map[string]bool{}
	for _, s := range []side{m.base, m.ours, m.theirs} {
		for path := range s {
			paths[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if err := m.document(&out, path); err != nil {
			return merged{}, err
		}
	}
	return out, nil
}

func (m merger) document(out *merged, path string) error {
	take := func(s side) {
		if f, there := s[path]; there {
			out.side[path] = f
		}
	}
	switch {
	case m.kept != nil && m.kept(path), same(m.ours, m.theirs, path), same(m.theirs, m.base, path):
		take(m.ours)
		return nil
	case same(m.ours, m.base, path):
		take(m.theirs)
		return nil
	}
	ours, inOurs := m.ours[path]
	theirs, inTheirs := m.theirs[path]
	switch { // a document that was only written differently was not changed by whoever did
	case !inTheirs && inOurs && alike(m.ours, m.base, path):
		return nil
	case !inOurs && inTheirs && alike(m.theirs, m.base, path):
		return nil
	case !inOurs || !inTheirs:
		return m.whole(out, path)
	}
	result, err := merge.Texts(m.base[path].text, ours.text, theirs.text, m.settled(path)...)
	if err != nil {
		if _, readable := merge.Texts(m.base[path].text, ours.text, theirs.text); readable == nil {
			return Stale() // a choice is about another conflict
		}
		return m.whole(out, path) // one of them cannot be read
	}
	for _, c := range result.Conflicts {
		out.conflicts = append(out.conflicts, Conflict{
			Document: path, Path: orEmpty(c.Path), Key: key(c.Path), Base: shown(c.Base), Ours: shown(c.Ours), Theirs: shown(c.Theirs),
		})
	}
	out.side[path] = textFile(ours.ext, result.Text)
	return nil
}

// alike tells whether two sides have documents at a path that mean the same, however they are written.
func alike(a, b side, path string) bool {
	x, inA := a[path]
	y, inB := b[path]
	if !inA || !inB {
		return false
	}
	kind, slug, _ := dsul.SplitPath(path)
	one, problems := dsul.Parse(kind, slug, x.text)
	other, more := dsul.Parse(kind, slug, y.text)
	return problems.Err() == nil && more.Err() == nil && one.Root != nil && other.Root != nil && splice.Equal(one.Root, other.Root)
}

// whole is a conflict about a whole document.
func (m merger) whole(out *merged, path string) error {
	at := slices.IndexFunc(m.choices, func(c choice) bool { return c.Document == path && len(c.Path) == 0 })
	chosen := m.ours
	if at < 0 {
		out.conflicts = append(out.conflicts, Conflict{Document: path, Path: []string{}, Base: text(m.base, path), Ours: text(m.ours, path), Theirs: text(m.theirs, path)})
	} else {
		switch c := m.choices[at]; c.Take {
		case string(merge.Theirs):
			chosen = m.theirs
		case string(merge.Base):
			chosen = m.base
		case string(merge.Ours):
		default:
			return m.value(out, path, c)
		}
	}
	if f, there := chosen[path]; there {
		out.side[path] = f
	}
	return nil
}

// value settles a conflict about a whole document with a text, or with none.
func (m merger) value(out *merged, path string, c choice) error {
	if len(c.Value) == 0 || string(c.Value) == "null" {
		return nil // it goes
	}
	kind, slug, _ := dsul.SplitPath(path)
	doc, problems := dsul.FromJSON(kind, slug, c.Value)
	if err := problems.Err(); err != nil {
		return err
	}
	ext := m.ours[path].ext
	if ext == "" {
		ext = m.theirs[path].ext
	}
	out.side[path] = textFile(ext, doc.Text)
	return nil
}

// settled are the choices about a document as the merge of its texts takes them.
func (m merger) settled(path string) (choices []merge.Choice) {
	for _, c := range m.choices {
		if c.Document != path || len(c.Path) == 0 {
			continue
		}
		one := merge.Choice{Path: c.Path, Side: merge.Side(c.Take)}
		if c.Take == takeValue {
			one.Side, one.Value = "", node(c.Value)
		}
		choices = append(choices, one)
	}
	return choices
}

// takeValue settles a conflict with a value of its own.
const takeValue = "value"

// node is a JSON value as YAML has it; nil deletes.
func node(value json.RawMessage) *yaml.Node {
	if len(value) == 0 || string(value) == "null" {
		return nil
	}
	wrapped, problems := dsul.FromJSON(dsul.Index, "", append(append([]byte(`{"value":`), value...), '}'))
	if len(problems) > 0 || wrapped.Root == nil {
		return nil
	}
	return wrapped.Get("value")
}

func shown(n *yaml.Node) json.RawMessage {
	if n == nil {
		return nil
	}
	return dsul.JSON(n)
}

// text is a whole document as a conflict shows it.
func text(s side, path string) json.RawMessage {
	f, there := s[path]
	if !there {
		return nil
	}
	kind, slug, _ := dsul.SplitPath(path)
	if doc, problems := dsul.Parse(kind, slug, f.text); problems.Err() == nil && doc.Root != nil {
		return dsul.JSON(doc.Root)
	}
	quoted, err := json.Marshal(string(f.text))
	if err != nil {
		return json.RawMessage("null")
	}
	return quoted
}

func key(path []string) string { return strings.Join(path, ".") }

func textFile(ext string, text []byte) file {
	return file{ext: ext, hash: store.Hash(text), text: text}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// documentsOf lists the documents of conflicts.
func documentsOf(conflicts []Conflict) []string {
	var documents []string
	for _, c := range conflicts {
		if !slices.Contains(documents, c.Document) {
			documents = append(documents, c.Document)
		}
	}
	return documents
}
