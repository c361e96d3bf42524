package model

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/expr/value"
)

// builder makes a model of a tree.
type builder struct {
	models *Models
	ctx    context.Context //nolint:containedctx // a builder lives as long as one call
	tree   *assembly.Tree
}

// hall is a home with what leads into it.
type hall struct {
	home *machine.Home
	// events and endpoints lead to automations by name; patterns are endpoints with parameters, in their order.
	events    map[string][]*machine.Automation
	endpoints map[string][]*machine.Automation
	patterns  []pattern
	schedules []Schedule
	// nested are the app instances, by slug; inside the same in their order.
	nested map[string]*hall
	inside []*hall
}

func (b *builder) model() *Model {
	t := b.tree
	root := b.hall(t.Root, t.Root.Root(), &machine.Home{
		WorkspaceID: t.ID, WorkspaceSlug: t.Slug, WorkspaceName: t.Name, System: t.System, EventTypes: eventTypes(t.Root),
	})
	hide(root, hidden(root))
	return &Model{
		Root: root.home, Suspended: t.Suspended, SuspendedReason: t.SuspendedReason, Deleted: t.Deleted,
		stamp: t.Stamp, apps: t.Apps, size: t.Size, root: root,
	}
}

// hall fills the home of a place with its automations, and makes those of the app instances in it.
func (b *builder) hall(place *assembly.Place, config assembly.Config, home *machine.Home) *hall {
	h := &hall{
		home: home, events: map[string][]*machine.Automation{}, endpoints: map[string][]*machine.Automation{}, nested: map[string]*hall{},
	}
	home.Config, home.Secrets, home.Hidden = config.Value, config.Secrets(), place.Hidden(config)
	home.Automations, home.Instances = map[string]*machine.Automation{}, map[string]*machine.Home{}
	if place.Builtin {
		b.builtin(h, place)
		return h
	}
	automations := value.NewObject(len(place.Automations))
	slices.SortFunc(place.Automations, func(x, y assembly.Automation) int { return cmp.Compare(x.Slug, y.Slug) })
	for i, u := range b.models.compiled(place.Automations) {
		automations.Set(place.Automations[i].Slug, u.definition)
		h.open(u)
	}
	home.Definition = definition(place, automations)
	home.Global = b.global(h)
	slices.SortFunc(place.Instances, func(x, y *assembly.Place) int { return cmp.Compare(x.Instance, y.Instance) })
	for _, instance := range place.Instances {
		b.install(h, instance, config)
	}
	return h
}

// open makes an automation reachable. One that is private in an app can only be reached from inside of it.
func (h *hall) open(u *unit) {
	automation := u.in(h.home)
	h.home.Automations[automation.Slug] = automation
	if automation.Disabled {
		return
	}
	for _, event := range u.events {
		h.events[event] = append(h.events[event], automation)
	}
	if automation.Private && h.home.Depth > 0 {
		return
	}
	if len(u.schedules) > 0 {
		h.schedules = append(h.schedules, Schedule{Automation: automation, Crons: u.schedules})
	}
	if u.endpoint != "" {
		h.expose(u.endpoint, automation)
	}
}

// install makes the home of an app instance.
func (b *builder) install(parent *hall, place *assembly.Place, config assembly.Config) {
	above := parent.home
	home := &machine.Home{
		WorkspaceID: above.WorkspaceID, WorkspaceSlug: above.WorkspaceSlug, WorkspaceName: above.WorkspaceName,
		AppSlug: place.App, AppVersion: place.Version, Instance: place.Instance, FullSlug: place.Instance, Depth: above.Depth + 1, Parent: above,
		EventTypes: above.EventTypes, System: above.System,
	}
	if above.FullSlug != "" {
		home.FullSlug = above.FullSlug + "." + place.Instance
	}
	h := b.hall(place, place.Under(config), home)
	above.Instances[place.Instance] = home
	parent.nested[place.Instance] = h
	parent.inside = append(parent.inside, h)
}

// builtin gives an instance of an app of the platform its automations.
func (b *builder) builtin(h *hall, place *assembly.Place) {
	h.home.Definition, h.home.Global = definition(place, value.NewObject(0)), b.global(h)
	app, known := b.models.deps.Builtins[place.App]
	if !known {
		b.models.deps.Log.WarnContext(b.ctx, "a built-in app is not there", "workspace_id", b.tree.ID, "app", place.App)
		return
	}
	for slug, do := range app.Methods(h.home) {
		h.home.Automations[slug] = &machine.Automation{Slug: slug, Home: h.home, Native: do}
	}
}

// definition is what $workspace shows: the index with the automations and the app instances, as they are written.
func definition(place *assembly.Place, automations *value.Object) *value.Object {
	made := value.NewObject(0)
	if place.Index != nil {
		said, _ := assembly.Value(place.Index.Root).(*value.Object)
		for key, v := range said.All() {
			if key != "repositories" && key != "platformRepositories" { // they are the business of those who edit it
				made.Set(key, v)
			}
		}
	}
	imports := value.NewObject(len(place.Imports))
	for _, instance := range place.Imports {
		imports.Set(instance.Slug, assembly.Value(instance.Root))
	}
	made.Set("automations", automations)
	made.Set("imports", imports)
	return made
}

// eventTypes are the types of events that a workspace declares.
func eventTypes(place *assembly.Place) map[string]bool {
	all := map[string]bool{}
	if place.Index == nil {
		return all
	}
	if types, ok := assembly.Value(place.Index.Get("events", "types")).(*value.Object); ok {
		for name := range types.All() {
			all[name] = true
		}
	}
	return all
}

// hidden are the texts that must not be seen in any home, each once.
func hidden(h *hall) []string {
	all := slices.Clone(h.home.Hidden)
	for _, nested := range h.inside {
		all = append(all, hidden(nested)...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// hide makes texts unseen in all homes: values go from one to the other, as configuration, as arguments and as outputs.
func hide(h *hall, texts []string) {
	h.home.Hidden = texts
	for _, nested := range h.inside {
		hide(nested, texts)
	}
}

// Find gives an automation by its slug, with the slugs of its app instances and dots in front of it. It may be disabled.
func (m *Model) Find(fullSlug string) (*machine.Automation, bool) {
	home := m.Root
	for {
		instance, rest, nested := strings.Cut(fullSlug, ".")
		if !nested {
			automation, ok := home.Automations[fullSlug]
			return automation, ok
		}
		if home = home.Instances[instance]; home == nil {
			return nil, false
		}
		fullSlug = rest
	}
}
