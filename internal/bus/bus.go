// Package bus is the contract for the durable event log. A state change and its events commit in one transaction; what
// is acknowledged is on disk; events of one workspace are read in the order they were appended; consumers hold durable
// cursors and see every event at least once; instances share the work by leased partitions with a fencing epoch.
package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"

	"atelier/internal/sqldb"
)

// Partitions is how many ways the log is divided. A workspace lives in one partition for ever; the number is part of
// every stored position, so it never changes.
const Partitions = 16

// Record is an event to append. Body is the stored envelope without id and createdAt, as JSON.
type Record struct {
	WorkspaceID string
	Type        string
	Body        json.RawMessage
	// Transient is an event for those who listen when it happens: consumers get it, searches do not find it, and it is soon
	// removed.
	Transient bool
	// Correlation and User are the request that led to the event and the account that made it, as the body's source says. Searches
	// for one of them are so common that the log has them by themselves.
	Correlation, User string
	// Checked tells that the body is known to be valid: whoever made the record has written it from values, and taken nothing over.
	Checked bool
}

// Event is an appended record.
type Event struct {
	Position    Position
	WorkspaceID string
	Type        string
	Body        json.RawMessage
}

// Position is the place of an event in the log: milliseconds, a counter and the partition in one sortable number. It
// grows strictly within a partition, is unique in the whole log, and reads as the event's public id.
type Position int64

const (
	partitionBits = 6 // room for 64 partitions
	lowBits       = 20
	// maxMillis is where positions end, in the year 2248.
	maxMillis = 1 << (63 - lowBits)
	// Step is the distance between neighbours of one partition.
	Step Position = 1 << partitionBits
)

// PositionAt is the first position of a partition at a time.
func PositionAt(t time.Time, partition int) Position {
	return Position(t.UnixMilli()<<lowBits | int64(partition))
}

// Time is when the event was appended, to the millisecond. Under a burst of more than 16,384 events in one millisecond
// it runs ahead of the clock rather than repeat itself.
func (p Position) Time() time.Time { return time.UnixMilli(int64(p) >> lowBits).UTC() }

// Partition is the partition the position belongs to.
func (p Position) Partition() int { return int(p & (1<<partitionBits - 1)) }

// ID is the public form, {milliseconds}-{sequence}.
func (p Position) ID() string {
	return strconv.FormatInt(int64(p)>>lowBits, 10) + "-" + strconv.FormatInt(int64(p)&(1<<lowBits-1), 10)
}

// ParseID reads the public form; an error tells that the text is not an event id.
func ParseID(id string) (Position, error) {
	head, tail, ok := strings.Cut(id, "-")
	ms, err1 := strconv.ParseInt(head, 10, 64)
	seq, err2 := strconv.ParseInt(tail, 10, 64)
	if !ok || err1 != nil || err2 != nil || ms < 0 || ms >= maxMillis || seq < 0 || seq >= 1<<lowBits {
		return 0, fmt.Errorf("%q is not an event id", id)
	}
	position := Position(ms<<lowBits | seq)
	if position.ID() != id { // one event has one id: no signs, no leading zeros
		return 0, fmt.Errorf("%q is not an event id", id)
	}
	return position, nil
}

// PartitionOf is the partition of a workspace.
func PartitionOf(workspaceID string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(workspaceID))
	return int(h.Sum32() % Partitions)
}

// Log is the event log.
type Log interface {
	// Driver is the log as operators know it: sql or nats.
	Driver() string
	// AppendTx adds the events in the caller's transaction: they exist exactly when it commits. It may be called several
	// times in a transaction. The order of the records of one workspace is kept. Call it late: on PostgreSQL the
	// partitions it touches take no other event until the commit.
	AppendTx(ctx context.Context, tx *sqldb.Tx, records ...Record) ([]Event, error)
	// Append adds the events on their own and returns when they are durable. Concurrent callers share a commit, which no
	// hook of sqldb.WithHook takes part in: use AppendTx where one must.
	Append(ctx context.Context, records ...Record) ([]Event, error)
	// Consume runs the consumer until ctx ends, sharing its partitions with the other instances that run a consumer of
	// the same name. It returns nil when ctx ends and an error only when it can never work.
	Consume(ctx context.Context, consumer Consumer) error
	// Wait returns as soon as a partition holds an event after the position, with the position of its newest one. It is for
	// readers that keep no cursor, such as a live feed.
	Wait(ctx context.Context, partition int, after Position) (Position, error)
	// Lag tells how far a consumer is behind: the number of events it has not acknowledged yet.
	Lag(ctx context.Context, name string) (int64, error)
	// Ping appends nothing and changes nothing that a reader sees, but proves that the log can be written and read.
	Ping(ctx context.Context) error
	// Close stops the log's own workers and waits for them.
	Close() error
}

// ErrIdle is what Handle and HandleTx of a consumer return when there was nothing to do for any of the events. That they were seen is
// then noted once in a while instead of each time: what comes again after a crash is what nothing was done for.
var ErrIdle = errors.New("there was nothing to do for these events")

// Consumer is a durable reader of the log.
type Consumer struct {
	// Name identifies the consumer and its cursors across restarts and instances.
	Name string
	// FromStart makes a consumer that was never seen before begin with the oldest event instead of the next one.
	FromStart bool
	// Batch bounds how many events Handle gets at once; zero means 100.
	Batch int
	// Handle does the work for events of one partition, oldest first. When it returns nil the cursor moves past them;
	// on an error other than ErrIdle the same events come again after a pause. It runs at most once at a time for a partition across the
	// cluster as long as it returns before ctx ends: ctx ends when the lease is lost.
	Handle func(ctx context.Context, events []Event) error
	// HandleTx, instead of Handle, does its work in the transaction that moves the cursor, so its database effects happen
	// exactly once: a holder whose lease was taken over cannot commit.
	HandleTx func(ctx context.Context, tx *sqldb.Tx, events []Event) error
}
