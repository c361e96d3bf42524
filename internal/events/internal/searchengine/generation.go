package searchengine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Look makes sure that there is an index, that nobody removed a part of it, and notes when it is complete. Follow does it all the
// time.
func (e *Engine) Look(ctx context.Context) error {
	_, err := e.prepare(ctx)
	return err
}

// Built tells that the index is complete, so that searches use it.
func (e *Engine) Built(ctx context.Context) (bool, error) {
	s, err := e.state(ctx)
	return s.built, err
}

// name is the index as the database knows it.
func (e *Engine) name() string {
	layout := "shared"
	if e.config.PerWorkspace {
		layout = "workspace"
	}
	return strings.Join([]string{e.config.Driver, layout, e.shared()}, ":")
}

// state is what the database knows of the index.
type state struct {
	generation string
	started    int64
	built      bool
}

// state reads it; it is empty when there was never an index.
func (e *Engine) state(ctx context.Context) (s state, err error) {
	var built int
	err = e.DB.QueryRow(ctx, `SELECT generation, started_at, built FROM events_index WHERE name = $1`, e.name()).Scan(&s.generation, &s.started, &built)
	if sqldb.IsNotFound(err) {
		return s, nil
	}
	s.built = built == 1
	return s, errs.Wrap(err, "read the state of the index of events")
}

// part is an index of the engine.
type part struct {
	name, uuid, generation string
}

// prepare makes sure that there is an index and that nobody removed a part of it, and tells its generation. An index that lacks
// something is begun anew.
func (e *Engine) prepare(ctx context.Context) (generation string, err error) {
	s, err := e.state(ctx)
	if err != nil {
		return "", err
	}
	parts, err := e.parts(ctx)
	if err != nil {
		return "", err
	}
	known, err := e.known(ctx)
	if err != nil {
		return "", err
	}
	whole := s.generation != ""
	for uuid, dropped := range known {
		whole = whole && (dropped || slices.ContainsFunc(parts, func(p part) bool { return p.uuid == uuid }))
	}
	if !whole {
		if s, err = e.begin(ctx, s, parts, known); err != nil {
			return "", err
		}
	}
	return s.generation, e.keep(ctx, s, !whole)
}

// keep completes the index of a generation.
func (e *Engine) keep(ctx context.Context, s state, begun bool) error {
	e.mu.Lock()
	another := e.generation != s.generation
	e.mu.Unlock()
	if another || begun {
		e.forget()
		if err := e.putTemplate(ctx, s.generation); err != nil {
			return err
		}
		e.mu.Lock()
		e.generation = s.generation
		clear(e.epochs)
		e.mu.Unlock()
	}
	if _, err := e.ensure(ctx, e.shared()); err != nil {
		return err
	}
	parts, err := e.parts(ctx)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if p.generation != s.generation {
			return foreign(p)
		}
		err := e.exec(ctx, `INSERT INTO events_index_parts (name, uuid, dropped) VALUES ($1, $2, 0) ON CONFLICT (name, uuid) DO NOTHING`, e.name(), p.uuid)
		if err != nil {
			return errs.Wrap(err, "note a part of the index of events")
		}
	}
	return e.finish(ctx, s)
}

// foreign refuses to touch what this installation did not make.
func foreign(p part) error {
	return fmt.Errorf("the search engine has an index %s that this installation did not make: set another EVENTS_STORAGE_NAMESPACE, or delete it", p.name)
}

// begin begins a new generation: what is left of the last one is removed, and everything is taken from the log again.
func (e *Engine) begin(ctx context.Context, old state, parts []part, known map[string]bool) (s state, err error) {
	for _, p := range parts {
		if _, ours := known[p.uuid]; !ours && p.generation != old.generation {
			return s, foreign(p)
		}
	}
	if old.generation != "" {
		e.Log.WarnContext(ctx, "a part of the index of events is gone; it is built anew from the log", "driver", e.config.Driver, "stream", e.shared())
	}
	s = state{generation: e.IDs.UUID(), started: e.Clock.Now().UnixMilli()}
	err = e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `INSERT INTO events_index (name, generation, started_at, built) VALUES ($1, $2, $3, 0)
			ON CONFLICT (name) DO UPDATE SET generation = $2, started_at = $3, built = 0 WHERE events_index.generation = $4`, e.name(), s.generation, s.started, old.generation)
		if err != nil {
			return err
		}
		if n == 0 {
			return errors.New("another instance has just begun the index of events anew")
		}
		if _, err := tx.Exec(ctx, `DELETE FROM events_index_parts WHERE name = $1`, e.name()); err != nil {
			return err
		}
		// Until the indices of the last generation are removed they are ours, and no part of this one.
		for _, p := range parts {
			if _, err := tx.Exec(ctx, `INSERT INTO events_index_parts (name, uuid, dropped) VALUES ($1, $2, 1)`, e.name(), p.uuid); err != nil {
				return err
			}
		}
		for _, table := range []string{"bus_cursors", "bus_members"} {
			if _, err := tx.Exec(ctx, `DELETE FROM `+table+` WHERE consumer = $1`, consumerOf(old.generation)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return s, errs.Wrap(err, "begin the index of events")
	}
	return s, e.erase(ctx)
}

// erase removes the indices.
func (e *Engine) erase(ctx context.Context) error {
	plain, err := e.withoutStreams(ctx)
	if err != nil {
		return err
	}
	if plain {
		parts, err := e.parts(ctx)
		if err != nil {
			return err
		}
		for _, p := range parts {
			if err := gone(e.client.do(ctx, http.MethodDelete, "/"+p.name, nil, nil)); err != nil {
				return err
			}
		}
		return nil
	}
	streams, err := e.list(ctx)
	if err != nil {
		return err
	}
	for _, stream := range streams {
		if err := gone(e.client.do(ctx, http.MethodDelete, "/_data_stream/"+stream, nil, nil)); err != nil {
			return err
		}
	}
	return nil
}

// gone is no error when what was to be removed is not there.
func gone(err error) error {
	if statusOf(err) == http.StatusNotFound {
		return nil
	}
	return err
}

// skew is how far the clocks of instances may differ.
const skew = time.Minute

// finish notes that the index has everything that the log had when it was begun.
func (e *Engine) finish(ctx context.Context, s state) error {
	if s.built {
		return nil
	}
	begun := time.UnixMilli(s.started).Add(skew)
	reached, err := e.Reached(ctx, bus.PositionAt(begun, 0))
	if err != nil || !reached {
		return err
	}
	if err := e.Refresh(ctx); err != nil {
		return err
	}
	err = e.exec(ctx, `UPDATE events_index SET built = 1 WHERE name = $1 AND generation = $2`, e.name(), s.generation)
	return errs.Wrap(err, "note that the index of events is complete")
}

// parts lists the indices that there are. Those of the same name that have nothing to do with events are left out.
func (e *Engine) parts(ctx context.Context) ([]part, error) {
	var found map[string]struct {
		Mappings struct {
			Meta struct {
				Generation string `json:"generation"`
			} `json:"_meta"`
		} `json:"mappings"`
		Settings struct {
			Index struct {
				UUID string `json:"uuid"`
			} `json:"index"`
		} `json:"settings"`
	}
	err := e.client.do(ctx, http.MethodGet, "/"+e.places("", true)+"?"+lenient+"&expand_wildcards=all&filter_path=*.mappings._meta,*.settings.index.uuid", nil, &found)
	if statusOf(err) == http.StatusNotFound {
		return nil, nil
	}
	var parts []part
	for _, name := range slices.Sorted(maps.Keys(found)) {
		p := part{name: name, uuid: found[name].Settings.Index.UUID, generation: found[name].Mappings.Meta.Generation}
		if p.generation != "" || !e.config.PerWorkspace {
			parts = append(parts, p)
		}
	}
	return parts, err
}

// known are the indices that there must be, and those that were dropped.
func (e *Engine) known(ctx context.Context) (map[string]bool, error) {
	type row struct {
		uuid    string
		dropped bool
	}
	rows, err := sqldb.All(ctx, e.DB, func(rows *sql.Rows) (r row, err error) {
		var dropped int
		err = rows.Scan(&r.uuid, &dropped)
		r.dropped = dropped == 1
		return r, err
	}, `SELECT uuid, dropped FROM events_index_parts WHERE name = $1`, e.name())
	all := make(map[string]bool, len(rows))
	for _, r := range rows {
		all[r.uuid] = r.dropped
	}
	return all, errs.Wrap(err, "read the parts of the index of events")
}

// list lists the streams that there are.
func (e *Engine) list(ctx context.Context) ([]string, error) {
	plain, err := e.withoutStreams(ctx)
	if err != nil {
		return nil, err
	}
	if plain {
		return e.aliases(ctx)
	}
	var found struct {
		Streams []struct {
			Name     string `json:"name"`
			Template string `json:"template"`
		} `json:"data_streams"`
	}
	if err := gone(e.client.do(ctx, http.MethodGet, "/_data_stream/"+e.places("", true), nil, &found)); err != nil {
		return nil, err
	}
	var names []string
	for _, stream := range found.Streams {
		if stream.Template == e.shared() { // others have nothing to do with events
			names = append(names, stream.Name)
		}
	}
	return names, nil
}

// aliases are what stands for streams where there are none.
func (e *Engine) aliases(ctx context.Context) ([]string, error) {
	var found map[string]struct {
		Aliases map[string]any `json:"aliases"`
	}
	if err := gone(e.client.do(ctx, http.MethodGet, "/"+e.places("", true)+"/_alias?"+lenient, nil, &found)); err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, index := range found {
		for name := range index.Aliases {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), nil
}
