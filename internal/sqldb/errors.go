package sqldb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"

	"atelier/internal/errs"
)

// Kind sorts engine failures by what the caller can do about them.
type Kind int

// The kinds a driver distinguishes by its error codes.
const (
	KindOther Kind = iota
	KindUnique
	KindForeignKey
	KindCheck
	KindRetry       // serialization failure, deadlock, busy: running the transaction again may succeed
	KindFull        // no space left
	KindIO          // the disk failed; nothing written since the last commit can be trusted
	KindUnavailable // the server cannot be reached or is starting or stopping
)

// Error is an engine failure by kind. It unwraps to the API error to show.
type Error struct {
	Kind  Kind
	cause error
}

// Error implements error.
func (e *Error) Error() string { return "database: " + e.cause.Error() }

// Unwrap gives the error to show the client, which in turn holds the cause for the log.
func (e *Error) Unwrap() error {
	switch e.Kind {
	case KindRetry, KindFull, KindIO, KindUnavailable:
		return errs.New(errs.Unavailable, "The storage cannot take this right now; nothing was changed. Try again shortly.").
			WithRetryAfter(retryHint).Because(e.cause)
	case KindUnique, KindForeignKey, KindCheck:
		return errs.New(errs.Conflict, "The change conflicts with what is stored.").Because(e.cause)
	default:
		return errs.New(errs.Database, "A database operation failed. Quote the correlation id when you report it.").Because(e.cause)
	}
}

const retryHint = 1_000_000_000 // one second

var (
	errClosed = errs.New(errs.Unavailable, "The server is stopping; try again shortly.").WithRetryAfter(retryHint)
	errFailed = errs.New(errs.Unavailable, "The storage failed and the server is stopping; nothing was changed.").WithRetryAfter(retryHint)
)

// KindOf is the kind of an error, KindOther for a foreign one.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindOther
}

// IsUnique tells that a unique constraint refused the row.
func IsUnique(err error) bool { return KindOf(err) == KindUnique }

func (db *DB) translate(err error) error {
	if err == nil || errors.Is(err, sql.ErrNoRows) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	kind := db.engine.Kind(err)
	if kind == KindOther && isConnection(err) {
		kind = KindUnavailable
	}
	return &Error{Kind: kind, cause: err}
}

func isConnection(err error) bool {
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) || errors.As(err, &network) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) // the server hung up in the middle of an answer
}
