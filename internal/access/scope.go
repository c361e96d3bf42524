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
	// Settings shows a client what the account has set up; it changes nothing.
	Settings Scope = "settings"
	// Account is for the account itself, its profile, sessions, tokens and factors, and for what it administers. It marks
	// tokens that were made for this installation's own programs: no client of anybody else can ask for it.
	Account Scope = "account"
)

// Scopes lists every scope a token may carry.
func Scopes() []string {
	return scopes(Account, Settings, WorkspacesWrite, WorkspacesRead, EventsWrite, EventsRead, Webhooks, PagesRead, FilesWrite, FilesRead)
}

// PageScopes lists what the client of one workspace's pages may be granted: the list of the specification, and to see the
// account's settings.
func PageScopes() []string {
	return scopes(Settings, EventsWrite, EventsRead, Webhooks, PagesRead, FilesWrite, FilesRead)
}

// VisitorScopes lists what an anonymous visitor's token may be used for.
func VisitorScopes() []string {
	return scopes(WorkspacesRead, EventsWrite, EventsRead, Webhooks, PagesRead, FilesWrite, FilesRead)
}

// ParseScopes reads the scope claim: names separated by spaces. A name that is none of ours stays without effect.
func ParseScopes(claim string) []string { return strings.Fields(claim) }

// scopesFor lists the scopes that a token needs for an action, where a key is to be allowed what its maker may do.
func scopesFor(action, subject string) []Scope {
	read, write := WorkspacesRead, WorkspacesWrite
	switch subject {
	case SubjectEvents:
		read, write = EventsRead, EventsWrite
	case SubjectFiles:
		read, write = FilesRead, FilesWrite
	case SubjectPages:
		read = PagesRead
	}
	switch action {
	case ActionRead:
		return []Scope{read}
	case ActionManage:
		return []Scope{read, write}
	default:
		return []Scope{write}
	}
}

func scopes(all ...Scope) []string {
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, string(s))
	}
	return names
}
