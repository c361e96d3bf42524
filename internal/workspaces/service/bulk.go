package service

import (
	"context"

	"atelier/internal/workspaces/internal/bulk"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/versioning"
)

func newBulk(deps Deps, e *engine.Engine, v *versioning.Versioning) *bulk.Bulk {
	return &bulk.Bulk{
		DB: deps.DB, Log: deps.Log, Clock: deps.Clock, IDs: deps.IDs, Door: e.Door, Engine: e, Definitions: e.Definitions, Versioning: v,
		People: deps.People, Platform: deps.Platform, EventMaxLen: deps.EventMaxLen,
	}
}

// Bulk goes on with operations on many workspaces that were interrupted, and imports what the operator wants to be there from
// the start, until the context ends.
func (s *Service) Bulk(ctx context.Context) error { return s.bulk.Run(ctx) }
