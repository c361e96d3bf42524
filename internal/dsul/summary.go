package dsul

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"
)

// Summary is what lists show of a document. It marshals to JSON without what a document does not have.
type Summary struct {
	Name        json.RawMessage `json:"name,omitempty"` // a text, or a map from languages to texts
	Slug        string          `json:"slug,omitempty"`
	Description json.RawMessage `json:"description,omitempty"`
	Labels      []string        `json:"labels,omitempty"`
	Private     bool            `json:"private,omitempty"`
	Disabled    bool            `json:"disabled,omitempty"`
	// Of automations.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	When      json.RawMessage `json:"when,omitempty"`
	Events    *Events         `json:"events,omitempty"` // of pages too
	// Of pages: the slugs of the blocks in use, in their order, each once.
	Blocks []string `json:"blocks,omitempty"`
	// Of app instances.
	AppSlug    string `json:"appSlug,omitempty"`
	AppName    string `json:"appName,omitempty"`
	AppVersion string `json:"appVersion,omitempty"`
}

// Events are the events a document sends and listens to, as far as their names are written out, and what an editor may
// suggest for them.
type Events struct {
	Emit         []string       `json:"emit"`
	Listen       []string       `json:"listen"`
	Autocomplete []Autocomplete `json:"autocomplete"`
}

// Autocomplete says how the variables in the name of an event are found.
type Autocomplete struct {
	Event        string          `json:"event"`
	Autocomplete json.RawMessage `json:"autocomplete,omitempty"`
}

// Summary computes what lists show of the document.
func (d *Document) Summary() Summary {
	s := Summary{Slug: d.slug()}
	if d.Root == nil {
		return s
	}
	s.Name, s.Description = d.words("name"), d.words("description")
	if l := d.Get("labels"); l != nil && l.Kind == yaml.SequenceNode {
		for _, label := range l.Content {
			if text := scalarText(through(label)); text != "" {
				s.Labels = append(s.Labels, text)
			}
		}
	}
	s.Private, s.Disabled = isTrue(d.Get("private")), isTrue(d.Get("disabled"))
	switch d.Kind {
	case Automation:
		s.Arguments, s.When = d.raw("arguments"), d.raw("when")
		s.Events = newTraffic(d).events()
	case Page:
		s.Blocks = d.blocksUsed()
		s.Events = newTraffic(d).events()
	case Import:
		s.AppSlug, s.AppVersion = scalarText(d.Get("appSlug")), scalarText(d.Get("appVersion"))
		s.AppName = scalarText(d.Get("appName"))
	case Index, Security:
	}
	return s
}

// Title is the name as one text: the English one of a translated name, or else the first.
func (s Summary) Title() string {
	var text string
	if json.Unmarshal(s.Name, &text) == nil {
		return text
	}
	d, problems := FromJSON(Index, "", s.Name)
	if len(problems) > 0 {
		return ""
	}
	if english := d.Get("en"); scalarText(english) != "" {
		return english.Value
	}
	for _, e := range entries(d.Root) {
		if text := scalarText(e.value); text != "" {
			return text
		}
	}
	return ""
}

// slug is the slug that counts: the one in the document, or that of its file.
func (d *Document) slug() string {
	if d.Kind.Single() && d.Kind != Index {
		return d.Slug
	}
	if written := scalarText(d.Get("slug")); written != "" {
		return written
	}
	return d.Slug
}

func (d *Document) raw(key string) json.RawMessage {
	n := d.Get(key)
	if n == nil || isNull(n) {
		return nil
	}
	return JSON(n)
}

// words is raw for what is meant as a text: a number without quotes is shown as it was written.
func (d *Document) words(key string) json.RawMessage {
	if text := scalarText(d.Get(key)); text != "" {
		return appendString(nil, text)
	}
	return d.raw(key)
}

// blocksUsed lists the blocks of a page, each once.
func (d *Document) blocksUsed() []string {
	var used []string
	seen := map[string]bool{}
	eachBlock(d.Get("blocks"), (*where)(nil).at("blocks"), func(_ *where, n *yaml.Node) {
		if slug := scalarText(get(n, "slug")); slug != "" && !seen[slug] {
			seen[slug] = true
			used = append(used, slug)
		}
	})
	return used
}

// eachBlock visits the blocks of a list and, wherever a block keeps others, those inside it: maps with a slug, in a list.
func eachBlock(n *yaml.Node, at *where, visit func(at *where, block *yaml.Node)) {
	if n == nil || n.Kind != yaml.SequenceNode {
		return
	}
	for i, item := range n.Content {
		one := through(item)
		if scalarText(get(one, "slug")) != "" {
			visit(at.item(i), one)
		}
		eachNested(one, at.item(i), visit)
	}
}

func eachNested(n *yaml.Node, at *where, visit func(at *where, block *yaml.Node)) {
	for _, e := range entries(n) {
		eachBlock(e.value, at.at(e.key), visit)
		eachNested(e.value, at.at(e.key), visit)
	}
}
