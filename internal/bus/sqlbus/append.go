package sqlbus

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
	"unsafe"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// AppendTx adds the events in the caller's transaction. Call it late in the transaction: on PostgreSQL the partitions it
// touches take no other event until the commit.
func (l *Log) AppendTx(ctx context.Context, tx *sqldb.Tx, records ...bus.Record) ([]bus.Event, error) {
	if err := check(records); err != nil {
		return nil, err
	}
	events, err := l.appendTx(ctx, tx, records)
	if err != nil {
		return nil, fmt.Errorf("append events: %w", err)
	}
	l.heads.expect()
	return events, nil
}

// check refuses what one of the engines could not store, so that a bad record fails alone and not in a shared commit.
func check(records []bus.Record) error {
	for _, r := range records {
		if !isText(r.WorkspaceID) || !isText(r.Type) {
			return errs.New(errs.InvalidRequest, "An event's workspace and type must be valid text.")
		}
		if !r.Checked && (!json.Valid(r.Body) || !utf8.Valid(r.Body)) {
			return errs.New(errs.InvalidRequest, "An event's body must be valid JSON in UTF-8.").With("type", r.Type)
		}
	}
	return nil
}

func isText(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// appendTx reserves positions partition by partition in ascending order, so that no two transactions that each append
// once wait for one another, and stores the events in the order of the records.
func (l *Log) appendTx(ctx context.Context, tx *sqldb.Tx, records []bus.Record) ([]bus.Event, error) {
	now := l.clock.Now()
	events := make([]bus.Event, len(records))
	type part struct {
		count int
		next  bus.Position
	}
	parts := make([]part, bus.Partitions)
	for i, r := range records {
		events[i] = bus.Event{WorkspaceID: r.WorkspaceID, Type: r.Type, Body: r.Body}
		parts[bus.PartitionOf(r.WorkspaceID)].count++
	}
	for partition := range parts {
		part := &parts[partition]
		if part.count == 0 {
			continue
		}
		var err error
		if part.next, err = reserve(ctx, tx, now, partition, part.count); err != nil {
			return nil, fmt.Errorf("reserve positions: %w", err)
		}
	}
	for i := range events {
		part := &parts[bus.PartitionOf(events[i].WorkspaceID)]
		events[i].Position = part.next
		part.next += bus.Step
	}
	return events, l.inserts.insert(ctx, tx, events, records)
}

// reserve takes count positions of a partition and returns the first. They are at or after now, and after everything
// given out before, whatever the clock does. The row stays locked until the commit, so the positions of a partition
// become visible in their order and a reader never passes one that is still to come.
func reserve(ctx context.Context, tx *sqldb.Tx, now time.Time, partition, count int) (bus.Position, error) {
	const query = `UPDATE bus_heads
		SET last_pos = CASE WHEN last_pos + $1 > $2 THEN last_pos + $1 ELSE $2 END
		WHERE partition = $3 RETURNING last_pos`
	rest := bus.Step * bus.Position(count-1)
	var last bus.Position
	err := tx.QueryRow(ctx, query, int64(rest+bus.Step), int64(bus.PositionAt(now, partition)+rest), partition).Scan(&last)
	return last - rest, err
}

// inserter stores events, many to a statement. Powers of two keep the number of different statements small, so that each of
// them is written, and understood by the database, once.
type inserter []string

const (
	insertSizes   = 6 // up to 32 events: others work between two statements
	insertColumns = 8
)

func newInserter(driver string) inserter {
	texts := make(inserter, insertSizes)
	for i := range texts {
		texts[i] = insertSQL(driver, 1<<i)
	}
	return texts
}

// insertSQL is the statement for so many events. SQLite looks a parameter with a name up among all the others, each time.
func insertSQL(driver string, events int) string {
	var text strings.Builder
	text.WriteString(`INSERT INTO bus_events (partition, pos, workspace_id, type, body, transient, correlation_id, user_id) VALUES `)
	for parameter := range events * insertColumns {
		switch {
		case parameter == 0:
			text.WriteByte('(')
		case parameter%insertColumns == 0:
			text.WriteString(`),(`)
		default:
			text.WriteByte(',')
		}
		if driver == "sqlite" {
			text.WriteByte('?')
		} else {
			text.WriteString("$" + strconv.Itoa(parameter+1))
		}
	}
	text.WriteByte(')')
	return text.String()
}

// insert stores the events; records are what they were made of.
func (texts inserter) insert(ctx context.Context, tx *sqldb.Tx, events []bus.Event, records []bus.Record) error {
	args := make([]any, 0, min(len(events), 1<<(len(texts)-1))*insertColumns)
	for which := len(texts) - 1; len(events) > 0; {
		size := 1 << which
		if size > len(events) {
			which--
			continue
		}
		args = args[:0]
		for i, e := range events[:size] {
			r := records[i]
			args = append(args, e.Position.Partition(), int64(e.Position), e.WorkspaceID, e.Type, text(e.Body), flag(r.Transient), some(r.Correlation), some(r.User))
		}
		if _, err := tx.Exec(ctx, texts[which], args...); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		events, records = events[size:], records[size:]
	}
	return nil
}

// text is a body as text. Nobody changes it any more.
func text(body []byte) string { return unsafe.String(unsafe.SliceData(body), len(body)) } //nolint:gosec // a copy of every event costs more than its insert

func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// some is a text, or NULL when there is none.
func some(text string) any {
	if text == "" {
		return nil
	}
	return text
}
