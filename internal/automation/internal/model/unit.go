package model

import (
	"bytes"
	"crypto/sha256"
	"runtime"
	"sync"
	"sync/atomic"

	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/schemas"
	"atelier/internal/dsul"
	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/expr/value"
)

// unitKey names an automation by what is written.
type unitKey struct {
	slug string
	sum  [sha256.Size]byte
}

// unit is an automation that was compiled, wherever it belongs: the same text is the same in every workspace and in every
// instance of an app. It is never changed.
type unit struct {
	automation *machine.Automation
	definition any
	events     []string
	schedules  []string
	// endpoint is its path; empty without one.
	endpoint string
	size     int64
}

// few is how many automations one alone compiles as fast as several do.
const few = 16

// compiled gives automations compiled, in their order. Many of them are compiled beside each other.
func (m *Models) compiled(written []assembly.Automation) []*unit {
	units := make([]*unit, len(written))
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < len(written); i = int(next.Add(1)) - 1 {
			units[i] = m.unit(written[i])
		}
	}
	var group sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(written)/few) - 1 {
		group.Go(work)
	}
	work()
	group.Wait()
	return units
}

// unit gives an automation compiled.
func (m *Models) unit(written assembly.Automation) *unit {
	key := unitKey{slug: written.Slug, sum: sha256.Sum256(written.Text)}
	if known, ok := m.units.GetIfPresent(key); ok {
		return known
	}
	made := compile(m.deps.Instructions, written)
	m.units.Set(key, made)
	return made
}

func compile(instructions machine.Instructions, written assembly.Automation) *unit {
	made := &unit{size: int64(len(written.Text)), definition: value.NewObject(0)}
	doc, _ := dsul.Parse(dsul.Automation, written.Slug, written.Text)
	made.automation = machine.Compile(instructions, nil, written.Slug, doc.Root) // without a root it says that it cannot be read
	if doc.Root == nil {
		return made
	}
	made.automation.Arguments = schemas.Compile(doc.Root)
	made.automation.Streams = bytes.Contains(written.Text, []byte("$http"))
	made.definition = assembly.Value(doc.Root)
	made.events, made.schedules = texts(doc.Get("when", "events")), texts(doc.Get("when", "schedules"))
	switch said := assembly.Value(doc.Get("when", "endpoint")).(type) {
	case bool:
		if said {
			made.endpoint = written.Slug
		}
	case string:
		made.endpoint = said
	}
	return made
}

// in gives the automation to the home where it belongs.
func (u *unit) in(home *machine.Home) *machine.Automation {
	automation := *u.automation
	automation.Home = home
	return &automation
}

// texts are the texts of a list, each once, or the one text that stands in its place.
func texts(n *yaml.Node) (all []string) {
	said := assembly.Value(n)
	list, ok := said.([]any)
	if !ok {
		list = []any{said}
	}
	seen := map[string]bool{}
	for _, item := range list {
		if text, ok := item.(string); ok && text != "" && !seen[text] {
			seen[text] = true
			all = append(all, text)
		}
	}
	return all
}
