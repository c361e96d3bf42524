package catalogue

// MFAUpdated is the payload of gateway.mfa.updated.
type MFAUpdated struct{ Audited }

// EventType names the event.
func (*MFAUpdated) EventType() string { return "gateway.mfa.updated" }

// MFARecoveryRenewed is the payload of gateway.mfa.recoveryRenewed.
type MFARecoveryRenewed struct{ Audited }

// EventType names the event.
func (*MFARecoveryRenewed) EventType() string { return "gateway.mfa.recoveryRenewed" }

// MFAFailed is the payload of gateway.mfa.failed.
type MFAFailed struct {
	Audited
	UserID string `json:"userId" doc:"The account."`
	Email  string `json:"email" doc:"Its address."`
	IP     string `json:"ip" doc:"Where the request came from."`
}

// EventType names the event.
func (*MFAFailed) EventType() string { return "gateway.mfa.failed" }

// Passkey is the payload of gateway.passkeys.*.
type Passkey struct {
	Verb Verb `json:"-"`
	Audited
	UserID string `json:"userId" doc:"Whose passkey it is."`
}

// EventType names the event.
func (e *Passkey) EventType() string { return "gateway.passkeys." + string(e.Verb) }

// Client is the payload of gateway.clients.*.
type Client struct {
	Verb Verb `json:"-"`
	Audited
}

// EventType names the event.
func (e *Client) EventType() string { return "gateway.clients." + string(e.Verb) }

// Device is the payload of gateway.devices.*.
type Device struct {
	Verb Verb `json:"-"`
	Audited
	Scopes []string `json:"scopes" doc:"What the device asked for."`
}

// EventType names the event.
func (e *Device) EventType() string { return "gateway.devices." + string(e.Verb) }

// Consent is the payload of gateway.consents.*.
type Consent struct {
	Verb Verb `json:"-"`
	Audited
	Scopes   []string `json:"scopes,omitzero" doc:"What was agreed to, this time only."`
	Redirect string   `json:"redirect,omitempty" doc:"Where the client is."`
}

// EventType names the event.
func (e *Consent) EventType() string { return "gateway.consents." + string(e.Verb) }

// GrantRevoked is the payload of gateway.grants.revoked.
type GrantRevoked struct {
	Audited
	UserID   string `json:"userId" doc:"Whose grant it was."`
	ClientID string `json:"clientId" doc:"Whom it was given to."`
	Reason   string `json:"reason" doc:"Why it was revoked."`
}

// EventType names the event.
func (*GrantRevoked) EventType() string { return "gateway.grants.revoked" }

// KeysUpdated is the payload of gateway.jwks.updated and runtime.jwks.updated.
type KeysUpdated struct {
	// Service is the kind of instance that it is for.
	Service string   `json:"-"`
	Created []string `json:"created" doc:"The ids of the keys that were added."`
	Deleted []string `json:"deleted" doc:"The ids of the keys that are gone."`
}

// EventType names the event.
func (e *KeysUpdated) EventType() string { return e.Service + ".jwks.updated" }

func gatewayTable() []Entry {
	entry := func(eventType string, p Payload, doc string) Entry {
		return Entry{Type: eventType, Payload: p, Service: "gateway", Doc: doc}
	}
	return []Entry{
		entry("gateway.login.succeeded", new(LoginSucceeded), "Somebody signed in."),
		entry("gateway.login.failed", new(LoginFailed), "Somebody could not sign in."),
		entry("gateway.logout.succeeded", new(LogoutSucceeded), "Somebody signed out."),
		entry("gateway.sessions.revoked", new(SessionsRevoked), "Sessions were ended from elsewhere."),
		entry("gateway.signup.succeeded", new(SignupSucceeded), "Somebody made an account."),
		entry("gateway.passwordReset.requested", &PasswordReset{Verb: Requested}, "A link to set a new password was mailed."),
		entry("gateway.passwordReset.succeeded", &PasswordReset{Verb: Succeeded}, "A new password was set with a mailed link."),
		entry("gateway.passwords.changed", new(PasswordChanged), "Somebody changed their password."),
		entry("gateway.mfa.updated", new(MFAUpdated), "The second factor of an account was turned on, off or replaced."),
		entry("gateway.mfa.recoveryRenewed", new(MFARecoveryRenewed), "The recovery codes of an account were replaced."),
		entry("gateway.mfa.failed", new(MFAFailed), "A wrong second factor was given."),
		entry("gateway.passkeys.created", &Passkey{Verb: Created}, "A passkey was added to an account."),
		entry("gateway.passkeys.updated", &Passkey{Verb: Updated}, "A passkey was renamed."),
		entry("gateway.passkeys.deleted", &Passkey{Verb: Deleted}, "A passkey was removed."),
		entry("gateway.users.created", new(UserCreated), "An administrator made an account."),
		entry("gateway.users.updated", new(UserUpdated), "An account was changed."),
		entry("gateway.users.deleted", new(UserDeleted), "An account was deleted."),
		entry("gateway.users.bulkUpdated", new(UsersBulkUpdated), "Many accounts were changed at once."),
		entry("gateway.links.created", &Link{Verb: Created}, "An account was linked to one of another provider."),
		entry("gateway.links.deleted", &Link{Verb: Deleted}, "A link to another provider was removed."),
		entry("gateway.accessTokens.created", &AccessToken{Verb: Created}, "An access token was made."),
		entry("gateway.accessTokens.deleted", &AccessToken{Verb: Deleted}, "An access token was deleted."),
		entry("gateway.serviceAccounts.created", &ServiceAccount{Verb: Created}, "A service account was made."),
		entry("gateway.serviceAccounts.updated", &ServiceAccount{Verb: Updated}, "A service account was changed."),
		entry("gateway.serviceAccounts.rotated", &ServiceAccount{Verb: Rotated}, "A service account got a new secret."),
		entry("gateway.serviceAccounts.deleted", &ServiceAccount{Verb: Deleted}, "A service account was deleted."),
		entry("gateway.clients.created", &Client{Verb: Created}, "An OpenID Connect client registered."),
		entry("gateway.clients.updated", &Client{Verb: Updated}, "An OpenID Connect client was changed."),
		entry("gateway.clients.deleted", &Client{Verb: Deleted}, "An OpenID Connect client was deleted."),
		entry("gateway.devices.allowed", &Device{Verb: Allowed}, "Somebody let a device in."),
		entry("gateway.devices.denied", &Device{Verb: Denied}, "Somebody refused a device."),
		entry("gateway.consents.given", &Consent{Verb: Given}, "Somebody agreed to a client once."),
		entry("gateway.consents.updated", &Consent{Verb: Updated}, "Somebody agreed to a client for good."),
		entry("gateway.consents.deleted", &Consent{Verb: Deleted}, "Somebody took the agreement with a client back."),
		entry("gateway.grants.revoked", new(GrantRevoked), "What a client was granted ended because a code or token of it was presented twice."),
		entry("gateway.jwks.updated", &KeysUpdated{Service: "gateway"}, "The keys that sign tokens have changed; every gateway reads them anew."),
	}
}
