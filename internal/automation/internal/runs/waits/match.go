package waits

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"time"
	"unicode/utf8"

	"atelier/internal/bus"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// Want is an event that ends a wait.
type Want struct {
	Type string
	// Filters are what holds for the event, by path.
	Filters *value.Object
	// CancelTriggers keeps the event from starting automations.
	CancelTriggers bool
}

// Wanted are the events of which one ends a wait.
type Wanted []Want

// stored form of a Want.
type written struct {
	Type           string          `json:"type"`
	Filters        json.RawMessage `json:"filters,omitempty"`
	CancelTriggers bool            `json:"cancelTriggers,omitempty"`
}

const maxWanted = 1 << 20 // bytes of what one wait may want

func (w Wanted) text() (string, error) {
	all := make([]written, len(w))
	for i, one := range w {
		all[i] = written{Type: one.Type, CancelTriggers: one.CancelTriggers}
		if one.Filters != nil {
			text, ok := value.JSON(one.Filters, "", maxWanted)
			if !ok {
				return "", errors.New("the filters of a wait are too large")
			}
			all[i].Filters = json.RawMessage(text)
		}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

func parseWanted(text string) (Wanted, error) {
	var all []written
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	out := make(Wanted, len(all))
	for i, one := range all {
		out[i] = Want{Type: one.Type, CancelTriggers: one.CancelTriggers}
		if len(one.Filters) == 0 {
			continue
		}
		filters, err := value.Decode(string(one.Filters))
		if err != nil {
			return nil, err
		}
		out[i].Filters, _ = filters.(*value.Object)
	}
	return out, nil
}

func (w Wanted) types() map[string]bool {
	types := make(map[string]bool, len(w))
	for _, one := range w {
		types[one.Type] = true
	}
	return types
}

// match tells whether an event is wanted, and whether it may still start automations then.
func (w Wanted) match(eventType string, event *value.Object) (cancel, ok bool) {
	for _, one := range w {
		if one.Type == eventType && one.Holds(event) {
			return one.CancelTriggers, true
		}
	}
	return false, false
}

// Value is an event as automations see it.
func Value(e bus.Event) (*value.Object, error) {
	decoded, err := value.Decode(string(e.Body))
	if err != nil {
		return nil, err
	}
	body, ok := decoded.(*value.Object)
	if !ok {
		return nil, errors.New("an event is not an object")
	}
	out := value.NewObject(body.Len() + 4)
	out.Set("id", e.Position.ID())
	out.Set("type", e.Type)
	out.Set("createdAt", e.Position.Time().Format(time.RFC3339Nano))
	out.Set("size", float64(utf8.RuneCount(e.Body)))
	for key, v := range body.All() {
		out.Set(key, v)
	}
	return out, nil
}

// Match is an event that somebody waits for.
type Match struct {
	// ID is that of the wait.
	ID    string
	Event bus.Event
	// CancelTriggers keeps the event from starting automations, when the wait is fulfilled by it.
	CancelTriggers bool

	value *value.Object
}

// candidate is a wait that is open.
type candidate struct {
	id, workspaceID string
	wanted          Wanted
	since           bus.Position
	expires         int64
}

// Find tells which of some events somebody waits for, in the order of the events. They are of one partition.
func (s *Store) Find(ctx context.Context, events []bus.Event) ([]Match, error) {
	open, err := s.candidates(ctx, events)
	if err != nil || len(open) == 0 {
		return nil, err
	}
	var found []Match
	for _, e := range events {
		var event *value.Object
		for _, c := range open[key{e.WorkspaceID, e.Type}] {
			if e.Position <= c.since || sqldb.Millis(e.Position.Time()) > c.expires {
				continue
			}
			if event == nil {
				if event, err = Value(e); err != nil {
					break // no automation could read it
				}
			}
			if cancel, ok := c.wanted.match(e.Type, event); ok {
				found = append(found, Match{ID: c.id, Event: e, CancelTriggers: cancel, value: event})
			}
		}
	}
	return found, nil
}

type key struct{ workspaceID, eventType string }

// candidates reads the open waits that are about the workspaces and types of events.
func (s *Store) candidates(ctx context.Context, events []bus.Event) (map[key][]candidate, error) {
	workspaces, types := distinct(events)
	args := append(append(make([]any, 0, len(workspaces)+len(types)), workspaces...), types...)
	rows, err := sqldb.All(ctx, s.DB, scanCandidate, `SELECT w.id, w.workspace_id, w.wanted, w.since, w.expires_at
		FROM run_wait_types t JOIN run_waits w ON w.id = t.wait_id
		WHERE t.workspace_id IN (`+sqldb.In(1, len(workspaces))+`) AND t.type IN (`+sqldb.In(len(workspaces)+1, len(types))+`) AND w.state = 'pending'`, args...)
	if err != nil {
		return nil, err
	}
	out, seen := map[key][]candidate{}, map[string]bool{}
	for _, c := range rows {
		if seen[c.id] {
			continue
		}
		seen[c.id] = true
		for eventType := range c.wanted.types() {
			k := key{c.workspaceID, eventType}
			out[k] = append(out[k], c)
		}
	}
	return out, nil
}

func distinct(events []bus.Event) (workspaces, types []any) {
	seen := map[key]bool{}
	for _, e := range events {
		if k := (key{workspaceID: e.WorkspaceID}); !seen[k] {
			seen[k] = true
			workspaces = append(workspaces, e.WorkspaceID)
		}
		if k := (key{eventType: e.Type}); !seen[k] {
			seen[k] = true
			types = append(types, e.Type)
		}
	}
	return workspaces, types
}

func scanCandidate(rows *sql.Rows) (c candidate, err error) {
	var text string
	if err := rows.Scan(&c.id, &c.workspaceID, &text, &c.since, &c.expires); err != nil {
		return c, err
	}
	c.wanted, err = parseWanted(text)
	return c, err
}

// Fulfil ends a wait with an event; false when it was over. Whoever calls it calls Told after the commit.
func (s *Store) Fulfil(ctx context.Context, tx *sqldb.Tx, m Match) (bool, error) {
	const most = 64 << 20 // more than any event
	text, _ := value.JSON(m.value, "", most)
	n, err := tx.Exec(ctx, `UPDATE run_waits SET state = 'fulfilled', event = $1 WHERE id = $2 AND state = 'pending'`, text, m.ID)
	if err != nil || n == 0 {
		return false, err
	}
	_, err = tx.Exec(ctx, `DELETE FROM run_wait_types WHERE wait_id = $1`, m.ID)
	return true, err
}

// Forget removes the waits of runs that are done.
func Forget(ctx context.Context, tx *sqldb.Tx, runIDs []any) error {
	ids, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (id any, err error) {
		var text string
		err = rows.Scan(&text)
		return text, err
	}, `DELETE FROM run_waits WHERE run_id IN (`+sqldb.In(1, len(runIDs))+`) RETURNING id`, runIDs...)
	if err != nil || len(ids) == 0 {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM run_wait_types WHERE wait_id IN (`+sqldb.In(1, len(ids))+`)`, ids...)
	return err
}

// at follows a path of keys and indexes joined by dots.
func at(event *value.Object, path string) any {
	var v any = event
	for key := range strings.SplitSeq(path, ".") {
		v = value.Get(v, key)
	}
	return v
}
