// Package engine holds the use cases of the events service. Permission is checked here, below every way in.
package engine

import (
	"context"
	"encoding/json"
	"fmt"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/events"
	"atelier/internal/sqldb"
)

// Engine is the events service without its HTTP.
type Engine struct {
	DB     *sqldb.DB
	Bus    bus.Log
	MaxLen int
}

// Emit stores events in the order given; all of them or, when one is refused, none. They are durable when it returns.
func (e *Engine) Emit(ctx context.Context, workspaceID string, emitted []envelope.Event) ([]envelope.Event, error) {
	if err := access.Require(ctx, e.DB, workspaceID, access.Owner, access.Editor); err != nil {
		return nil, err
	}
	records := make([]bus.Record, 0, len(emitted))
	for i, event := range emitted {
		if err := events.CheckType(event.Type, fmt.Sprintf("events[%d].type", i)); err != nil {
			return nil, err
		}
		if len(event.Payload) == 0 {
			event.Payload = json.RawMessage("{}")
		}
		record, err := envelope.Custom(ctx, workspaceID, event.Type, event, e.MaxLen)
		if err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	var stored []bus.Event
	err := e.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		stored, err = e.Bus.AppendTx(ctx, tx, records...)
		return err
	})
	if err != nil {
		return nil, errs.Wrap(err, "store events")
	}
	return read(stored)
}

// Page reads events of a workspace. An event is there as soon as its emitter has the answer.
func (e *Engine) Page(ctx context.Context, workspaceID string, query sqlbus.PageQuery) ([]envelope.Event, error) {
	if err := access.Require(ctx, e.DB, workspaceID, access.Owner, access.Editor); err != nil {
		return nil, err
	}
	stored, err := sqlbus.Page(ctx, e.DB, workspaceID, query)
	if err != nil {
		return nil, err
	}
	return read(stored)
}

// Count tells how many events of a workspace match, up to MaxCount.
func (e *Engine) Count(ctx context.Context, workspaceID string, query sqlbus.PageQuery) (int, error) {
	if err := access.Require(ctx, e.DB, workspaceID, access.Owner, access.Editor); err != nil {
		return 0, err
	}
	return sqlbus.Count(ctx, e.DB, workspaceID, query, MaxCount)
}

// MaxCount is where counting stops: more than that is not a list that anybody pages through.
const MaxCount = 10_000

func read(stored []bus.Event) ([]envelope.Event, error) {
	out := make([]envelope.Event, 0, len(stored))
	for _, s := range stored {
		event, err := envelope.Read(s)
		if err != nil {
			return nil, err
		}
		out = append(out, event)
	}
	return out, nil
}
