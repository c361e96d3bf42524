package contexts

import (
	"maps"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

type object = *value.Object

// over gives a context with what is computed put over it. The names are never those of what is kept, also where nothing is
// computed for them: nobody may make them up.
func over(kept, computed object, names []string) object {
	if computed == nil {
		computed = value.NewObject(0)
	}
	out := value.NewObject(kept.Len() + computed.Len())
	for name, v := range kept.All() {
		if !computed.Has(name) && !slices.Contains(names, name) {
			out.Set(name, v)
		}
	}
	for name, v := range computed.All() {
		out.Set(name, v)
	}
	return out
}

func runNames() []string {
	return []string{
		"date", "correlationId", "depth", "automationSlug", "socketId", "ip", "sourceWorkspaceId", "authenticatedWorkspaceId", "trigger",
		"appSlug", "appInstanceSlug", "appInstanceFullSlug", "parentAppSlug", "parentAppSlugs", "permissions", "scopes",
	}
}

func userNames() []string { return []string{"id", "email", "authData", "role"} }

func sessionNames() []string { return []string{"id", "org", "origin"} }

// put sets a text that there is.
func put(o object, name, text string) {
	if text != "" {
		o.Set(name, text)
	}
}

// isoFormat is how the language writes a time.
const isoFormat = "2006-01-02T15:04:05.000Z"

// computedRun is what a frame sees of its run.
func (s *scopes) computedRun(f *machine.Frame) object {
	run, home := s.run, f.Home()
	o := machine.Payload(
		"date", s.store.deps.Clock.Now().UTC().Format(isoFormat),
		"correlationId", run.CorrelationID,
		"depth", float64(f.Depth()),
		"automationSlug", f.Automation().Slug,
	)
	kind, what := f.Trigger()
	trigger := machine.Payload("type", kind, "value", what)
	put(trigger, "id", f.TriggerID())
	o.Set("trigger", trigger)
	put(o, "socketId", run.SocketID)
	put(o, "ip", run.IP)
	put(o, "sourceWorkspaceId", run.SourceWorkspaceID)
	put(o, "authenticatedWorkspaceId", run.AuthenticatedWorkspaceID)
	if len(run.Caller.Scopes) > 0 {
		o.Set("scopes", value.From(run.Caller.Scopes))
	}
	ofApp(o, home)
	return o
}

// ofApp adds which app a frame belongs to.
func ofApp(o object, home *machine.Home) {
	if home.FullSlug == "" {
		return
	}
	put(o, "appSlug", home.AppSlug)
	put(o, "appInstanceSlug", home.Instance)
	put(o, "appInstanceFullSlug", home.FullSlug)
	parents := []any{}
	for above := home.Parent; above != nil && above.FullSlug != ""; above = above.Parent {
		parents = append(parents, above.AppSlug)
	}
	if len(parents) > 0 {
		o.Set("parentAppSlug", parents[0])
		slices.Reverse(parents)
		o.Set("parentAppSlugs", parents)
	}
}

// computedUser is what is known of an account.
func computedUser(p access.Principal, role string) object {
	o := value.NewObject(len(userNames()))
	if p.UserID != "" {
		o.Set("id", p.UserID)
	} else {
		put(o, "id", p.SessionID)
	}
	if len(p.AuthData) > 0 {
		said := value.NewObject(len(p.AuthData))
		for _, provider := range slices.Sorted(maps.Keys(p.AuthData)) {
			said.Set(provider, value.From(p.AuthData[provider]))
		}
		put(o, "email", email(p.AuthData))
		o.Set("authData", said)
	}
	put(o, "role", role)
	return o
}

// email is the address of an account: its own, or else the one that a provider knows.
func email(said map[string]map[string]any) string {
	if own, ok := said["svc"]["email"].(string); ok && own != "" {
		return own
	}
	for _, provider := range slices.Sorted(maps.Keys(said)) {
		if known, ok := said[provider]["email"].(string); ok && known != "" {
			return known
		}
	}
	return ""
}

// computedSession is what is known of a session.
func (s *scopes) computedSession(p access.Principal, switched bool) object {
	o := value.NewObject(len(sessionNames()))
	put(o, "id", p.SessionID)
	if p.IsService() { // the id of a service account names its organization
		if org, _, ok := strings.Cut(strings.TrimPrefix(p.UserID, access.ServicePrefix), ":"); ok {
			o.Set("org", machine.Payload("slug", org))
		}
	}
	if switched {
		origin := value.NewObject(0)
		put(origin, "userId", s.run.Caller.UserID)
		put(origin, "sessionId", s.run.Caller.SessionID)
		o.Set("origin", origin)
	}
	return o
}

// config is the configuration as an automation of a home sees it.
func (s *scopes) config(home *machine.Home) any {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed, ok := s.configs[home]; ok {
		return changed
	}
	if home.Config == nil {
		return value.NewObject(0)
	}
	return home.Config
}
