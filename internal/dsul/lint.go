package dsul

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// AppFacts is what a workspace may use of an app.
type AppFacts struct {
	Automations map[string]bool // by slug: whether it is private
	Blocks      []string
}

// AppInfo finds a version of an app; false when there is none.
type AppInfo func(appSlug, version string) (*AppFacts, bool)

// Workspace is everything that is needed to resolve the references between documents.
type Workspace struct {
	Documents []*Document
	Secrets   map[string]bool // those that exist; nil when they are not known
	Apps      AppInfo         // nil when apps are not known
}

// Lint checks every document leniently, then what they say about each other: automations, app instances, blocks, events,
// secrets, endpoints, schedules. The problems are sorted by document, then by their place in it.
func (w Workspace) Lint() Problems {
	l := newLinter(w)
	for _, d := range w.Documents {
		l.problems = append(l.problems, d.Check(Lenient)...)
		if d.Root == nil {
			continue
		}
		l.document, l.reported = d.Path(), 0
		switch d.Kind {
		case Automation:
			l.automation(d)
		case Page:
			l.page(d)
		case Index:
			l.definitions(d)
		case Import:
			l.app(d)
		case Security:
		}
		l.secrets(d)
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Document, b.Document), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return l.problems
}

type linter struct {
	workspace   Workspace
	document    string // the one being looked at
	automations map[string]*Document
	instances   map[string]*instance
	blocks      map[string]bool
	emitted     map[string][]string // event names by their lower case
	endpoints   map[string]string   // by their pattern: the first document that has it
	exact       map[string]bool     // endpoints without parameters
	patterns    [][]string          // those with parameters, in segments
	problems    Problems
	reported    int // of the document being looked at
	suggestions int // how many more may be looked for

	instructions map[string]bool
	callable     []string // what a call may have meant
}

// instance is an app as a workspace uses it.
type instance struct {
	disabled bool
	facts    *AppFacts // nil when not known
}

func newLinter(w Workspace) *linter {
	l := &linter{
		workspace: w, automations: map[string]*Document{}, instances: map[string]*instance{}, blocks: map[string]bool{},
		emitted: map[string][]string{}, endpoints: map[string]string{}, exact: map[string]bool{}, suggestions: maxShown,
		instructions: map[string]bool{},
	}
	for _, name := range builtInBlocks() {
		l.blocks[name] = true
	}
	for name := range instructionTable() {
		l.instructions[name] = true
	}
	for _, d := range w.Documents {
		if d.Root != nil {
			l.take(d)
		}
	}
	l.callable = slices.Concat(sortedKeys(l.instructions), sortedKeys(l.automations))
	return l
}

// take notes what a document offers to others.
func (l *linter) take(d *Document) {
	l.document = d.Path()
	for _, event := range newTraffic(d).emitted {
		folded := strings.ToLower(event.name)
		if !slices.Contains(l.emitted[folded], event.name) {
			l.emitted[folded] = append(l.emitted[folded], event.name)
		}
	}
	slug := d.slug()
	switch d.Kind {
	case Automation:
		if other := l.automations[slug]; other != nil {
			l.twice(d, other.Path())
			return
		}
		l.automations[slug] = d
		l.takeEndpoint(d)
	case Import:
		if l.instances[slug] != nil {
			l.twice(d, "another app instance")
			return
		}
		l.instances[slug] = l.instance(d)
	case Index:
		for _, e := range entries(d.Get("blocks")) {
			l.blocks[e.key] = true
		}
	case Page, Security:
	}
}

func (l *linter) takeEndpoint(d *Document) {
	path := endpointOf(d)
	if strings.HasPrefix(path, ":") || strings.HasPrefix(path, "*") || strings.Contains(path, "/:") || strings.Contains(path, "/*") {
		l.patterns = append(l.patterns, strings.Split(path, "/"))
	} else if path != "" {
		l.exact[path] = true
	}
}

func (l *linter) twice(d *Document, other string) {
	n := d.Get("slug")
	if n == nil {
		n = d.Root
	}
	l.report(mention{at: (*where)(nil).at("slug"), node: n}, SeverityError, "duplicate_slug", fmt.Sprintf("%s has the same slug", other))
}

func (l *linter) instance(d *Document) *instance {
	found := &instance{disabled: isTrue(d.Get("disabled"))}
	if l.workspace.Apps == nil {
		return found
	}
	if facts, ok := l.workspace.Apps(scalarText(d.Get("appSlug")), scalarText(d.Get("appVersion"))); ok {
		found.facts = facts
	}
	return found
}

// suggestion names what a misspelt name most likely means. It is not looked for any more when there are many: that takes
// time, and somebody has other problems then.
func (l *linter) suggestion(name string, known func() []string) string {
	if l.suggestions--; l.suggestions < 0 {
		return ""
	}
	near := nearest(name, known())
	if near == "" {
		return ""
	}
	return "; did you mean " + near + "?"
}

func (l *linter) report(m mention, severity, code, message string) {
	if l.reported++; l.reported > maxProblems {
		return
	}
	l.problems = append(l.problems, Problem{
		Document: l.document, Path: m.at.String(), Line: m.node.Line, Column: m.node.Column,
		Severity: severity, Code: code, Message: message,
	})
}

// app checks that an instance's app exists.
func (l *linter) app(d *Document) {
	slug := d.Get("appSlug")
	if l.workspace.Apps == nil || scalarText(slug) == "" {
		return
	}
	version := scalarText(d.Get("appVersion"))
	if _, ok := l.workspace.Apps(slug.Value, version); ok {
		return
	}
	message := fmt.Sprintf("there is no app %s", shorten(slug.Value))
	if version != "" {
		message += " in version " + shorten(version)
	}
	l.report(mention{at: (*where)(nil).at("appSlug"), node: slug}, SeverityWarning, "unknown_app", message)
}

// definitions checks the blocks that a workspace composes of others.
func (l *linter) definitions(d *Document) {
	for _, e := range entries(d.Get("blocks")) {
		l.blocksIn(get(e.value, "blocks"), (*where)(nil).at("blocks").at(e.key).at("blocks"))
	}
}

// page checks what a page refers to.
func (l *linter) page(d *Document) {
	l.pageAutomation(d.Root, nil)
	l.blocksIn(d.Get("blocks"), (*where)(nil).at("blocks"))
	l.spelling(newTraffic(d))
}

func (l *linter) blocksIn(n *yaml.Node, at *where) {
	eachBlock(n, at, func(at *where, block *yaml.Node) {
		l.block(mention{name: get(block, "slug").Value, at: at.at("slug"), node: get(block, "slug")})
		l.pageAutomation(block, at)
	})
}
