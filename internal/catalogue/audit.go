package catalogue

// Audited is what every security-relevant act says: who did it, to what, and what it changed. Secrets have no place in it.
type Audited struct {
	Actor   *Actor   `json:"actor,omitempty" doc:"Who did it."`
	Target  *Target  `json:"target,omitempty" doc:"What was acted on."`
	Changes *Changes `json:"changes,omitempty" doc:"How it looked before and after."`
	Stripped
}

// Audit gives the part of a payload that says who did what to whom.
func (a *Audited) Audit() *Audited { return a }

// Actor is whoever did something.
type Actor struct {
	Kind       string `json:"kind" doc:"What the actor is: user, apikey, service and so on; nobody without a credential."`
	UserID     string `json:"userId,omitempty" doc:"The user."`
	SessionID  string `json:"sessionId,omitempty" doc:"The session."`
	Credential string `json:"credential,omitempty" doc:"The kind of credential."`
	KeyID      string `json:"keyId,omitempty" doc:"The id of the API key or access token."`
	SuperAdmin bool   `json:"superAdmin,omitempty" doc:"Whether it was a super admin."`
}

// Target is what was acted on.
type Target struct {
	Type        string  `json:"type" doc:"What it is."`
	ID          string  `json:"id" doc:"Its id."`
	DisplayName *string `json:"displayName,omitempty" doc:"What people call it; of shares only."`
}

// Changes show what an act changed.
type Changes struct {
	After  any `json:"after" doc:"How it looks now; null when there is nothing."`
	Before any `json:"before" doc:"How it looked before; null when there was nothing."`
}

// Stripped tells that an event does not say everything.
type Stripped struct {
	Stripped bool `json:"stripped,omitempty" doc:"What would have made the event too large is left out: read what it is about instead."`
}

// Verb is what was done: the last word of an event's type.
type Verb string

// What is done.
const (
	Added       Verb = "added"
	Allowed     Verb = "allowed"
	Cleared     Verb = "cleared"
	Completed   Verb = "completed"
	Configured  Verb = "configured"
	Created     Verb = "created"
	Deleted     Verb = "deleted"
	Denied      Verb = "denied"
	Disabled    Verb = "disabled"
	Fulfilled   Verb = "fulfilled"
	Given       Verb = "given"
	Installed   Verb = "installed"
	Pending     Verb = "pending"
	Progress    Verb = "progress"
	Removed     Verb = "removed"
	Requested   Verb = "requested"
	Revoked     Verb = "revoked"
	Rotated     Verb = "rotated"
	Set         Verb = "set"
	Shared      Verb = "shared"
	Started     Verb = "started"
	Succeeded   Verb = "succeeded"
	TokenIssued Verb = "tokenIssued"
	Triggered   Verb = "triggered"
	Updated     Verb = "updated"
	Uploaded    Verb = "uploaded"
)
