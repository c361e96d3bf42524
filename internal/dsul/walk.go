package dsul

import "go.yaml.in/yaml/v3"

// instructionAt is one instruction of an automation: its name, its parameters, and where it stands.
type instructionAt struct {
	at    *where
	name  string
	key   *yaml.Node
	value *yaml.Node
}

// eachInstruction visits every instruction below a list of them, at any depth.
func eachInstruction(n *yaml.Node, at *where, visit func(instructionAt)) {
	if n == nil || n.Kind != yaml.SequenceNode {
		return
	}
	for i, item := range n.Content {
		all := entries(through(item))
		if len(all) == 0 {
			continue
		}
		first := all[0]
		inside := at.item(i).at(first.key)
		visit(instructionAt{at: inside, name: first.key, key: first.at, value: first.value})
		eachBranch(first, inside, visit)
	}
}

func eachBranch(e entry, at *where, visit func(instructionAt)) {
	switch e.key {
	case "conditions":
		for _, branch := range entries(e.value) {
			eachInstruction(branch.value, at.at(branch.key), visit)
		}
	case "all":
		eachInstruction(e.value, at, visit)
		eachInstruction(get(e.value, "do"), at.at("do"), visit)
	case "repeat", "try":
		for _, key := range [...]string{"do", "catch", "finally"} {
			eachInstruction(get(e.value, key), at.at(key), visit)
		}
	}
}

// eachText visits every text below a node.
func eachText(n *yaml.Node, at *where, visit func(at *where, text *yaml.Node)) {
	if n == nil {
		return
	}
	switch n.Kind {
	case yaml.MappingNode:
		for _, e := range entries(n) {
			eachText(e.value, at.at(e.key), visit)
		}
	case yaml.SequenceNode:
		for i, item := range n.Content {
			eachText(through(item), at.item(i), visit)
		}
	default:
		if isText(n) {
			visit(at, n)
		}
	}
}

// mention is a name that a document writes, and where.
type mention struct {
	name string
	at   *where
	node *yaml.Node
}

// traffic is the events a document names.
type traffic struct {
	emitted, heard []mention
	suggestions    []Autocomplete
	suggested      map[string]bool
}

func newTraffic(d *Document) *traffic {
	t := &traffic{suggested: map[string]bool{}}
	switch d.Kind {
	case Automation:
		t.triggers(d)
		eachInstruction(d.Get("do"), (*where)(nil).at("do"), t.instruction)
	case Page:
		t.pageNode(d.Root, nil)
		eachBlock(d.Get("blocks"), (*where)(nil).at("blocks"), func(at *where, n *yaml.Node) { t.pageNode(n, at) })
	case Index, Security, Import:
	}
	return t
}

func (t *traffic) triggers(d *Document) {
	if events := d.Get("when", "events"); events != nil && events.Kind == yaml.SequenceNode {
		at := (*where)(nil).at("when").at("events")
		for i, event := range events.Content {
			t.hears(at.item(i), through(event))
		}
	}
}

func (t *traffic) instruction(i instructionAt) {
	switch i.name {
	case "emit":
		event := get(i.value, "event")
		t.emits(i.at.at("event"), event)
		if name := scalarText(event); name != "" && !isTrue(get(i.value, "private")) {
			suggestion := Autocomplete{Event: name}
			if how := get(i.value, "autocomplete"); how != nil && how.Kind == yaml.MappingNode {
				suggestion.Autocomplete = JSON(how)
			}
			t.suggest(suggestion)
		}
	case "fetch":
		t.emits(i.at.at("stream").at("event"), get(get(i.value, "stream"), "event"))
	case "wait":
		if events := get(i.value, "oneOf"); events != nil && events.Kind == yaml.SequenceNode {
			for n, event := range events.Content {
				t.hears(i.at.at("oneOf").item(n).at("event"), get(event, "event"))
			}
		}
	}
}

// pageNode takes the events of a page or a block.
func (t *traffic) pageNode(n *yaml.Node, at *where) {
	init := get(n, "onInit")
	if init != nil && init.Kind == yaml.MappingNode {
		t.emits(at.at("onInit").at("event"), get(init, "event"))
	} else {
		t.emits(at.at("onInit"), init)
	}
	for _, key := range [...]string{"updateOn", "notifyOn"} {
		heard := get(n, key)
		if heard == nil || heard.Kind != yaml.SequenceNode {
			t.hears(at.at(key), heard)
			continue
		}
		for i, event := range heard.Content {
			t.hears(at.at(key).item(i), through(event))
		}
	}
}

// emits takes an event that is sent, when its name is written out.
func (t *traffic) emits(at *where, n *yaml.Node) {
	if name := scalarText(n); name != "" && !isTemplate(name) {
		t.emitted = append(t.emitted, mention{name: name, at: at, node: n})
	}
}

func (t *traffic) hears(at *where, n *yaml.Node) {
	if name := scalarText(n); name != "" && !isTemplate(name) {
		t.heard = append(t.heard, mention{name: name, at: at, node: n})
	}
}

func (t *traffic) suggest(s Autocomplete) {
	if !t.suggested[s.Event] {
		t.suggested[s.Event] = true
		t.suggestions = append(t.suggestions, s)
	}
}

// events gives the names, each once, in the order of the document.
func (t *traffic) events() *Events {
	e := &Events{Emit: once(t.emitted), Listen: once(t.heard), Autocomplete: []Autocomplete{}}
	e.Autocomplete = append(e.Autocomplete, t.suggestions...)
	return e
}

func once(mentions []mention) []string {
	names := []string{}
	seen := map[string]bool{}
	for _, m := range mentions {
		if !seen[m.name] {
			seen[m.name] = true
			names = append(names, m.name)
		}
	}
	return names
}
