package webhooks

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/events/internal/query"
	"atelier/internal/sqldb"
)

// matcher decides which events a subscription is told of.
type matcher struct {
	id     string
	since  int64
	exact  map[string]bool
	starts []string
	any    bool
	filter query.Filter
	order  string
}

func newMatcher(s *Subscription) (*matcher, error) {
	filter, err := compile(s.Filters)
	if err != nil {
		return nil, err
	}
	m := &matcher{id: s.ID, since: s.since, exact: map[string]bool{}, any: len(s.Types) == 0, filter: filter, order: s.OrderBy}
	for _, t := range s.Types {
		if start, open := strings.CutSuffix(t, "*"); open {
			m.starts = append(m.starts, start)
		} else {
			m.exact[t] = true
		}
	}
	return m, nil
}

// matches tells whether an event is one of the subscription's, whenever it happened.
func (m *matcher) matches(d *query.Document) bool {
	eventType := d.Stored().Type
	if !m.any && !m.exact[eventType] && !slices.ContainsFunc(m.starts, func(start string) bool { return strings.HasPrefix(eventType, start) }) {
		return false
	}
	return m.filter.Match(d)
}

// orderKey is the same for events that are delivered one after another; empty when the order does not matter.
func (m *matcher) orderKey(d *query.Document) string {
	if m.order == "" {
		return ""
	}
	values := d.Values(m.order)
	if len(values) == 0 {
		return ""
	}
	text, err := json.Marshal(values)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// set is the subscriptions of a workspace, as they were at a revision.
type set struct {
	revision int64
	matchers []*matcher
}

// delivered tells whether an event is ever told of: not those of webhooks themselves, which could go round for ever, not those
// that are for the platform alone, and not those that are not to be stored.
func delivered(e bus.Event) (envelope.Event, bool, error) {
	if kind, _ := catalogue.Find(e.Type); strings.HasPrefix(e.Type, ownEvents) || kind.Inside || kind.Transient {
		return envelope.Event{}, false, nil
	}
	event, err := envelope.Read(e)
	if err != nil {
		return event, false, err
	}
	stored := event.Options == nil || event.Options.Persist == nil || *event.Options.Persist
	return event, stored, nil
}

// found is an event that a subscription is to be told of.
type found struct {
	matcher *matcher
	event   bus.Event
	key     string
	// round tells that the event has gone round too often to be sent.
	round bool
}

// match queues the deliveries of events. It runs in the transaction that moves the cursor of the log's consumer, so every
// event is queued once for every subscription that it matches.
func (w *Webhooks) match(ctx context.Context, tx *sqldb.Tx, events []bus.Event) error {
	sets, err := w.setsOf(ctx, tx, events)
	if err != nil {
		return err
	}
	if len(sets) == 0 {
		return bus.ErrIdle
	}
	var all []found
	messages := map[bus.Position]message{}
	for _, e := range events {
		known := sets[e.WorkspaceID]
		if known == nil || len(known.matchers) == 0 {
			continue
		}
		event, ok, err := delivered(e)
		if err != nil {
			w.Log.WarnContext(ctx, "an event cannot be read, and is not delivered", "event_id", e.Position.ID(), "error", err.Error())
			continue
		}
		if !ok {
			continue
		}
		d := query.Read(e)
		for _, m := range known.matchers {
			if int64(e.Position) > m.since && m.matches(d) {
				all = append(all, found{matcher: m, event: e, key: m.orderKey(d), round: event.Source.Hops >= maxHops})
			}
		}
		if len(all) > 0 && all[len(all)-1].event.Position == e.Position {
			messages[e.Position] = message{workspaceID: e.WorkspaceID, pos: e.Position, eventType: e.Type, body: written(event)}
		}
	}
	if len(all) == 0 {
		return bus.ErrIdle
	}
	if err := w.enqueue(ctx, tx, all, messages); err != nil {
		return err
	}
	w.nudge()
	return nil
}

// written is an event as it is sent.
func written(event envelope.Event) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(event) // it came from JSON
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// setsOf gives the subscriptions of the workspaces that the events are of, from memory where they have not changed.
func (w *Webhooks) setsOf(ctx context.Context, tx *sqldb.Tx, events []bus.Event) (map[string]*set, error) {
	var ids []any
	seen := map[string]bool{}
	for _, e := range events {
		if !seen[e.WorkspaceID] {
			seen[e.WorkspaceID] = true
			ids = append(ids, e.WorkspaceID)
		}
	}
	type revision struct {
		workspaceID string
		number      int64
	}
	revisions, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (r revision, err error) { return r, rows.Scan(&r.workspaceID, &r.number) },
		`SELECT workspace_id, revision FROM ev_subscription_sets WHERE workspace_id IN (`+sqldb.In(1, len(ids))+`)`, ids...)
	if err != nil {
		return nil, err
	}
	sets := make(map[string]*set, len(revisions))
	for _, r := range revisions {
		if sets[r.workspaceID], err = w.setOf(ctx, tx, r.workspaceID, r.number); err != nil {
			return nil, err
		}
	}
	return sets, nil
}

func (w *Webhooks) setOf(ctx context.Context, tx *sqldb.Tx, workspaceID string, revision int64) (*set, error) {
	w.mu.Lock()
	known := w.sets[workspaceID]
	w.mu.Unlock()
	if known != nil && known.revision == revision {
		return known, nil
	}
	subscriptions, err := list(ctx, tx, workspaceID, 0, maxSubscriptions)
	if err != nil {
		return nil, err
	}
	known = &set{revision: revision}
	for i := range subscriptions {
		if subscriptions[i].State != Active {
			continue
		}
		m, err := newMatcher(&subscriptions[i])
		if err != nil { // filters that an older release took; whoever changes them is told
			w.Log.WarnContext(ctx, "the filters of a subscription are not understood; it gets nothing", "subscription_id", subscriptions[i].ID, "error", err.Error())
			continue
		}
		known.matchers = append(known.matchers, m)
	}
	w.mu.Lock()
	w.sets[workspaceID] = known
	w.mu.Unlock()
	return known, nil
}
