package model

import (
	"slices"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
)

// The events of the life of apps.
const (
	installed   = "workspaces.apps.installed"
	configured  = "workspaces.apps.configured"
	uninstalled = "workspaces.apps.uninstalled"
	duplicated  = "workspaces.duplicated"
	deleted     = "workspaces.deleted"
	published   = "apps.published"
	appDeleted  = "apps.deleted"
)

// Listeners gives the automations that an event starts, those of the workspace first. What an automation or a user emits is
// listened to by its name; in an app instance by what follows the slug of the instance. Of the platform's own events only some
// start automations, and apps hear of those that are about themselves.
func (m *Model) Listeners(eventType string, source envelope.Source) []*machine.Automation {
	var all []*machine.Automation
	if source.ServiceTopic == envelope.CustomTopic {
		m.root.hear(eventType, &all)
		return all
	}
	if entry, known := catalogue.Find(eventType); !known || entry.Use != catalogue.Starting {
		return nil
	}
	all = append(all, m.root.events[eventType]...)
	switch eventType {
	case installed, configured, uninstalled:
		if concerned := m.root.find(source.AppInstanceFullSlug); concerned != nil {
			all = append(all, concerned.events[eventType]...)
		}
	case published, appDeleted:
		m.root.below(eventType, &all)
	case deleted: // all apps go with the workspace
		m.root.below(eventType, &all)
		m.root.below(uninstalled, &all)
	case duplicated: // the copy has the apps anew
		m.root.below(installed, &all)
	}
	return once(all)
}

// Hears tells whether there may be listeners of an event, by its name alone: whoever asks need not read the event.
func (m *Model) Hears(eventType string) bool {
	switch eventType {
	case installed, configured, uninstalled, duplicated, deleted, published, appDeleted:
		return true // who hears of those depends on what the event is about
	}
	var all []*machine.Automation
	m.root.hear(eventType, &all)
	return len(all) > 0
}

// once are automations without those that were there before: an event starts each of them once.
func once(all []*machine.Automation) []*machine.Automation {
	seen := make(map[*machine.Automation]bool, len(all))
	return slices.DeleteFunc(all, func(a *machine.Automation) bool {
		again := seen[a]
		seen[a] = true
		return again
	})
}

// hear collects who listens to an event by its name.
func (h *hall) hear(name string, all *[]*machine.Automation) {
	*all = append(*all, h.events[name]...)
	instance, rest, nested := strings.Cut(name, ".")
	if below := h.nested[instance]; nested && below != nil {
		below.hear(rest, all)
	}
}

// below collects who listens to an event in the app instances, at any depth.
func (h *hall) below(name string, all *[]*machine.Automation) {
	for _, nested := range h.inside {
		*all = append(*all, nested.events[name]...)
		nested.below(name, all)
	}
}

// find gives the app instance with a full slug; nil without one.
func (h *hall) find(fullSlug string) *hall {
	if fullSlug == "" {
		return nil
	}
	for slug := range strings.SplitSeq(fullSlug, ".") {
		if h = h.nested[slug]; h == nil {
			return nil
		}
	}
	return h
}

// Waitable tells whether an automation may wait for an event: for those that automations and users emit, and for some of the
// platform's own.
func (m *Model) Waitable(eventType string) bool {
	entry, known := catalogue.Find(eventType)
	return !known || entry.Use != catalogue.Reading
}

// Schedule is an automation with the times at which it runs.
type Schedule struct {
	Automation *machine.Automation
	// Crons are as they are written.
	Crons []string
}

// Schedules lists what runs by the clock: in the workspace, and in its apps.
func (m *Model) Schedules() []Schedule {
	var all []Schedule
	m.root.scheduled(&all)
	return all
}

func (h *hall) scheduled(all *[]Schedule) {
	*all = append(*all, h.schedules...)
	for _, nested := range h.inside {
		nested.scheduled(all)
	}
}
