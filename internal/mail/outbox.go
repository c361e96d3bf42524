package mail

import (
	"context"
	"database/sql"
	"embed"
	"io/fs"
	"log/slog"
	"time"

	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of the outbox.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "mail", Files: files}
}

// OutboxDeps is what an outbox needs.
type OutboxDeps struct {
	DB     *sqldb.DB
	Sender Sender
	Clock  clock.Clock
	IDs    ident.Source
	Log    *slog.Logger
	// Key is the internal key, the same for every instance; what waits is sealed with a key made from it.
	Key string
}

// Outbox keeps mails until they are sent: put in with the work that causes them, in one transaction, and sent at least once,
// by one instance at a time. A mail that cannot be sent is tried again, ever more rarely, for a day.
type Outbox struct {
	deps OutboxDeps
	seal *seal
	// holder tells the claims of this process from those of others.
	holder string
	wake   chan struct{}
}

// NewOutbox returns the outbox. Run sends what is in it.
func NewOutbox(deps OutboxDeps) (*Outbox, error) {
	sealed, err := newSeal(deps.Key)
	if err != nil {
		return nil, err
	}
	return &Outbox{deps: deps, seal: sealed, holder: deps.IDs.UUID(), wake: make(chan struct{}, 1)}, nil
}

// Enqueue puts a message into the outbox as part of a transaction: it is sent when the transaction is kept, soon after, and
// not at all when it is not. A message that cannot be sent gives ErrInvalid.
func (o *Outbox) Enqueue(ctx context.Context, tx *sqldb.Tx, message Message) error {
	message.ID = o.deps.IDs.UUID()
	if err := message.Check(); err != nil {
		return err
	}
	sealed, err := o.seal.close(message)
	if err != nil {
		return err
	}
	now := sqldb.Millis(o.deps.Clock.Now())
	_, err = tx.Exec(ctx, `INSERT INTO mail_outbox (id, sealed, created_at, due_at, attempts, holder) VALUES ($1, $2, $3, $3, 0, '')`,
		message.ID, sealed, now)
	o.Wake()
	return err
}

// Wake has the worker look at once, and again a few times within the next seconds: the transaction that put a message in may
// not have ended yet.
func (o *Outbox) Wake() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

const (
	// atOnce is how many mails a process sends at the same time.
	atOnce = 4
	// sendFor bounds the sending of one mail; the claim on it holds longer.
	sendFor  = time.Minute
	claimFor = 2 * time.Minute
)

// waiting is a mail that this process has claimed.
type waiting struct {
	id, sealed string
	created    time.Time
	attempts   int
}

// claim takes mails whose time has come. Until the claim ends they are nobody else's; when a process dies with them, they
// come back by themselves.
func (o *Outbox) claim(ctx context.Context) (claimed []waiting, err error) {
	now := o.deps.Clock.Now()
	err = o.deps.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		claimed, err = sqldb.All(ctx, tx, scanWaiting, `UPDATE mail_outbox SET due_at = $1, attempts = attempts + 1, holder = $2
			WHERE due_at <= $3 AND id IN (SELECT id FROM mail_outbox WHERE due_at <= $3 ORDER BY due_at, id LIMIT $4)
			RETURNING id, sealed, created_at, attempts`,
			sqldb.Millis(now.Add(claimFor)), o.holder, sqldb.Millis(now), atOnce)
		return err
	})
	return claimed, err
}

func scanWaiting(rows *sql.Rows) (w waiting, err error) {
	var created int64
	err = rows.Scan(&w.id, &w.sealed, &created, &w.attempts)
	w.created = sqldb.Time(created)
	return w, err
}

// remove forgets a mail that this process still holds.
func (o *Outbox) remove(ctx context.Context, w waiting) error {
	return o.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM mail_outbox WHERE id = $1 AND holder = $2`, w.id, o.holder)
		return err
	})
}

// postpone gives a mail that this process still holds back until later.
func (o *Outbox) postpone(ctx context.Context, w waiting, delay time.Duration) error {
	due := sqldb.Millis(o.deps.Clock.Now().Add(delay))
	return o.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE mail_outbox SET due_at = $1 WHERE id = $2 AND holder = $3`, due, w.id, o.holder)
		return err
	})
}
