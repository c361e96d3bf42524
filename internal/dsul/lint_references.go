package dsul

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/cron"
	"atelier/internal/dsul/expr"
)

// builtInBlocks are the blocks every page has.
func builtInBlocks() []string {
	return strings.Fields("RichText Action Button Buttons Form DataTable Cards Header Hero Image Carousel TabsView BlocksList BlocksGrid BlocksSplit " +
		"Breadcrumbs Footer Head Signin StackedNavigation Layout ProductLayout Toast Tooltip Icon ProductHome ProductCard DropDown Modal Loading " +
		"DateRangePicker KPI Notifications Collapse SearchInput Filters TimeList Charts")
}

// automation checks what an automation refers to.
func (l *linter) automation(d *Document) {
	eachInstruction(d.Get("do"), (*where)(nil).at("do"), func(i instructionAt) {
		if i.name == "runWorkflow" {
			if workflow := get(i.value, "workflow"); scalarText(workflow) != "" && !isTemplate(workflow.Value) {
				l.call(mention{name: workflow.Value, at: i.at.at("workflow"), node: workflow})
			}
		} else if !l.instructions[i.name] {
			l.call(mention{name: i.name, at: i.at, node: i.key})
		}
	})
	l.spelling(newTraffic(d))
	if isTrue(d.Get("disabled")) {
		return // its triggers are not registered
	}
	l.endpoint(d)
	l.schedules(d)
}

// call checks that a called automation exists and may be called.
func (l *linter) call(m mention) {
	if slug, automation, ok := strings.Cut(m.name, "."); ok {
		l.callOfApp(m, slug, automation)
		return
	}
	callee, ok := l.automations[m.name]
	switch {
	case !ok:
		message := fmt.Sprintf("there is no instruction and no automation %q", shorten(m.name))
		l.report(m, SeverityError, "unknown_automation", message+l.suggestion(m.name, func() []string { return l.callable }))
	case isTrue(callee.Get("disabled")):
		l.report(m, SeverityWarning, "disabled_automation", fmt.Sprintf("the automation %s is disabled: calling it fails", m.name))
	}
}

func (l *linter) callOfApp(m mention, slug, automation string) {
	app, known := l.instanceOf(m, slug)
	if !known {
		return
	}
	if strings.Contains(automation, ".") {
		l.report(m, SeverityError, "nested_call", "automations of an app that an app uses cannot be called; only its own can")
		return
	}
	if app.facts == nil {
		return
	}
	private, exists := app.facts.Automations[automation]
	switch {
	case !exists:
		message := fmt.Sprintf("the app instance %s has no automation %q", slug, shorten(automation))
		l.report(m, SeverityError, "unknown_automation", message+l.suggestion(automation, func() []string { return sortedKeys(app.facts.Automations) }))
	case private:
		l.report(m, SeverityError, "private_automation", fmt.Sprintf("the automation %s of %s is private: only the app itself may call it", automation, slug))
	}
}

// instanceOf finds the app instance that a dotted name begins with.
func (l *linter) instanceOf(m mention, slug string) (*instance, bool) {
	app, ok := l.instances[slug]
	if !ok {
		message := fmt.Sprintf("there is no app instance %q", shorten(slug))
		l.report(m, SeverityError, "unknown_app_instance", message+l.suggestion(slug, func() []string { return sortedKeys(l.instances) }))
		return nil, false
	}
	if app.disabled {
		l.report(m, SeverityWarning, "disabled_app_instance", fmt.Sprintf("the app instance %s is disabled", slug))
	}
	return app, true
}

// block checks that a block exists.
func (l *linter) block(m mention) {
	if l.blocks[m.name] || isTemplate(m.name) || strings.HasPrefix(m.name, "http") || strings.HasPrefix(m.name, "/") {
		return
	}
	slug, name, dotted := strings.Cut(m.name, ".")
	if !dotted {
		message := fmt.Sprintf("there is no block %q", shorten(m.name))
		l.report(m, SeverityWarning, "unknown_block", message+l.suggestion(m.name, func() []string { return sortedKeys(l.blocks) }))
		return
	}
	if app, ok := l.instanceOf(m, slug); ok && app.facts != nil && !slices.Contains(app.facts.Blocks, name) {
		l.report(m, SeverityWarning, "unknown_block", fmt.Sprintf("the app instance %s has no block %q", slug, shorten(name)))
	}
}

// pageAutomation checks that the automation a page or a block asks has an endpoint.
func (l *linter) pageAutomation(n *yaml.Node, at *where) {
	asked, inside := get(n, "automation"), at.at("automation")
	if asked != nil && asked.Kind == yaml.MappingNode {
		asked, inside = get(asked, "slug"), inside.at("slug")
	}
	name := scalarText(asked)
	if name == "" || isTemplate(name) {
		return
	}
	m := mention{name: name, at: inside, node: asked}
	if slug, _, dotted := strings.Cut(name, "."); dotted {
		l.instanceOf(m, slug)
		return
	}
	if !l.answers(name) {
		l.report(m, SeverityWarning, "unknown_endpoint", fmt.Sprintf("no automation has the endpoint %q", shorten(name)))
	}
}

// answers tells whether some automation has an endpoint that a path reaches.
func (l *linter) answers(path string) bool {
	if len(path) > maxEndpoint {
		return false
	}
	if l.exact[path] {
		return true
	}
	segments := strings.Split(path, "/")
	return slices.ContainsFunc(l.patterns, func(pattern []string) bool { return reaches(pattern, segments) })
}

// reaches tells whether a path belongs to the pattern of an endpoint. A segment of the pattern that begins with * takes one
// or more segments of the path.
func reaches(pattern, path []string) bool {
	star, resume := -1, 0
	p, i := 0, 0
	for i < len(path) {
		switch {
		case p < len(pattern) && strings.HasPrefix(pattern[p], "*"):
			star, resume = p, i+1
			p, i = p+1, i+1
		case p < len(pattern) && path[i] != "" && (pattern[p] == path[i] || strings.HasPrefix(pattern[p], ":")):
			p, i = p+1, i+1
		case star >= 0: // the last * takes one more
			resume++
			p, i = star+1, resume
		default:
			return false
		}
	}
	return p == len(pattern)
}

// endpointOf is the path of an automation's endpoint, nothing when it has none.
func endpointOf(d *Document) string {
	n := d.Get("when", "endpoint")
	switch {
	case isTrue(n):
		return d.slug()
	case isText(n):
		return n.Value
	}
	return ""
}

// endpoint warns when two automations have the same endpoint: both would run, and one of them answers.
func (l *linter) endpoint(d *Document) {
	path := endpointOf(d)
	if path == "" {
		return
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if segment != "" && (segment[0] == ':' || segment[0] == '*') {
			segments[i] = segment[:1] // the name of a parameter makes no difference
		}
	}
	pattern := strings.Join(segments, "/")
	first, taken := l.endpoints[pattern]
	if !taken {
		l.endpoints[pattern] = l.document
		return
	}
	m := mention{at: (*where)(nil).at("when").at("endpoint"), node: d.Get("when", "endpoint")}
	l.report(m, SeverityWarning, "duplicate_endpoint", fmt.Sprintf("%s has the same endpoint: both run, and the answer is that of the first one", first))
}

// floor is the shortest time between two runs of a schedule.
const floor = 15 * time.Minute

// schedules warns about schedules that would run more often than the platform lets them.
func (l *linter) schedules(d *Document) {
	all := d.Get("when", "schedules")
	if all == nil || all.Kind != yaml.SequenceNode {
		return
	}
	for i, item := range all.Content {
		n := through(item)
		parsed, err := cron.Parse(scalarText(n))
		if err == nil && tooOften(parsed) {
			l.report(mention{at: (*where)(nil).at("when").at("schedules").item(i), node: n}, SeverityWarning, "frequent_schedule",
				"this runs more often than every 15 minutes; it will run every 15 minutes")
		}
	}
}

// tooOften looks at as many runs as any day can have that keeps the floor, and one more day.
func tooOften(s cron.Schedule) bool {
	const runs = 2 * 24 * 4
	last, ok := s.Next(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	for range runs {
		if !ok {
			return false
		}
		next, more := s.Next(last)
		if more && next.Sub(last) < floor {
			return true
		}
		last, ok = next, more
	}
	return false
}

// spelling warns when a document listens to an event that is sent with other capitals only. Events may come from outside,
// so that nobody sends one is no mistake.
func (l *linter) spelling(t *traffic) {
	for _, event := range t.heard {
		sent := l.emitted[strings.ToLower(event.name)]
		if len(sent) > 0 && !slices.Contains(sent, event.name) {
			l.report(event, SeverityWarning, "event_case", fmt.Sprintf("the event %s is sent as %s; capitals count", event.name, sent[0]))
		}
	}
}

// secrets warns about secrets that do not exist.
func (l *linter) secrets(d *Document) {
	if l.workspace.Secrets == nil {
		return
	}
	look := func(m mention, variables []*expr.Variable) {
		for _, variable := range variables {
			if path := variable.Static(); len(path) > 1 && path[0] == "secret" && !l.workspace.Secrets[path[1]] {
				l.report(m, SeverityWarning, "unknown_secret", fmt.Sprintf("the secret %s does not exist", shorten(path[1])))
			}
		}
	}
	parse := expr.ParseVariables
	if d.Kind == Automation {
		parse = expr.ParseTemplate
		l.conditionSecrets(d, look)
	}
	eachText(d.Root, nil, func(at *where, n *yaml.Node) {
		if !isTemplate(n.Value) || !strings.Contains(n.Value, "secret") {
			return
		}
		if template, err := parse(n.Value); err == nil {
			look(mention{at: at, node: n}, template.Variables())
		}
	})
}

func (l *linter) conditionSecrets(d *Document, look func(mention, []*expr.Variable)) {
	eachInstruction(d.Get("do"), (*where)(nil).at("do"), func(i instructionAt) {
		if i.name != "conditions" {
			return
		}
		for _, e := range entries(i.value) {
			if !strings.Contains(e.key, "secret") {
				continue
			}
			if node, err := expr.Parse(e.key); err == nil {
				look(mention{at: i.at.at(e.key), node: e.at}, expr.Variables(node))
			}
		}
	})
}
