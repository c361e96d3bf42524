package catalogue

// LoginSucceeded is the payload of gateway.login.succeeded. The token of the session has no place in it.
type LoginSucceeded struct {
	Audited
	ID       string       `json:"id" doc:"The user."`
	Email    string       `json:"email,omitempty" doc:"The address of the user; visitors have none."`
	IP       string       `json:"ip" doc:"Where the request came from."`
	Provider string       `json:"provider" doc:"How the user signed in."`
	AuthData any          `json:"authData" doc:"What the providers say of the user, by provider."`
	Session  LoginSession `json:"session" doc:"The session that begins."`
}

// LoginSession is a session that begins.
type LoginSession struct {
	ID        string `json:"id" doc:"Its id."`
	Expires   string `json:"expires" doc:"When it ends."`
	ExpiresIn int    `json:"expiresIn" doc:"In how many seconds it ends."`
}

// EventType names the event.
func (*LoginSucceeded) EventType() string { return "gateway.login.succeeded" }

// LoginFailed is the payload of gateway.login.failed.
type LoginFailed struct {
	Audited
	Email    string `json:"email,omitempty" doc:"The address that was given."`
	Provider string `json:"provider" doc:"How somebody tried to sign in."`
	IP       string `json:"ip" doc:"Where the request came from."`
	Reason   string `json:"reason,omitempty" doc:"Why the provider was not believed."`
}

// EventType names the event.
func (*LoginFailed) EventType() string { return "gateway.login.failed" }

// LogoutSucceeded is the payload of gateway.logout.succeeded.
type LogoutSucceeded struct{ Audited }

// EventType names the event.
func (*LogoutSucceeded) EventType() string { return "gateway.logout.succeeded" }

// SessionsRevoked is the payload of gateway.sessions.revoked.
type SessionsRevoked struct {
	Audited
	UserID string `json:"userId,omitempty" doc:"Whose session it was."`
	Count  int64  `json:"count,omitempty" doc:"How many were ended."`
}

// EventType names the event.
func (*SessionsRevoked) EventType() string { return "gateway.sessions.revoked" }

// SignupSucceeded is the payload of gateway.signup.succeeded.
type SignupSucceeded struct {
	Audited
	IP   string `json:"ip" doc:"Where the request came from."`
	User User   `json:"user" doc:"The new account."`
}

// EventType names the event.
func (*SignupSucceeded) EventType() string { return "gateway.signup.succeeded" }

// User is what events say of an account.
type User struct {
	ID           string   `json:"id" doc:"Its id."`
	Email        string   `json:"email" doc:"Its address."`
	FirstName    string   `json:"firstName" doc:"The first name."`
	LastName     string   `json:"lastName" doc:"The last name."`
	Status       string   `json:"status" doc:"Whether it may be used."`
	MFA          string   `json:"mfa" doc:"The second factor."`
	Groups       []string `json:"groups" doc:"The groups it is in."`
	PlatformRole string   `json:"platformRole,omitempty" doc:"superadmin, for one."`
}

// UserCreated is the payload of gateway.users.created: an account that an administrator made.
type UserCreated struct{ Audited }

// EventType names the event.
func (*UserCreated) EventType() string { return "gateway.users.created" }

// UserUpdated is the payload of gateway.users.updated.
type UserUpdated struct {
	Audited
	User User `json:"user" doc:"The account as it is now."`
}

// EventType names the event.
func (*UserUpdated) EventType() string { return "gateway.users.updated" }

// UserDeleted is the payload of gateway.users.deleted.
type UserDeleted struct {
	Audited
	UserID         string   `json:"userId" doc:"The account."`
	IP             string   `json:"ip" doc:"Where the request came from."`
	WorkspacesLeft []string `json:"workspacesLeft" doc:"Workspaces that have no owner any more."`
}

// EventType names the event.
func (*UserDeleted) EventType() string { return "gateway.users.deleted" }

// UsersBulkUpdated is the payload of gateway.users.bulkUpdated.
type UsersBulkUpdated struct {
	Audited
	Query     UsersQuery     `json:"query" doc:"Whom it was asked for."`
	Behaviour UsersBehaviour `json:"behaviour" doc:"How lists are changed."`
	Data      UsersData      `json:"data" doc:"What was set."`
	Result    UsersResult    `json:"result" doc:"What came of it."`
}

// UsersQuery names accounts.
type UsersQuery struct {
	IDs    []string `json:"ids" doc:"By id."`
	Emails []string `json:"emails" doc:"By address."`
}

// UsersBehaviour says how lists are changed.
type UsersBehaviour struct {
	Groups string `json:"groups" doc:"replace, add or delete; empty for replace."`
}

// UsersData is what was set; what is absent was left alone.
type UsersData struct {
	FirstName    *string   `json:"firstName,omitempty" doc:"The first name."`
	LastName     *string   `json:"lastName,omitempty" doc:"The last name."`
	Email        *string   `json:"email,omitempty" doc:"The address."`
	Language     *string   `json:"language,omitempty" doc:"The language."`
	Status       *string   `json:"status,omitempty" doc:"Whether the account may be used."`
	PlatformRole *string   `json:"platformRole,omitempty" doc:"superadmin, or empty for none."`
	Groups       *[]string `json:"groups,omitempty" doc:"The groups."`
	Meta         []string  `json:"meta,omitempty" doc:"The names of other things that were set."`
}

// UsersResult counts accounts.
type UsersResult struct {
	Requested int `json:"requestedCount" doc:"How many were named."`
	Matched   int `json:"matchedCount" doc:"How many there are."`
	Modified  int `json:"modifiedCount" doc:"How many were changed."`
}

// EventType names the event.
func (*UsersBulkUpdated) EventType() string { return "gateway.users.bulkUpdated" }

// PasswordReset is the payload of gateway.passwordReset.*.
type PasswordReset struct {
	Verb Verb `json:"-"`
	Audited
	IP    string `json:"ip" doc:"Where the request came from."`
	Email string `json:"email" doc:"The address of the account."`
}

// EventType names the event.
func (e *PasswordReset) EventType() string { return "gateway.passwordReset." + string(e.Verb) }

// PasswordChanged is the payload of gateway.passwords.changed.
type PasswordChanged struct {
	Audited
	IP string `json:"ip" doc:"Where the request came from."`
}

// EventType names the event.
func (*PasswordChanged) EventType() string { return "gateway.passwords.changed" }

// AccessToken is the payload of gateway.accessTokens.*.
type AccessToken struct {
	Verb Verb `json:"-"`
	Audited
}

// EventType names the event.
func (e *AccessToken) EventType() string { return "gateway.accessTokens." + string(e.Verb) }

// Link is the payload of gateway.links.*: an account of another provider that one can sign in with.
type Link struct {
	Verb Verb `json:"-"`
	Audited
}

// EventType names the event.
func (e *Link) EventType() string { return "gateway.links." + string(e.Verb) }

// ServiceAccount is the payload of gateway.serviceAccounts.*.
type ServiceAccount struct {
	Verb Verb `json:"-"`
	Audited
	SASlug         string   `json:"saSlug" doc:"The service account."`
	WorkspacesLeft []string `json:"workspacesLeft,omitempty" doc:"Workspaces that have no owner any more."`
}

// EventType names the event.
func (e *ServiceAccount) EventType() string { return "gateway.serviceAccounts." + string(e.Verb) }
