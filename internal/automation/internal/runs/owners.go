package runs

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"atelier/internal/sqldb"
)

// owner is this instance among those that run automations, and what it has seen of the others. An instance is believed dead when its
// beats stand still for a time that this one measures itself: no two clocks are compared.
type owner struct {
	mu sync.Mutex
	id string

	// Those below are the heart's: what it has seen of the others, and when it looked last.
	seen   map[string]sighting
	looked time.Time
}

type sighting struct {
	beats int64
	since time.Time
}

func (o *owner) get() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id
}

func (o *owner) set(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.id = id
}

// enter makes this instance one of those that run automations.
func (r *Runs) enter(ctx context.Context) error {
	id := r.IDs.UUID()
	r.owner.seen = map[string]sighting{}
	err := r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if r.Settings.Alone {
			if err := orphan(ctx, tx, `owner <> ''`); err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `DELETE FROM run_owners`); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO run_owners (id, beats) VALUES ($1, 1)`, id)
		return err
	})
	if err != nil {
		return fmt.Errorf("enter among the instances that run automations: %w", err)
	}
	r.owner.set(id)
	return nil
}

// orphan makes runs nobody's whose instance has died. A condition says that they have an owner, in these words: the index of owners has
// only such runs.
func orphan(ctx context.Context, tx *sqldb.Tx, condition string, args ...any) error {
	_, err := tx.Exec(ctx, `UPDATE runs SET owner = '', begun = 1, deaths = deaths + 1 WHERE `+condition, args...)
	return err
}

// leave gives back what this instance has not done. That it stopped is not held against the runs.
func (r *Runs) leave(ctx context.Context) error {
	const patience = 5 * time.Second
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	me := r.owner.get()
	err := r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE runs SET owner = '', begun = 1 WHERE owner = $1 AND owner <> ''`, me); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DELETE FROM run_owners WHERE id = $1`, me)
		return err
	})
	if err != nil {
		return fmt.Errorf("give back the runs that are not done: %w", err)
	}
	return nil
}

// beatsPerSilence is how often an instance gives a sign of life in the time after which it is believed dead without one.
const beatsPerSilence = 4

// beating gives signs of life, and takes over from instances that give none, until ctx ends.
func (r *Runs) beating(ctx context.Context) {
	for r.pause(ctx, r.Settings.Silence/beatsPerSilence) {
		if err := r.beat(ctx); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "this instance cannot give a sign of life; another one may take its runs over", "error", err)
			continue
		}
		if err := r.bury(ctx); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "runs of instances that are gone cannot be taken over; trying again", "error", err)
		}
	}
}

// beat gives a sign of life. An instance that was believed dead has lost its runs, and begins as another one.
func (r *Runs) beat(ctx context.Context) error {
	me, lost := r.owner.get(), false
	err := r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `UPDATE run_owners SET beats = beats + 1 WHERE id = $1`, me)
		lost = err == nil && n == 0
		return err
	})
	if err != nil || !lost {
		return err
	}
	r.Log.WarnContext(ctx, "this instance was silent for too long, and its runs were taken over")
	next := r.IDs.UUID()
	err = r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO run_owners (id, beats) VALUES ($1, 1)`, next)
		return err
	})
	if err == nil {
		r.owner.set(next)
		r.pool.lose(me)
	}
	return err
}

// bury takes the runs of dead instances over: they are anybody's then.
func (r *Runs) bury(ctx context.Context) error {
	type instance struct {
		id    string
		beats int64
	}
	all, err := sqldb.All(ctx, r.DB, func(rows *sql.Rows) (i instance, err error) { return i, rows.Scan(&i.id, &i.beats) },
		`SELECT id, beats FROM run_owners`)
	if err != nil {
		return err
	}
	now, known := r.Clock.Now(), make(map[string]sighting, len(all))
	// Whoever could not look for a while knows nothing: the others could perhaps not write either.
	blind := now.Sub(r.owner.looked) > r.Settings.Silence/2
	r.owner.looked = now
	for _, one := range all {
		s, ok := r.owner.seen[one.id]
		if !ok || blind || s.beats != one.beats {
			s = sighting{beats: one.beats, since: now}
		}
		known[one.id] = s
		if one.id == r.owner.get() || now.Sub(s.since) < r.Settings.Silence {
			continue
		}
		if err := r.inherit(ctx, one.id, one.beats); err != nil {
			return err
		}
	}
	r.owner.seen = known
	return r.strays(ctx)
}

// inherit makes the runs of one dead instance anybody's, unless it has come back to life.
func (r *Runs) inherit(ctx context.Context, id string, beats int64) error {
	err := r.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		n, err := tx.Exec(ctx, `DELETE FROM run_owners WHERE id = $1 AND beats = $2`, id, beats)
		if err != nil || n == 0 {
			return err
		}
		return orphan(ctx, tx, `owner = $1 AND owner <> ''`, id)
	})
	if err == nil {
		r.pool.nudgeClaims()
	}
	return err
}

// strays finds runs that were stored for an instance when it was believed dead already.
func (r *Runs) strays(ctx context.Context) error {
	const stray = `owner <> '' AND NOT EXISTS (SELECT 1 FROM run_owners o WHERE o.id = runs.owner)`
	var found int
	if err := r.DB.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE `+stray+` LIMIT 1) AS strays`).Scan(&found); err != nil || found == 0 {
		return err
	}
	return r.DB.Tx(ctx, func(tx *sqldb.Tx) error { return orphan(ctx, tx, stray) })
}
