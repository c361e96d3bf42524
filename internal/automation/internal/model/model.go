// Package model keeps workspaces ready to run: each is compiled once, with the apps that are installed in it, and used until
// something changes of which it is made. Whether it does is asked anew every time, so that nobody runs what is no more.
package model

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
)

// Source is where definitions come from.
type Source interface {
	// Stamp tells whether anything has changed of which a tree with these apps is made, in one query. A workspace that does not
	// exist is resource_not_found; one in the bin does.
	Stamp(ctx context.Context, workspaceID string, apps []string) (assembly.Stamp, error)
	// Load reads a workspace with everything that it is made of.
	Load(ctx context.Context, workspaceID string) (*assembly.Tree, error)
}

// Builtin is an app that is part of the platform.
type Builtin struct {
	Slug string
	// Methods makes the automations of an instance of it.
	Methods func(home *machine.Home) map[string]func(*machine.Frame, *value.Object) (any, error)
}

// Deps is what models need.
type Deps struct {
	Log    *slog.Logger
	Source Source
	// Instructions are the language.
	Instructions machine.Instructions
	// Builtins are the apps of the platform, by slug.
	Builtins map[string]Builtin
	// Addresses are those that automations are told.
	Addresses Addresses
	// Environ gives the environment variables that begin with a prefix, by the rest of their names; nil when there are none.
	Environ func(prefix string) map[string]string
	// Changes is a number that is another one as soon as anything may have changed of which models are made; nil when nobody can tell
	// without asking the source.
	Changes func() int64
	// MaxBytes is how much the models take that are kept, about.
	MaxBytes int64
}

// Models compiles workspaces, and keeps them. It is safe for concurrent use, and has no goroutine of its own.
type Models struct {
	deps Deps
	// kept are models by workspace, units what they are made of by the text.
	kept     *otter.Cache[string, *Model]
	units    *otter.Cache[unitKey, *unit]
	making   singleflight.Group
	variable *value.Object
}

// defaultBytes is what is kept when nobody says how much.
const defaultBytes = 256 << 20

// New makes models that have compiled nothing yet.
func New(deps Deps) (*Models, error) {
	if deps.MaxBytes <= 0 {
		deps.MaxBytes = defaultBytes
	}
	most := uint64(deps.MaxBytes/2/weightUnit) + 1 //nolint:gosec // it is positive
	kept, err := otter.New(&otter.Options[string, *Model]{
		MaximumWeight: most, Weigher: func(_ string, m *Model) uint32 { return weight(m.size, most) },
	})
	if err != nil {
		return nil, fmt.Errorf("the cache of models: %w", err)
	}
	units, err := otter.New(&otter.Options[unitKey, *unit]{
		MaximumWeight: most, Weigher: func(_ unitKey, u *unit) uint32 { return weight(u.size, most) },
	})
	if err != nil {
		return nil, fmt.Errorf("the cache of automations: %w", err)
	}
	return &Models{deps: deps, kept: kept, units: units, variable: additional(deps.Environ)}, nil
}

// What things weigh in the caches.
const (
	// weightUnit is how many bytes weigh one.
	weightUnit = 1 << 10
	// perByte is how many bytes a byte of a definition takes when it is compiled, about.
	perByte = 12
	// empty is how much there is to a workspace without documents.
	empty = 8 << 10
)

// weight is that of something made of so many bytes of text. Nothing weighs more than the cache holds: it would be made anew
// every time.
func weight(size int64, most uint64) uint32 {
	return uint32(min(uint64(size*perByte+empty)/weightUnit+1, most, 1<<31)) //nolint:gosec // it is bounded, and no size is negative
}

// Of gives a workspace as it is now. One that does not exist is resource_not_found.
func (m *Models) Of(ctx context.Context, workspaceID string) (*Model, error) {
	model, there := m.kept.GetIfPresent(workspaceID)
	changes := m.changes()
	if there && changes != unknown && model.seen.Load() == changes {
		return model, nil
	}
	for {
		var apps []string
		if there {
			apps = model.apps
		}
		stamp, err := m.deps.Source.Stamp(ctx, workspaceID, apps)
		if err != nil {
			if errs.CodeOf(err) == errs.NotFound {
				m.kept.Invalidate(workspaceID)
			}
			return nil, err
		}
		if there && stamp == model.stamp {
			model.seen.Store(changes)
			return model, nil
		}
		// Whoever has seen the same stamp shares the work, which began after it was seen. Those who only joined look once more:
		// an app that they could not ask about may have changed meanwhile.
		made, err, shared := m.making.Do(workspaceID+"\n"+fmt.Sprint(stamp), func() (any, error) {
			return m.make(context.WithoutCancel(ctx), workspaceID)
		})
		if err != nil {
			return nil, err
		}
		model, there = made.(*Model)
		if !shared {
			return model, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// unknown is what nobody can tell.
const unknown = -1

// changes is the number of changes so far; unknown when nobody counts.
func (m *Models) changes() int64 {
	if m.deps.Changes == nil {
		return unknown
	}
	return m.deps.Changes()
}

// make compiles a workspace, and keeps it.
func (m *Models) make(ctx context.Context, workspaceID string) (*Model, error) {
	tree, err := m.deps.Source.Load(ctx, workspaceID)
	if err != nil {
		return nil, err
	}
	for _, skipped := range tree.Skipped {
		m.deps.Log.WarnContext(ctx, "left out of a workspace", "workspace_id", workspaceID, "document", skipped.What, "app", skipped.App, "reason", skipped.Reason)
	}
	model := (&builder{models: m, ctx: ctx, tree: tree}).model()
	model.seen.Store(unknown)
	m.kept.Set(workspaceID, model)
	return model, nil
}

// Model is a workspace that is ready to run. It is never changed.
type Model struct {
	Root *machine.Home
	// Suspended tells that nothing may run, and why; Deleted that the workspace is in the bin.
	Suspended       bool
	SuspendedReason string
	Deleted         bool

	stamp assembly.Stamp
	apps  []string
	size  int64
	root  *hall
	// seen is the number of changes at which it was last found to be as it is stored.
	seen atomic.Int64
}
