package machine

import (
	"context"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Run is what all automations have in common that one trigger started.
type Run struct {
	// Root is the workspace that runs.
	Root *Home
	// Trigger is what started it; Depth is how many automations led to it by events and calls.
	Trigger catalogue.Trigger
	Depth   int
	// CorrelationID is the same for all that came of one request.
	CorrelationID string
	// Caller is who acts. SocketID is the connection it came through, IP its public address.
	Caller                                      access.Principal
	SocketID, IP                                string
	SourceWorkspaceID, AuthenticatedWorkspaceID string
	// Hops is how many webhooks, one after the other, led to it.
	Hops    int
	Started time.Time
	// Scopes are the variables that outlive an automation.
	Scopes Scopes
	// Journal remembers the effects of a run that is begun anew when its process dies.
	Journal Journal
	// Trace takes every step; nil when nobody wants to see them.
	Trace *Trace
	// LastEvent is the id of the newest event that the run emitted; empty without one. Emit sets it, wait looks back to it.
	LastEvent Latest
	// Answer, when it is set, is told what became of the automation as soon as it has ended: Execute itself returns when what
	// the automation started beside the run has ended too.
	Answer func(Result)

	state state
}

// Journal does the effects of a run on the platform, each of them once. The run of an endpoint that dies is gone, and its journal
// keeps nothing; one that an event or a schedule started is begun anew, and what it did in an earlier life is not done again.
type Journal interface {
	// Once does an effect and the note of it in one transaction. What do gives back is noted too, as JSON of values, and given
	// back instead when the effect was done before. Place names the effect in the run.
	Once(ctx context.Context, place string, do func(ctx context.Context, tx *sqldb.Tx) (any, error)) (any, error)
	// Durable tells that the run is begun anew when its process dies.
	Durable() bool
	// RunID is the id of a durable run; empty for others.
	RunID() string
}

// Scopes are the variables that outlive an automation: run, user, session, socket and global. Package contexts makes them.
type Scopes interface {
	// Get gives the value of a context, with what is computed for the frame put over it. It is asked for roots that Has knows.
	Get(f *Frame, root string) (any, error)
	// Has tells whether a name is that of a context, config among them.
	Has(root string) bool
	// Change changes a context, and returns when that is kept.
	Change(f *Frame, change Change) error
	// Identity is who acts now: set user.id and session.id change it.
	Identity() access.Principal
	// Prolong keeps the run context for longer, because the run waits.
	Prolong(ctx context.Context, d time.Duration) error
}

// Change is what set and delete do to a context.
type Change struct {
	// Kind is replace, merge, push or delete.
	Kind string
	// Root is the context, Path the keys below it.
	Root string
	Path []string
	// Value is what is set. Apply gives the new value of the whole context from the old one: the rules of set and delete.
	Value any
	Apply func(old any) (any, error)
}

// Sink is a variable that takes what is set to it instead of keeping it: $http.
type Sink interface {
	Push(f *Frame, v any) error
}

// Source is a value that comes bit by bit, as the body of an answer that streams does. A repeat reads it.
type Source interface {
	// Next waits for the next item; it is false at the end.
	Next(ctx context.Context) (item any, ok bool, err error)
	// Close gives up the rest.
	Close() error
}

// Payload makes the payload of a trigger.
func Payload(pairs ...any) *value.Object {
	o := value.NewObject(len(pairs) / 2)
	for i := 0; i+1 < len(pairs); i += 2 {
		if key, ok := pairs[i].(string); ok {
			o.Set(key, pairs[i+1])
		}
	}
	return o
}
