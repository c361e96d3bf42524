package engine

import (
	"context"
	"sync"
	"sync/atomic"

	"atelier/internal/access"
)

// Reading is what a caller may read of a workspace's events while it listens to them. It is the same decision as that of Open,
// taken event by event, and what the rules say can be looked at again.
type Reading struct {
	engine *Engine
	// caller holds who listens; nothing but its values is used.
	caller context.Context //nolint:containedctx // rules may ask for any of its values as long as the caller listens
	place  visit           // without an ability: that of this moment is below
	// ability decides; nil when everything may be read, so that thousands who listen cost little.
	ability atomic.Pointer[access.Ability]
	// joined are the topics that the caller came into since the rules were last looked at.
	mu     sync.Mutex
	joined []string
}

// Listen tells what the caller may read. Somebody who may read nothing is refused.
func (e *Engine) Listen(ctx context.Context, ref string) (*Reading, error) {
	v, err := e.visit(ctx, ref)
	if err != nil {
		return nil, err
	}
	r := &Reading{engine: e, caller: context.WithoutCancel(ctx), place: visit{ref: v.ref, workspaceID: v.workspaceID}}
	return r, r.take(v.ability)
}

// WorkspaceID is the workspace.
func (r *Reading) WorkspaceID() string { return r.place.workspaceID }

// Allow tells whether the caller may read an event.
func (r *Reading) Allow(event access.Object) bool {
	ability := r.ability.Load()
	return ability == nil || ability.Decide(access.ActionRead, access.SubjectEvents, placed{event, r.place.workspaceID}).Allowed
}

// Again looks at the rules anew. It gives the refusal when nothing may be read any more.
func (r *Reading) Again(ctx context.Context) error {
	r.mu.Lock()
	r.joined = nil // what was stored before this look, it finds
	r.mu.Unlock()
	ability, err := r.engine.Access.Load(SpeakingFor(ctx, r.caller), r.engine.DB, r.place.workspaceID)
	if err != nil {
		return err
	}
	return r.take(ability)
}

// Note takes the news of an event that changes what may be read: the caller has come into a topic, and what is meant for the
// topic may follow at once.
func (r *Reading) Note(event access.Object) {
	if from, _ := event.Field("source.serviceTopic"); from == access.TopicEmit {
		return // somebody only says so
	}
	user, _ := event.Field("payload.user.id")
	topic, _ := event.Field("payload.topic")
	name, ok := topic.(string)
	if caller := access.From(r.caller).UserID; !ok || name == "" || caller == "" || user != caller {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.joined = append(r.joined, name)
	if ability := r.ability.Load(); ability != nil {
		r.ability.Store(ability.WithTopic(name))
	}
}

func (r *Reading) take(ability *access.Ability) error {
	readable, err := ability.Filter(access.ActionRead, access.SubjectEvents, columns(access.Dialect(r.engine.DB.Driver()), r.place.workspaceID))
	if err != nil {
		return err
	}
	if readable.Nothing || readable.Everything { // with everything comes the question whether there is such a workspace
		if err := ability.Check(access.ActionRead, access.SubjectEvents, nil); err != nil {
			return r.place.asNamed(err)
		}
	}
	if readable.Everything {
		r.ability.Store(nil)
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, topic := range r.joined {
		ability = ability.WithTopic(topic)
	}
	r.ability.Store(ability)
	return nil
}

// placed is an event of which the workspace is known, as it is to the list of events.
type placed struct {
	access.Object
	workspaceID string
}

// Field implements access.Object.
func (p placed) Field(path string) (any, bool) {
	if path == "source.workspaceId" {
		return p.workspaceID, true
	}
	return p.Object.Field(path)
}

// SpeakingFor is a context that ends as one does and speaks for the caller of another.
func SpeakingFor(ctx, caller context.Context) context.Context { return speaking{ctx, caller} }

type speaking struct {
	context.Context //nolint:containedctx // it is one
	caller          context.Context
}

// Value gives what is known of the caller.
func (s speaking) Value(key any) any { return s.caller.Value(key) }
