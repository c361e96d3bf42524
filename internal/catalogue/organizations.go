package catalogue

// OrganizationCreated is the payload of organizations.created.
type OrganizationCreated struct {
	Slug      string `json:"slug" doc:"The organization."`
	CreatedBy string `json:"createdBy" doc:"Who made it."`
}

// EventType names the event.
func (*OrganizationCreated) EventType() string { return "organizations.created" }

// OrganizationUpdated is the payload of organizations.updated.
type OrganizationUpdated struct {
	OrgSlug   string `json:"orgSlug" doc:"The organization."`
	Slug      string `json:"slug,omitempty" doc:"Its new slug."`
	UpdatedBy string `json:"updatedBy" doc:"Who changed it."`
}

// EventType names the event.
func (*OrganizationUpdated) EventType() string { return "organizations.updated" }

// OrganizationDeleted is the payload of organizations.deleted.
type OrganizationDeleted struct {
	OrgSlug   string `json:"orgSlug" doc:"The organization."`
	Slug      string `json:"slug,omitempty" doc:"The same."`
	DeletedBy string `json:"deletedBy" doc:"Who deleted it."`
}

// EventType names the event.
func (*OrganizationDeleted) EventType() string { return "organizations.deleted" }

// OrganizationMembers is the payload of organizations.members.added and .removed.
type OrganizationMembers struct {
	Verb      Verb     `json:"-"`
	OrgSlug   string   `json:"orgSlug" doc:"The organization."`
	UserIDs   []string `json:"userIds" doc:"The accounts."`
	JoinedVia string   `json:"joinedVia,omitempty" doc:"How they came to be members."`
}

// EventType names the event.
func (e *OrganizationMembers) EventType() string { return "organizations.members." + string(e.Verb) }

// OrganizationMemberUpdated is the payload of organizations.members.updated.
type OrganizationMemberUpdated struct {
	OrgSlug string `json:"orgSlug" doc:"The organization."`
	UserID  string `json:"userId" doc:"The account."`
}

// EventType names the event.
func (*OrganizationMemberUpdated) EventType() string { return "organizations.members.updated" }

// OrganizationRole is the payload of organizations.roles.*.
type OrganizationRole struct {
	Verb    Verb   `json:"-"`
	OrgSlug string `json:"orgSlug" doc:"The organization."`
	Slug    string `json:"slug" doc:"The role."`
}

// EventType names the event.
func (e *OrganizationRole) EventType() string { return "organizations.roles." + string(e.Verb) }

// OrganizationGroup is the payload of organizations.groups.*.
type OrganizationGroup struct {
	Verb    Verb   `json:"-"`
	OrgSlug string `json:"orgSlug" doc:"The organization."`
	Slug    string `json:"slug" doc:"The group."`
}

// EventType names the event.
func (e *OrganizationGroup) EventType() string { return "organizations.groups." + string(e.Verb) }

// OrganizationGroupMembers is the payload of organizations.groups.members.*.
type OrganizationGroupMembers struct {
	Verb      Verb     `json:"-"`
	OrgSlug   string   `json:"orgSlug" doc:"The organization."`
	GroupSlug string   `json:"groupSlug" doc:"The group."`
	UserIDs   []string `json:"userIds" doc:"The accounts."`
	JoinedVia string   `json:"joinedVia,omitempty" doc:"How they came to be in it."`
}

// EventType names the event.
func (e *OrganizationGroupMembers) EventType() string {
	return "organizations.groups.members." + string(e.Verb)
}

// OrganizationInvite is the payload of organizations.invites.*.
type OrganizationInvite struct {
	Verb    Verb   `json:"-"`
	OrgSlug string `json:"orgSlug" doc:"The organization."`
	Code    string `json:"code" doc:"Which invitation it is."`
}

// EventType names the event.
func (e *OrganizationInvite) EventType() string { return "organizations.invites." + string(e.Verb) }

// OrganizationSubscription is the payload of organizations.subscriptions.*.
type OrganizationSubscription struct {
	Verb             Verb   `json:"-"`
	SubscriptionSlug string `json:"subscriptionSlug" doc:"The subscription."`
}

// EventType names the event.
func (e *OrganizationSubscription) EventType() string {
	return "organizations.subscriptions." + string(e.Verb)
}

// OrganizationKey is the payload of organizations.apikeys.*. The key itself has no place in it.
type OrganizationKey struct {
	Verb    Verb   `json:"-"`
	OrgSlug string `json:"orgSlug" doc:"The organization."`
	KeyID   string `json:"keyId" doc:"The id of the key."`
}

// EventType names the event.
func (e *OrganizationKey) EventType() string { return "organizations.apikeys." + string(e.Verb) }

// OrganizationServiceAccount is the payload of organizations.serviceAccounts.*.
type OrganizationServiceAccount struct {
	Verb    Verb   `json:"-"`
	OrgSlug string `json:"orgSlug" doc:"The organization."`
	SASlug  string `json:"saSlug" doc:"The service account."`
}

// EventType names the event.
func (e *OrganizationServiceAccount) EventType() string {
	return "organizations.serviceAccounts." + string(e.Verb)
}

// OrganizationAudit is the payload of organizations.audit: a line of the record of an organization.
type OrganizationAudit struct {
	Category string              `json:"category" doc:"What it is about."`
	Action   string              `json:"action" doc:"What was done."`
	OrgSlug  string              `json:"orgSlug" doc:"The organization."`
	Target   *OrganizationTarget `json:"target,omitempty" doc:"What was acted on."`
	Changes  *Changes            `json:"changes,omitempty" doc:"How it looked before and after."`
	Metadata map[string]any      `json:"metadata,omitempty" doc:"More about it."`
}

// OrganizationTarget is what was acted on in an organization.
type OrganizationTarget struct {
	Type  string `json:"type" doc:"What it is."`
	ID    string `json:"id" doc:"Its id."`
	Name  string `json:"name,omitempty" doc:"What people call it."`
	Email string `json:"email,omitempty" doc:"Its address, when it is an account."`
}

// EventType names the event.
func (*OrganizationAudit) EventType() string { return "organizations.audit" }

func organizationsTable() []Entry {
	entry := func(p Payload, doc string) Entry {
		return Entry{Type: p.EventType(), Payload: p, Service: "gateway", Doc: doc}
	}
	return []Entry{
		entry(new(OrganizationCreated), "An organization was made."),
		entry(new(OrganizationUpdated), "An organization was changed."),
		entry(new(OrganizationDeleted), "An organization was deleted."),
		entry(&OrganizationMembers{Verb: Added}, "Accounts became members of an organization."),
		entry(new(OrganizationMemberUpdated), "A member of an organization was changed."),
		entry(&OrganizationMembers{Verb: Removed}, "Accounts are no members of an organization any more."),
		entry(&OrganizationRole{Verb: Created}, "A role of an organization was made."),
		entry(&OrganizationRole{Verb: Updated}, "A role of an organization was changed."),
		entry(&OrganizationRole{Verb: Deleted}, "A role of an organization was deleted."),
		entry(&OrganizationGroup{Verb: Created}, "A group of an organization was made."),
		entry(&OrganizationGroup{Verb: Updated}, "A group of an organization was changed."),
		entry(&OrganizationGroup{Verb: Deleted}, "A group of an organization was deleted."),
		entry(&OrganizationGroupMembers{Verb: Added}, "Accounts came into a group of an organization."),
		entry(&OrganizationGroupMembers{Verb: Removed}, "Accounts left a group of an organization."),
		entry(&OrganizationInvite{Verb: Created}, "Somebody may join an organization."),
		entry(&OrganizationInvite{Verb: Revoked}, "An invitation to an organization was taken back."),
		entry(&OrganizationSubscription{Verb: Created}, "A subscription was made."),
		entry(&OrganizationSubscription{Verb: Updated}, "A subscription was changed."),
		entry(&OrganizationSubscription{Verb: Deleted}, "A subscription was ended."),
		entry(&OrganizationKey{Verb: Created}, "A key of an organization was made."),
		entry(&OrganizationKey{Verb: Updated}, "A key of an organization was changed."),
		entry(&OrganizationKey{Verb: Deleted}, "A key of an organization was deleted."),
		entry(&OrganizationKey{Verb: Rotated}, "A key of an organization was replaced."),
		entry(&OrganizationServiceAccount{Verb: Created}, "A service account of an organization was made."),
		entry(&OrganizationServiceAccount{Verb: Updated}, "A service account of an organization was changed."),
		entry(&OrganizationServiceAccount{Verb: Deleted}, "A service account of an organization was deleted."),
		entry(&OrganizationServiceAccount{Verb: Rotated}, "A service account of an organization got another secret."),
		entry(&OrganizationServiceAccount{Verb: TokenIssued}, "A service account of an organization got a token."),
		entry(new(OrganizationAudit), "A line of the record of an organization."),
	}
}
