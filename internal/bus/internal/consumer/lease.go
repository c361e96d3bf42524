package consumer

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"atelier/internal/bus"
	"atelier/internal/sqldb"
)

// errLost tells that another instance holds the partition now.
var errLost = errors.New("the partition was taken over by another instance")

// leases is the SQL of one consumer's cursors and members. Time is the database's, so that a host whose clock is wrong
// neither loses its partitions nor steals those of others.
type leases struct {
	db       *sqldb.DB
	consumer string
	owner    string
	length   time.Duration
	now      string // the database's time in milliseconds, as an expression
}

func newLeases(db *sqldb.DB, consumer, owner string, length time.Duration) leases {
	now := `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`
	if db.Driver() == "sqlite" {
		now = `CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)`
	}
	return leases{db: db, consumer: consumer, owner: owner, length: length, now: now}
}

// limit keeps a statement from waiting for a server that does not answer longer than a lease lasts.
func (l leases) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, l.length)
}

// leaseRow is the stored state of a partition.
type leaseRow struct {
	partition int
	owner     string
	epoch     int64
	expiresAt int64
	expired   bool
}

// register creates the cursors of a consumer that was never seen before, at the oldest event or after the newest. It
// looks first: an insert would wait for a row that a frozen holder has locked.
func (l leases) register(ctx context.Context, fromStart bool) error {
	ctx, cancel := l.limit(ctx)
	defer cancel()
	var known int
	err := l.db.QueryRow(ctx, `SELECT COUNT(*) FROM bus_cursors WHERE consumer = $1`, l.consumer).Scan(&known)
	if err != nil || known == bus.Partitions {
		return err
	}
	keep := 1
	if fromStart {
		keep = 0
	}
	return l.db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO bus_cursors (consumer, partition, cursor, last_pos, owner, epoch, expires_at)
			SELECT CAST($1 AS TEXT), partition, 0, last_pos * CAST($2 AS BIGINT), '', 0, 0 FROM bus_heads WHERE TRUE
			ON CONFLICT (consumer, partition) DO NOTHING`, l.consumer, keep)
		return err
	})
}

// view is what the table says about a consumer.
type view struct {
	rows    []leaseRow
	members int // instances that run, this one included
	gone    int // instances that have stopped without signing off
}

// look reads the partitions and the instances. It waits for nobody.
func (l leases) look(ctx context.Context) (v view, err error) {
	ctx, cancel := l.limit(ctx)
	defer cancel()
	v.rows, err = sqldb.All(ctx, l.db, func(rows *sql.Rows) (r leaseRow, err error) {
		return r, rows.Scan(&r.partition, &r.owner, &r.epoch, &r.expiresAt, &r.expired)
	}, `SELECT partition, owner, epoch, expires_at, expires_at <= `+l.now+`
		FROM bus_cursors WHERE consumer = $1 ORDER BY partition`, l.consumer)
	if err != nil {
		return v, err
	}
	err = l.db.QueryRow(ctx, `SELECT 1 + COUNT(CASE WHEN expires_at > `+l.now+` THEN 1 END), COUNT(CASE WHEN expires_at <= `+l.now+` THEN 1 END)
		FROM bus_members WHERE consumer = $1 AND owner <> $2`, l.consumer, l.owner).Scan(&v.members, &v.gone)
	return v, err
}

// keep shows that this instance is alive and renews what it holds; it returns which partitions are still held. It
// touches only rows of this instance, so no other one can make it wait.
func (l leases) keep(ctx context.Context, partitions []int) (renewed []int, err error) {
	ctx, cancel := l.limit(ctx)
	defer cancel()
	err = l.db.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		_, err = tx.Exec(ctx, `INSERT INTO bus_members (consumer, owner, expires_at) VALUES ($1, $2, `+l.now+` + $3)
			ON CONFLICT (consumer, owner) DO UPDATE SET expires_at = excluded.expires_at`,
			l.consumer, l.owner, l.length.Milliseconds())
		if err != nil {
			return fmt.Errorf("show that the instance is alive: %w", err)
		}
		renewed, err = l.renew(ctx, tx, partitions)
		return err
	})
	return renewed, err
}

// sweep forgets the instances that are gone.
func (l leases) sweep(ctx context.Context) error {
	return l.db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM bus_members WHERE consumer = $1 AND expires_at <= `+l.now, l.consumer)
		return err
	})
}

func (l leases) renew(ctx context.Context, tx *sqldb.Tx, partitions []int) ([]int, error) {
	if len(partitions) == 0 {
		return nil, nil
	}
	args := []any{l.length.Milliseconds(), l.consumer, l.owner}
	for _, p := range partitions {
		args = append(args, p)
	}
	renewed, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (p int, err error) { return p, rows.Scan(&p) },
		`UPDATE bus_cursors SET expires_at = `+l.now+` + $1
		WHERE consumer = $2 AND owner = $3 AND partition IN (`+sqldb.In(4, len(partitions))+`) RETURNING partition`, args...)
	if err != nil {
		return nil, fmt.Errorf("renew partitions: %w", err)
	}
	return renewed, nil
}

// grant is a partition as it was taken.
type grant struct {
	partition int
	epoch     int64
	cursor    Cursor
}

// take moves a partition to this instance if it is still as it was seen; errLost when another was faster.
func (l leases) take(ctx context.Context, seen leaseRow) (grant, error) {
	g := grant{partition: seen.partition}
	err := l.db.Tx(ctx, func(tx *sqldb.Tx) error {
		return tx.QueryRow(ctx, `UPDATE bus_cursors SET owner = $1, epoch = epoch + 1, expires_at = `+l.now+` + $2
			WHERE consumer = $3 AND partition = $4 AND epoch = $5 AND owner = $6 AND expires_at = $7
			RETURNING epoch, last_pos, cursor`,
			l.owner, l.length.Milliseconds(), l.consumer, seen.partition, seen.epoch, seen.owner, seen.expiresAt).
			Scan(&g.epoch, &g.cursor.Position, &g.cursor.Sequence)
	})
	if sqldb.IsNotFound(err) {
		return g, errLost
	}
	return g, err
}

// move stores how far the partition has been worked through; errLost when it is no longer held with this epoch. The row
// stays locked until the commit, so nobody can take the partition between the check and the work becoming durable.
func (l leases) move(ctx context.Context, tx *sqldb.Tx, held grant, to Cursor) error {
	n, err := tx.Exec(ctx, `UPDATE bus_cursors SET last_pos = $1, cursor = $2
		WHERE consumer = $3 AND partition = $4 AND owner = $5 AND epoch = $6`,
		int64(to.Position), to.Sequence, l.consumer, held.partition, l.owner, held.epoch)
	if err != nil {
		return fmt.Errorf("move the cursor: %w", err)
	}
	if n == 0 {
		return errLost
	}
	return nil
}

// debt is a cursor that is to be stored, past events that needed nothing.
type debt struct {
	held grant
	to   Cursor
}

// settle stores how far partitions have been worked through, where that is further than what is stored and they are still held.
func (l leases) settle(ctx context.Context, debts []debt) error {
	ctx, cancel := l.limit(ctx)
	defer cancel()
	return l.db.Tx(ctx, func(tx *sqldb.Tx) error {
		for _, d := range debts {
			_, err := tx.Exec(ctx, `UPDATE bus_cursors SET last_pos = $1, cursor = $2
				WHERE consumer = $3 AND partition = $4 AND owner = $5 AND epoch = $6 AND last_pos < $1`,
				int64(d.to.Position), d.to.Sequence, l.consumer, d.held.partition, l.owner, d.held.epoch)
			if err != nil {
				return fmt.Errorf("store how far a consumer is: %w", err)
			}
		}
		return nil
	})
}

// release gives a partition back, if it is still held, so that others need not wait for the lease to end.
func (l leases) release(ctx context.Context, held grant) error {
	return l.db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE bus_cursors SET owner = '', expires_at = 0
			WHERE consumer = $1 AND partition = $2 AND owner = $3 AND epoch = $4`,
			l.consumer, held.partition, l.owner, held.epoch)
		return err
	})
}

// leave takes this instance off the members and gives back what it may still hold: a partition whose taking was
// committed although the answer was not waited for.
func (l leases) leave(ctx context.Context) error {
	return l.db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE bus_cursors SET owner = '', expires_at = 0 WHERE consumer = $1 AND owner = $2`,
			l.consumer, l.owner)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM bus_members WHERE consumer = $1 AND owner = $2`, l.consumer, l.owner)
		return err
	})
}
