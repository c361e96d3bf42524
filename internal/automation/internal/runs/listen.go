package runs

import (
	"atelier/internal/automation/internal/machine"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
)

// distinct are automations, each of them once: one that listens twice to an event runs once for it.
func distinct(automations []*machine.Automation) []*machine.Automation {
	out, seen := make([]*machine.Automation, 0, len(automations)), make(map[string]bool, len(automations))
	for _, one := range automations {
		if slug := one.FullSlug(); !one.Disabled && !seen[slug] {
			seen[slug] = true
			out = append(out, one)
		}
	}
	return out
}

// mayBeEmitted tells that a type of the platform is also one that automations may emit.
func mayBeEmitted(eventType string) bool { return eventType == (&catalogue.Error{}).EventType() }

// tells says whether an event that starts automations is an interaction: what a user emits, and what the platform does, but not what
// automations emit, nor the event that tells of it.
func tells(eventType string, source envelope.Source) bool {
	if source.AutomationSlug != "" || eventType == new(catalogue.Interaction).EventType() {
		return false
	}
	return source.UserID != "" || source.ServiceTopic != envelope.CustomTopic
}
