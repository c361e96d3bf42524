package files

import (
	"context"
	"errors"
	"io"
	"time"

	"atelier/internal/blob"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// A content is stored before anything refers to it, and removed when nothing does any more; both are steps outside of the
// database, and another request or instance may take the other one at the same time. What keeps them apart is the table of
// contents: whoever removes one claims its row first, and whoever stores one looks at the row afterwards. A claimed content
// cannot be taken into use, and one that was just stored cannot be claimed.

// put stores the bytes of a file. Until a file refers to them they are on the list of what will be removed.
func (f *Files) put(ctx context.Context, r io.Reader) (blob.Info, error) {
	info, err := plain(f.Blobs).Put(ctx, r, f.Settings.MaxSize)
	if err != nil {
		return info, err
	}
	err = f.DB.Tx(apart(ctx), func(tx *sqldb.Tx) error {
		noted, err := note(ctx, tx, info.Hash, f.now())
		if err == nil && !noted {
			return beingRemoved()
		}
		return err
	})
	if err != nil {
		return info, err
	}
	return info, stillThere(ctx, f.Blobs, info.Hash)
}

// note puts a content on the list of what is removed a while after now, and tells whether it did: not while it is removed.
func note(ctx context.Context, tx *sqldb.Tx, hash string, now time.Time) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO ws_contents (hash, since, claimed_at) VALUES ($1, $2, 0)
		ON CONFLICT (hash) DO UPDATE SET since = excluded.since WHERE ws_contents.claimed_at = 0`, hash, sqldb.Millis(now))
	return n == 1, err
}

// release notes the contents of files that are no more, or that have another by now.
func (f *Files) release(ctx context.Context, tx *sqldb.Tx, files ...Stored) error {
	for _, s := range files {
		if _, err := note(ctx, tx, s.Hash, f.now()); err != nil {
			return err
		}
	}
	return nil
}

// apart is ctx for a transaction that is not the work of the request, but comes before it.
func apart(ctx context.Context) context.Context { return sqldb.WithHook(ctx, nil) }

func beingRemoved() error {
	return errs.New(errs.Unavailable, "The same content is being removed right now; try again shortly.").WithRetryAfter(time.Second)
}

// stillThere makes sure that a content was not removed between being stored and being noted.
func stillThere(ctx context.Context, blobs blob.Store, hash string) error {
	_, err := blobs.Stat(ctx, hash)
	if errors.Is(err, blob.ErrNotFound) {
		return beingRemoved()
	}
	return err
}

// Tended is the blob store for everybody else who keeps contents in it: what they store is never removed at the moment at
// which they do. That they use it later is told by a Referenced.
func Tended(blobs blob.Store, db *sqldb.DB, clk clock.Clock) blob.Store {
	return &tended{Store: blobs, db: db, clock: clk}
}

// plain is the store itself: files note what they store on their own.
func plain(blobs blob.Store) blob.Store {
	if t, ok := blobs.(*tended); ok {
		return t.Store
	}
	return blobs
}

type tended struct {
	blob.Store

	db    *sqldb.DB
	clock clock.Clock
}

// Put implements blob.Store.
func (t *tended) Put(ctx context.Context, r io.Reader, max int64) (blob.Info, error) {
	info, err := t.Store.Put(ctx, r, max)
	if err != nil {
		return info, err
	}
	err = t.db.Tx(apart(ctx), func(tx *sqldb.Tx) error {
		var claimed int64
		err := tx.QueryRow(ctx, `UPDATE ws_contents SET since = CASE WHEN claimed_at = 0 THEN $1 ELSE since END WHERE hash = $2 RETURNING claimed_at`,
			sqldb.Millis(t.clock.Now()), info.Hash).Scan(&claimed)
		if sqldb.IsNotFound(err) {
			return nil // it is on no list
		}
		if err == nil && claimed != 0 {
			return beingRemoved()
		}
		return err
	})
	if err != nil {
		return info, err
	}
	return info, stillThere(ctx, t.Store, info.Hash)
}
