package recorder

import (
	"context"
	"errors"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// write appends records, through failures that may pass; false when ctx ended before.
func (r *Recorder) write(ctx context.Context, batch []bus.Record) bool {
	for {
		_, err := r.log.Append(ctx, batch...)
		if err == nil {
			return true
		}
		if !passing(err) {
			return r.writeSingly(ctx, batch, err)
		}
		r.logger.WarnContext(ctx, "technical events cannot be written; trying again", "events", len(batch), "error", err)
		if !r.rest(ctx) {
			return false
		}
	}
}

// writeSingly writes the records of a batch of which one cannot be stored, so that it fails alone.
func (r *Recorder) writeSingly(ctx context.Context, batch []bus.Record, cause error) bool {
	if len(batch) == 1 {
		r.logger.ErrorContext(ctx, "a technical event cannot be stored, and is left out", "type", batch[0].Type, "workspace_id", batch[0].WorkspaceID, "error", cause)
		return true
	}
	for i := range batch {
		if !r.write(ctx, batch[i:i+1]) {
			return false
		}
	}
	return true
}

// passing tells that the same records may be taken later.
func passing(err error) bool {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	switch sqldb.KindOf(err) {
	case sqldb.KindRetry, sqldb.KindFull, sqldb.KindIO, sqldb.KindUnavailable:
		return true
	default:
		return errs.CodeOf(err) == errs.Unavailable
	}
}

// rest waits a moment; false when ctx ended.
func (r *Recorder) rest(ctx context.Context) bool {
	timer := r.clock.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
