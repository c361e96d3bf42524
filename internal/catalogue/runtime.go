package catalogue

import (
	"time"

	"atelier/internal/errs"
)

// Trigger is what started an automation.
type Trigger struct {
	Type            string `json:"type" enum:"event,endpoint,schedule,automation" doc:"What kind of trigger it was."`
	Value           string `json:"value" doc:"The event, the endpoint, the schedule or the automation."`
	ID              string `json:"id,omitempty" doc:"The id of the event."`
	AppInstanceSlug string `json:"appInstanceSlug,omitempty" doc:"The app instance that it belongs to."`
}

// Interaction is the payload of runtime.interactions.triggered and runtime.schedules.triggered.
type Interaction struct {
	// Scheduled tells that a schedule started it.
	Scheduled                bool      `json:"-"`
	WorkspaceID              string    `json:"workspaceId" doc:"The workspace."`
	SourceWorkspaceID        string    `json:"sourceWorkspaceId,omitempty" doc:"The workspace that the call came from."`
	AuthenticatedWorkspaceID string    `json:"authenticatedWorkspaceId,omitempty" doc:"The workspace that the caller is signed in to."`
	Automation               string    `json:"automation" doc:"The automation that runs."`
	Trigger                  Trigger   `json:"trigger" doc:"What started it."`
	StartedAt                time.Time `json:"startedAt" doc:"When it began."`
}

// EventType names the event.
func (e *Interaction) EventType() string {
	if e.Scheduled {
		return "runtime.schedules.triggered"
	}
	return "runtime.interactions.triggered"
}

// SchedulesCreated is the payload of runtime.schedules.created.
type SchedulesCreated struct {
	Slug      string   `json:"slug" doc:"The automation."`
	Schedules []string `json:"schedules" doc:"Its schedules."`
	Details   any      `json:"details,omitempty" doc:"More about it."`
}

// EventType names the event.
func (*SchedulesCreated) EventType() string { return "runtime.schedules.created" }

// ExecutedType is the technical event of an automation that was run.
const ExecutedType = "runtime.automations.executed"

// AutomationExecuted is the payload of runtime.automations.executed. Fields that make it too large are replaced by
// LARGE_CONTENT_STRIPPED, and payload and output are removed after some time.
type AutomationExecuted struct {
	Slug      string      `json:"slug" doc:"The automation."`
	Trigger   Trigger     `json:"trigger" doc:"What started it."`
	Payload   any         `json:"payload,omitempty" doc:"What it was called with."`
	Output    any         `json:"output,omitempty" doc:"What it gave back."`
	Duration  int64       `json:"duration" doc:"How many milliseconds it took."`
	Throttled int64       `json:"throttled,omitempty" doc:"How many milliseconds it was held back."`
	StartedAt time.Time   `json:"startedAt" doc:"When it began."`
	Break     bool        `json:"break" doc:"Whether it was left early."`
	Error     *errs.Shown `json:"error,omitempty" doc:"Why it failed."`
}

// EventType names the event.
func (*AutomationExecuted) EventType() string { return ExecutedType }

// Wait is the payload of runtime.waits.pending and runtime.waits.fulfilled.
type Wait struct {
	Verb      Verb      `json:"-"`
	ID        string    `json:"id" doc:"The wait."`
	ExpiresAt time.Time `json:"expiresAt,omitzero" doc:"When it is given up."`
	Wait      any       `json:"wait,omitempty" doc:"What is waited for."`
	Event     any       `json:"event,omitempty" doc:"The event that came."`
}

// EventType names the event.
func (e *Wait) EventType() string { return "runtime.waits." + string(e.Verb) }

// FetchFailed is the payload of runtime.fetch.failed.
type FetchFailed struct {
	Request  any            `json:"request" doc:"What was asked."`
	Response *FetchResponse `json:"response,omitempty" doc:"What was answered."`
	Error    *FetchError    `json:"error,omitempty" doc:"Why there is no answer, or no good one."`
}

// FetchResponse is the answer to a request.
type FetchResponse struct {
	Status  int            `json:"status" doc:"Its status."`
	Body    any            `json:"body,omitempty" doc:"Its body."`
	Headers map[string]any `json:"headers,omitempty" doc:"Its headers."`
}

// FetchError is why a request failed.
type FetchError struct {
	errs.Shown
	Status int `json:"status,omitempty" doc:"The status of the answer."`
}

// EventType names the event.
func (*FetchFailed) EventType() string { return "runtime.fetch.failed" }

// CollectionsUpdated is the payload of workspaces.collections.updated.
type CollectionsUpdated struct {
	Namespace     string `json:"namespace" doc:"The workspace, and the app instance that the collection belongs to when there is one."`
	WorkspaceID   string `json:"workspaceId" doc:"The workspace."`
	AppSlug       string `json:"appSlug,omitempty" doc:"The app."`
	Collection    string `json:"collection" doc:"The collection."`
	OldCollection string `json:"oldCollection,omitempty" doc:"Its former name, when it was renamed."`
	Schema        any    `json:"schema,omitempty" doc:"All of its definition."`
	Properties    any    `json:"properties,omitempty" doc:"Its fields."`
	Indexes       any    `json:"indexes,omitempty" doc:"Its indexes."`
	Uniques       any    `json:"uniques,omitempty" doc:"What must be unique."`
}

// EventType names the event.
func (*CollectionsUpdated) EventType() string { return "workspaces.collections.updated" }

// DSULUpdated is the payload of runtime.dsul.updated.
type DSULUpdated struct {
	WorkspaceID string `json:"workspaceId" doc:"The workspace whose definition was taken over."`
	Duration    int64  `json:"duration,omitempty" doc:"How many milliseconds it took."`
	Reason      string `json:"reason,omitempty" doc:"Why."`
}

// EventType names the event.
func (*DSULUpdated) EventType() string { return "runtime.dsul.updated" }

// ContextsUpdated is the payload of runtime.contexts.updated, by which instances of the runtime keep each other's contexts.
type ContextsUpdated struct {
	EmitterID string          `json:"emitterId" doc:"The instance that changed them."`
	Updates   []ContextUpdate `json:"updates" doc:"The changes, in their order."`
}

// ContextUpdate is a change of a context.
type ContextUpdate struct {
	Type     string   `json:"type" enum:"replace,merge,push,delete" doc:"What was done."`
	Path     []string `json:"path" doc:"Where, in the context."`
	FullPath string   `json:"fullPath" doc:"Where, with the context."`
	Context  string   `json:"context" doc:"The context."`
	Value    any      `json:"value,omitempty" doc:"What is there now."`
	CacheID  string   `json:"cacheId,omitempty" doc:"The copy that was changed."`
}

// EventType names the event.
func (*ContextsUpdated) EventType() string { return "runtime.contexts.updated" }

func runtimeTable() []Entry {
	entry := func(eventType string, p Payload, use Use, doc string) Entry {
		return Entry{Type: eventType, Payload: p, Service: "runtime", Use: use, Doc: doc}
	}
	return []Entry{
		entry("runtime.interactions.triggered", new(Interaction), Starting, "An automation was started from outside the runtime."),
		entry("runtime.schedules.triggered", &Interaction{Scheduled: true}, Reading, "A schedule started an automation."),
		entry("runtime.schedules.created", new(SchedulesCreated), Reading, "An automation has schedules."),
		entry(ExecutedType, new(AutomationExecuted), Waiting, "An automation was run."),
		{
			Type: "runtime.contexts.updated", Payload: new(ContextsUpdated), Service: "runtime", Doc: "Contexts have changed; nobody may read it but the runtime.",
			Transient: true, Inside: true,
		},
		entry("runtime.waits.pending", &Wait{Verb: Pending}, Reading, "An automation waits for an event."),
		entry("runtime.waits.fulfilled", &Wait{Verb: Fulfilled}, Reading, "The event came that an automation waited for."),
		entry("runtime.fetch.failed", new(FetchFailed), Starting, "A request of an automation failed."),
		entry("workspaces.collections.updated", new(CollectionsUpdated), Reading, "The definition of a collection has changed."),
		entry("runtime.dsul.updated", new(DSULUpdated), Reading, "The runtime has taken over the definition of a workspace."),
		entry("runtime.jwks.updated", &KeysUpdated{Service: "runtime"}, Reading, "The keys that sign tokens have changed; every runtime reads them anew."),
	}
}
