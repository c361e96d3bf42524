package catalogue

const errorType = "error"

// Error is the payload of error: something that went wrong in a workspace without anybody waiting for it.
type Error struct {
	Type    string         `json:"type,omitempty" doc:"What it is about; the type of an event that was not stored."`
	Error   string         `json:"error,omitempty" doc:"The code."`
	Message string         `json:"message" doc:"What happened, for people."`
	Details map[string]any `json:"details,omitempty" doc:"More about it."`
	Stripped
}

// EventType names the event.
func (*Error) EventType() string { return errorType }

// Cleaned is the payload of events.cleaned.
type Cleaned struct {
	Job     string `json:"job" doc:"Which job it was."`
	Report  any    `json:"report,omitempty" doc:"What was removed."`
	Updated int64  `json:"updated,omitempty" doc:"How many events were stripped."`
}

// EventType names the event.
func (*Cleaned) EventType() string { return "events.cleaned" }

// Subscription is the payload of events.subscriptions.*, but for tests. It says neither the address, which may hold a secret, nor
// the headers.
type Subscription struct {
	Verb Verb `json:"-"`
	Audited
	SubscriptionID string   `json:"subscriptionId" doc:"The subscription."`
	Description    string   `json:"description" doc:"What it is for."`
	Types          []string `json:"types" doc:"The types of events that it is of."`
	State          string   `json:"state" doc:"Whether it is delivered to."`
	Reason         string   `json:"reason,omitempty" doc:"Why it is not."`
}

// EventType names the event.
func (e *Subscription) EventType() string { return "events.subscriptions." + string(e.Verb) }

// SubscriptionTested is the payload of events.subscriptions.tested.
type SubscriptionTested struct {
	SubscriptionID string `json:"subscriptionId" doc:"The subscription."`
	Message        string `json:"message" doc:"What a receiver may show."`
}

// EventType names the event.
func (*SubscriptionTested) EventType() string { return "events.subscriptions.tested" }

// UserTopicCreated is the payload of events.userTopics.created: a name under which events can be meant for several people.
type UserTopicCreated struct {
	Topic   string   `json:"topic" doc:"Its name."`
	UserIDs []string `json:"userIds,omitempty" doc:"Who is in it."`
}

// EventType names the event.
func (*UserTopicCreated) EventType() string { return "events.userTopics.created" }

// UserTopicJoined is the payload of events.userTopics.joined.
type UserTopicJoined struct {
	User  TopicUser `json:"user" doc:"Who came into it."`
	Topic string    `json:"topic" doc:"Its name."`
}

// TopicUser is somebody in a topic.
type TopicUser struct {
	ID string `json:"id" doc:"The account."`
}

// EventType names the event.
func (*UserTopicJoined) EventType() string { return "events.userTopics.joined" }

func eventsTable() []Entry {
	entry := func(eventType string, p Payload, doc string) Entry {
		return Entry{Type: eventType, Payload: p, Service: "events", Doc: doc}
	}
	return []Entry{
		entry("events.cleaned", new(Cleaned), "Old events were removed."),
		entry("events.subscriptions.created", &Subscription{Verb: Created}, "A webhook was made."),
		entry("events.subscriptions.updated", &Subscription{Verb: Updated}, "A webhook was changed."),
		entry("events.subscriptions.rotated", &Subscription{Verb: Rotated}, "A webhook got another secret."),
		entry("events.subscriptions.deleted", &Subscription{Verb: Deleted}, "A webhook was deleted."),
		entry("events.subscriptions.disabled", &Subscription{Verb: Disabled}, "A webhook was turned off because nothing arrived, or because its maker may not read the events any more."),
		entry("events.subscriptions.tested", new(SubscriptionTested), "Somebody tries a webhook."),
		entry("events.userTopics.created", new(UserTopicCreated), "There is a topic that events can be meant for."),
		entry("events.userTopics.joined", new(UserTopicJoined), "Somebody came into a topic."),
		entry(errorType, new(Error), "Something went wrong in a workspace."),
	}
}
