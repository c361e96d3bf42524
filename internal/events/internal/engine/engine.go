// Package engine holds the use cases of the events service. Permission is checked here, below every way in.
package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events"
	"atelier/internal/events/internal/store"
	"atelier/internal/sqldb"
)

// Engine is the events service without its HTTP.
type Engine struct {
	DB     *sqldb.DB
	Bus    bus.Log
	Access *access.Enforcer
	// Resolve gives the id of the workspace that a caller names by its id, or by slug: and its slug. What names no workspace
	// comes back as it is: no workspace has that id.
	Resolve func(ctx context.Context, r sqldb.Reader, ref string) (string, error)
	MaxLen  int
	// Index finds events.
	Index store.Index
	// SearchTimeout is how long a search may take; zero does not limit.
	SearchTimeout time.Duration
}

// Emit stores events in the order given; all of them or, when one is refused, none. They are durable when it returns.
func (e *Engine) Emit(ctx context.Context, ref string, emitted []envelope.Event) ([]envelope.Event, error) {
	v, err := e.visit(ctx, ref)
	if err != nil {
		return nil, err
	}
	records := make([]bus.Record, 0, len(emitted))
	for i := range emitted {
		event := &emitted[i]
		if len(event.Payload) == 0 {
			event.Payload = json.RawMessage("{}")
		}
		if err := v.checkEmit(*event); err != nil {
			return nil, err
		}
		if err := events.CheckType(event.Type, fmt.Sprintf("events[%d].type", i)); err != nil {
			return nil, err
		}
		if err := events.CheckPayload(event.Payload, fmt.Sprintf("events[%d].payload", i)); err != nil {
			return nil, err
		}
		record, err := envelope.Custom(ctx, v.workspaceID, event.Type, *event, e.MaxLen)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	stored, err := e.append(ctx, records)
	if err != nil {
		return nil, errs.Wrap(err, "store events")
	}
	out := make([]envelope.Event, 0, len(stored))
	for i, s := range stored {
		said := envelope.Emitted(ctx, s, emitted[i])
		if !bytes.Equal(s.Body, records[i].Body) { // something was taken out of it
			if said, err = envelope.Read(s); err != nil {
				return nil, err
			}
		}
		out = append(out, said)
	}
	return out, nil
}

// append stores the records. Many callers share a commit unless something of this one has to be in it too.
func (e *Engine) append(ctx context.Context, records []bus.Record) (stored []bus.Event, err error) {
	if !sqldb.Hooked(ctx) {
		return e.Bus.Append(ctx, records...)
	}
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		stored, err = e.Bus.AppendTx(ctx, tx, records...)
		return err
	})
	return stored, err
}
