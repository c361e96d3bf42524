// Package envelope is the shape of an event: what every service writes when something happened and what every reader gets.
package envelope

import (
	"bytes"
	"context"
	"encoding/json"
	"time"
	"unicode/utf8"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// CustomTopic is the topic of events that users emit; native events have their type as topic.
const CustomTopic = "topic:runtime:emit"

// Event is an event as clients see it.
type Event struct {
	ID        string          `json:"id" doc:"Sortable by time; the place in the stream." example:"1757668991388-0"`
	Type      string          `json:"type" doc:"What happened."`
	CreatedAt time.Time       `json:"createdAt" doc:"When it was stored."`
	Size      int             `json:"size" doc:"The length of the stored event, in characters."`
	Payload   json.RawMessage `json:"payload" doc:"What the event says."`
	Source    Source          `json:"source" doc:"Where it comes from; set by the platform."`
	Target    *Target         `json:"target,omitempty" doc:"Whom the event is meant for; rules can refer to it."`
	Options   *Options        `json:"options,omitempty" doc:"How it is handled."`
	Error     *Failure        `json:"error,omitempty" doc:"What went wrong, where something did."`
}

// Failure is what went wrong in what an event tells of.
type Failure struct {
	Error   string         `json:"error" doc:"The code."`
	Message string         `json:"message" doc:"What happened, for people."`
	Details map[string]any `json:"details,omitempty" doc:"More about it."`
	Level   string         `json:"level,omitempty" enum:"warning,error,fatal" doc:"How bad it is."`
}

// Source says where an event comes from.
type Source struct {
	WorkspaceID   string `json:"workspaceId,omitempty"`
	UserID        string `json:"userId,omitempty"`
	SessionID     string `json:"sessionId,omitempty"`
	IP            string `json:"ip,omitempty"`
	CorrelationID string `json:"correlationId,omitempty"`
	SocketID      string `json:"socketId,omitempty" doc:"The connection it was emitted through."`
	ServiceTopic  string `json:"serviceTopic,omitempty"`
	Hops          int    `json:"hops,omitempty" doc:"How many webhooks, one after the other, led to it."`
	Host          *Host  `json:"host,omitempty"`
	Run
}

// Run says which automation, and which app of the workspace, an event comes from. Depth 0 is the workspace itself.
type Run struct {
	AutomationSlug      string `json:"automationSlug,omitempty"`
	AutomationDepth     *int   `json:"automationDepth,omitempty"`
	AppSlug             string `json:"appSlug,omitempty"`
	AppInstanceFullSlug string `json:"appInstanceFullSlug,omitempty"`
	AppInstanceDepth    *int   `json:"appInstanceDepth,omitempty"`
}

// Host is the emitting service.
type Host struct {
	Service string `json:"service"`
}

// Target narrows or widens who may read an event.
type Target struct {
	UserTopic     string `json:"userTopic,omitempty" maxLength:"200"`
	UserID        string `json:"userId,omitempty" maxLength:"100"`
	SessionID     string `json:"sessionId,omitempty" maxLength:"100"`
	CurrentSocket *bool  `json:"currentSocket,omitempty"`
}

// Options say how an event is handled.
type Options struct {
	Persist    *bool `json:"persist,omitempty" doc:"Whether the event is stored, which it is unless this is false: then only those who listen get it."`
	AggPayload bool  `json:"aggPayload,omitempty" doc:"Make numbers in the payload available to aggregations."`
	Async      bool  `json:"async,omitempty" doc:"Accepted for older clients; events are stored before the answer either way."`
}

// body is what is stored: the event without what the log itself knows.
type body struct {
	Payload any      `json:"payload"`
	Source  Source   `json:"source"`
	Target  *Target  `json:"target,omitempty"`
	Options *Options `json:"options,omitempty"`
	Error   *Failure `json:"error,omitempty"`
}

// transient tells that the event is not to be stored.
func (o *Options) transient() bool { return o != nil && o.Persist != nil && !*o.Persist }

// Native makes the record of something a service did for the caller of ctx. A payload that is not the catalogue's is an error.
func Native(ctx context.Context, service, workspaceID string, payload catalogue.Payload) (bus.Record, error) {
	return NativeFrom(ctx, service, workspaceID, payload, Origin{})
}

// Origin is where in a run of the workspace an event comes from, beside what the context says of its caller.
type Origin struct {
	Run
	// SocketID is the connection that started the run, Hops how many webhooks led to it.
	SocketID string
	Hops     int
}

// NativeFrom is Native for something that an automation did.
func NativeFrom(ctx context.Context, service, workspaceID string, payload catalogue.Payload, origin Origin) (bus.Record, error) {
	if err := catalogue.Check(payload); err != nil {
		return bus.Record{}, err
	}
	eventType := payload.EventType()
	entry, _ := catalogue.Find(eventType)
	source := sourceOf(ctx, workspaceID)
	source.ServiceTopic, source.Host = eventType, &Host{Service: service}
	source.Run, source.SocketID, source.Hops = origin.Run, origin.SocketID, origin.Hops
	var made bus.Record
	var err error
	if writer, ok := payload.(catalogue.Writer); ok {
		made, err = written(workspaceID, eventType, writer, &source)
	} else {
		made, err = record(workspaceID, eventType, body{Payload: payload, Source: source})
	}
	made.Transient = entry.Transient
	return made, err
}

// Act is a security-relevant act: what it was done to, and how that looked before and after. Secrets have no place in it.
type Act struct {
	// Payload is that of the event. What it does not say of the actor and the target is added.
	Payload catalogue.Act
	// TargetType and TargetID are what was acted on.
	TargetType, TargetID string
	// Before and After show what changed; nil when there is nothing to show.
	Before, After any
}

// Audit makes the record of a security-relevant act of the caller of ctx.
func Audit(ctx context.Context, service, workspaceID string, act Act) (bus.Record, error) {
	said := act.Payload.Audit()
	if said.Actor == nil {
		said.Actor = actor(access.From(ctx))
	}
	if said.Target == nil {
		said.Target = &catalogue.Target{Type: act.TargetType, ID: act.TargetID}
	}
	if act.Before != nil || act.After != nil {
		said.Changes = &catalogue.Changes{Before: act.Before, After: act.After}
	}
	return Native(ctx, service, workspaceID, act.Payload)
}

func actor(p access.Principal) *catalogue.Actor {
	who := catalogue.Actor{
		Kind: string(p.Kind), UserID: p.UserID, SessionID: p.SessionID, Credential: string(p.Credential), KeyID: p.KeyID, SuperAdmin: p.SuperAdmin,
	}
	if p.Kind == access.Nobody {
		who.Kind = "nobody"
	}
	return &who
}

// TooLarge makes the record of the event that takes the place of one of the platform which has more characters than it may: an
// error of the same origin, which says which event it was.
func TooLarge(r bus.Record, maxLen int) (bus.Record, error) {
	was := body{Payload: new(json.RawMessage)}
	if err := json.Unmarshal(r.Body, &was); err != nil {
		return r, err
	}
	said := catalogue.Error{
		Type: r.Type, Error: tooLarge, Message: "An event was too large to be stored.",
		Details: map[string]any{"eventType": r.Type, "eventSize": utf8.RuneCount(r.Body), "maxSize": maxLen},
	}
	was.Source.ServiceTopic = said.EventType()
	made, err := record(r.WorkspaceID, said.EventType(), body{Payload: said, Source: was.Source, Target: was.Target, Options: was.Options})
	made.Transient = r.Transient
	return made, err
}

// tooLarge is the reason of an event that is.
const tooLarge = "EventTooLarge"

// Custom makes the record of an event that the caller of ctx emits. More than maxLen characters is validation_failed.
func Custom(ctx context.Context, workspaceID, eventType string, e Event, maxLen int) (bus.Record, error) {
	made, err := record(workspaceID, eventType, body{Payload: e.Payload, Source: emitter(ctx, workspaceID, e), Target: e.Target, Options: e.Options})
	if err != nil {
		return made, err
	}
	made.Transient = e.Options.transient()
	if size := utf8.RuneCount(made.Body); size > maxLen {
		return made, errs.Invalid(errs.Field{Field: "payload", Message: "the event is too large; make the payload smaller"}).
			With("reason", tooLarge).With("eventType", eventType).With("eventSize", size).With("maxSize", maxLen)
	}
	return made, nil
}

// Emitted is what Read gives of an event that Custom made the record of, and that the caller of ctx has just stored: the stored
// text need not be read for it.
func Emitted(ctx context.Context, stored bus.Event, e Event) Event {
	return Event{
		ID: stored.Position.ID(), Type: stored.Type, CreatedAt: stored.Position.Time(), Size: utf8.RuneCount(stored.Body),
		Payload: e.Payload, Source: emitter(ctx, stored.WorkspaceID, e), Target: e.Target, Options: e.Options,
	}
}

// emitter is the source of an event that the caller of ctx emits.
func emitter(ctx context.Context, workspaceID string, e Event) Source {
	source := sourceOf(ctx, workspaceID)
	source.ServiceTopic = CustomTopic
	source.SocketID, source.Hops = e.Source.SocketID, e.Source.Hops
	return source
}

// record makes the stored text. HTML in it is not escaped: that would make six characters of one, and so an event of a
// page too large long before it is.
func record(workspaceID, eventType string, b body) (bus.Record, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(b)
	return bus.Record{
		WorkspaceID: workspaceID, Type: eventType, Body: bytes.TrimSuffix(text.Bytes(), []byte("\n")),
		Correlation: b.Source.CorrelationID, User: b.Source.UserID,
	}, err
}

func sourceOf(ctx context.Context, workspaceID string) Source {
	p, info := access.From(ctx), httpx.InfoFrom(ctx)
	source := Source{WorkspaceID: workspaceID, UserID: p.UserID, SessionID: p.SessionID, CorrelationID: info.CorrelationID}
	if info.Client.IsValid() && !info.Client.IsPrivate() && !info.Client.IsLoopback() && !info.Client.IsLinkLocalUnicast() {
		source.IP = info.Client.String()
	}
	return source
}

// Read gives the stored event as clients see it.
func Read(e bus.Event) (Event, error) {
	var payload json.RawMessage
	b := body{Payload: &payload}
	if err := json.Unmarshal(e.Body, &b); err != nil {
		return Event{}, errs.Wrap(err, "read a stored event")
	}
	return Event{
		ID: e.Position.ID(), Type: e.Type, CreatedAt: e.Position.Time(), Size: utf8.RuneCount(e.Body),
		Payload: payload, Source: b.Source, Target: b.Target, Options: b.Options, Error: b.Error,
	}, nil
}
