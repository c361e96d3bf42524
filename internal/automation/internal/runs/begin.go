package runs

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/catalogue"
	"atelier/internal/httpx"
)

// Beginning is what is known of a run when it begins.
type Beginning struct {
	Root          *machine.Home
	Trigger       catalogue.Trigger
	Depth, Hops   int
	CorrelationID string
	Caller        access.Principal
	SocketID, IP  string
	// SourceWorkspaceID and AuthenticatedWorkspaceID are the workspace that a request says it comes from, and the one that it has
	// proved to come from.
	SourceWorkspaceID, AuthenticatedWorkspaceID string
}

// Begin makes the run of a request, which is gone when its process dies, and the context that it is executed with.
func (r *Runs) Begin(ctx context.Context, b Beginning) (context.Context, *machine.Run) {
	return r.begin(ctx, b, plain{db: r.DB})
}

func (r *Runs) begin(ctx context.Context, b Beginning, journal machine.Journal) (context.Context, *machine.Run) {
	if b.CorrelationID == "" {
		b.CorrelationID = r.IDs.Timed(r.Clock.Now())
	}
	run := &machine.Run{
		Root: b.Root, Trigger: b.Trigger, Depth: b.Depth, Hops: b.Hops, CorrelationID: b.CorrelationID, Caller: b.Caller,
		SocketID: b.SocketID, IP: b.IP, SourceWorkspaceID: b.SourceWorkspaceID, AuthenticatedWorkspaceID: b.AuthenticatedWorkspaceID,
		Started: r.Clock.Now(), Journal: journal,
	}
	run.Scopes = r.Contexts.Open(run)
	return asCaller(ctx, b), run
}

// asCaller is a context that carries the caller and the request, as envelope and access look for them. What is known of a request
// that is being served stays.
func asCaller(ctx context.Context, b Beginning) context.Context {
	return access.As(httpx.Onward(ctx, b.CorrelationID, b.IP), b.Caller)
}
