package access

import "strings"

// Scope is one permission of a token: a bound on what the token may be used for, below what its account may do.
type Scope string

// The scopes of the specification and of its clients. NoScope is for operations that every token may call.
const (
	NoScope         Scope = ""
	WorkspacesRead  Scope = "workspaces:read"
	WorkspacesWrite Scope = "workspaces:write"
	EventsRead      Scope = "events:read"
	EventsWrite     Scope = "events:write"
	Webhooks        Scope = "webhooks"
	PagesRead       Scope = "pages:read"
	FilesRead       Scope = "files:read"
	FilesWrite      Scope = "files:write"
	// Settings is for the account itself: its profile, sessions, tokens and factors.
	Settings Scope = "settings"
)

// Scopes lists every scope a token may carry.
func Scopes() []string {
	return scopes(Settings, WorkspacesWrite, WorkspacesRead, EventsWrite, EventsRead, Webhooks, PagesRead, FilesWrite, FilesRead)
}

// PageScopes lists what the client of one workspace's pages may be granted: the list of the specification, and the
// account's own settings.
func PageScopes() []string {
	return scopes(Settings, EventsWrite, EventsRead, Webhooks, PagesRead, FilesWrite, FilesRead)
}

// VisitorScopes lists what an anonymous visitor's token may be used for.
func VisitorScopes() []string {
	return scopes(WorkspacesRead, EventsWrite, EventsRead, Webhooks, PagesRead, FilesWrite, FilesRead)
}

// ParseScopes reads the scope claim: names separated by spaces. A name that is none of ours stays without effect.
func ParseScopes(claim string) []string { return strings.Fields(claim) }

func scopes(all ...Scope) []string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, string(s))
	}
	return names
}
