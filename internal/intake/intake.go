// Package intake is where events enter the log. Whatever a service emits, what must not be stored is taken out of it first, and
// an event of the platform that is too large is made to fit or replaced: no emitter has to think of it.
package intake

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// Settings are what holds for events on their way into the log.
type Settings struct {
	// MaxLen is the largest event of the platform in characters, ExecutedMaxLen the largest runtime.automations.executed; zero is
	// no limit. Events of users are refused before they come here.
	MaxLen, ExecutedMaxLen int
	// Exempt are prefixes of types that need not be in the catalogue, though they are the platform's.
	Exempt []string
	// Rules say what is taken out.
	Rules Rules
}

// Log is a log that looks at events before it stores them.
type Log struct {
	bus.Log
	settings Settings
}

// Guard makes a log look at events before it stores them.
func Guard(log bus.Log, settings Settings) *Log { return &Log{Log: log, settings: settings} }

// AppendTx adds the events in the caller's transaction, as they may be stored.
func (l *Log) AppendTx(ctx context.Context, tx *sqldb.Tx, records ...bus.Record) ([]bus.Event, error) {
	admitted, err := l.admit(records)
	if err != nil {
		return nil, err
	}
	return l.Log.AppendTx(ctx, tx, admitted...)
}

// Append adds the events on their own, as they may be stored.
func (l *Log) Append(ctx context.Context, records ...bus.Record) ([]bus.Event, error) {
	admitted, err := l.admit(records)
	if err != nil {
		return nil, err
	}
	return l.Log.Append(ctx, admitted...)
}

// admit gives the records as they may be stored. The caller's are left as they are.
func (l *Log) admit(records []bus.Record) ([]bus.Record, error) {
	admitted := make([]bus.Record, len(records))
	for i, r := range records {
		one, err := l.one(r)
		if err != nil {
			return nil, err
		}
		admitted[i] = one
	}
	return admitted, nil
}

func (l *Log) one(r bus.Record) (bus.Record, error) {
	_, native := catalogue.Find(r.Type)
	if !native && l.invented(r.Type) {
		return r, fmt.Errorf("there is no event %q in the catalogue", r.Type)
	}
	var err error
	if r.Body, err = l.settings.Rules.redact(r.Type, native, r.Body); err != nil || !native {
		return r, err
	}
	most := l.limit(r.Type)
	if most == 0 || len(r.Body) <= most || utf8.RuneCount(r.Body) <= most { // a character has at least one byte
		return r, nil
	}
	if r.Type == catalogue.ExecutedType {
		if stripped, fits := strip(r.Body, most); fits {
			r.Body = stripped
			return r, nil
		}
	}
	return envelope.TooLarge(r, most)
}

func (l *Log) limit(eventType string) int {
	if eventType == catalogue.ExecutedType {
		return l.settings.ExecutedMaxLen
	}
	return l.settings.MaxLen
}

// invented tells that a type is the platform's, though it has no line in the catalogue, and needs one.
func (l *Log) invented(eventType string) bool {
	_, reserved := catalogue.Reserved(eventType)
	return reserved && !l.exempt(eventType)
}

func (l *Log) exempt(eventType string) bool {
	for _, prefix := range l.settings.Exempt {
		if prefix != "" && strings.HasPrefix(eventType, prefix) {
			return true
		}
	}
	return false
}
