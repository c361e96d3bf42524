// Package keyring holds the keys that sign the installation's tokens. Their home is the database: one instance makes the
// next key, all of them know it before it signs, and a key that was replaced verifies until the last token it signed has
// ended.
package keyring

import (
	"context"
	"embed"
	"io/fs"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations are the tables of the signing keys.
func Migrations() sqldb.Migrations {
	files, _ := fs.Sub(migrations, "migrations")
	return sqldb.Migrations{Component: "keyring", Files: files}
}

// The events that tell of a changed set of keys, in the workspace of the platform.
const (
	GatewayUpdated = "gateway.jwks.updated"
	RuntimeUpdated = "runtime.jwks.updated"
)

const (
	// pollEvery is how often the stored keys are looked at, whether or not anybody said that they changed.
	pollEvery = time.Second
	// notice is how long before its turn a key is published at least: every instance has looked by then.
	notice = 2 * time.Second
	// longNotice is how long before its turn a key is made: longer than clients keep the published keys.
	longNotice = 2 * time.Minute
	// grace keeps a key a little longer than its tokens: they are forgiven as much when clocks are apart.
	grace = time.Minute
)

// Settings say what new keys are like and how long they serve.
type Settings struct {
	// Alg is the signature algorithm, such as RS256.
	Alg string
	// Size is the size of RSA keys in bits.
	Size int
	// RotateEvery is how long a key signs.
	RotateEvery time.Duration
	// KeepFor is how long it verifies afterwards: the longest life of a token.
	KeepFor time.Duration
}

// Deps is what a ring needs.
type Deps struct {
	DB *sqldb.DB
	// Bus takes the events. Without it, changes are announced by the next instance that has one.
	Bus      bus.Log
	Clock    clock.Clock
	Log      *slog.Logger
	Settings Settings
	// Makes lets the ring make the first key, and each next one when it is time, and remove those that have expired.
	// Others only follow.
	Makes bool
	// Announce are the types of the events that instances like this one append when the keys have changed. Of all
	// instances with a type, one appends the event of a change.
	Announce []string
}

// Ring is the set of keys as this process knows it, never more than two seconds behind the database while Run runs.
type Ring struct {
	deps    Deps
	set     atomic.Pointer[keySet]
	begun   atomic.Int64 // counts the looks at the database
	changed chan struct{}

	mu     sync.Mutex
	looked time.Time           // when an unknown id last made the ring look
	look   chan struct{}       // open while that look is under way
	absent map[string]struct{} // ids that are known not to exist
}

// Open reads the keys. A ring that makes keys makes the first one when there is none, and the next one when the newest one's
// time was over while nobody looked, or when it does not fit the settings any more.
func Open(ctx context.Context, deps Deps) (*Ring, error) {
	r := &Ring{deps: deps, changed: make(chan struct{}, 1), absent: map[string]struct{}{}}
	r.set.Store(&keySet{})
	if err := r.refresh(ctx); err != nil {
		return nil, err
	}
	if !deps.Makes {
		return r, nil
	}
	newest := r.set.Load().newest()
	if newest != nil && deps.Settings.fit(newest) && newest.rotates.After(deps.Clock.Now()) {
		return r, nil
	}
	return r, r.follow(ctx, newest, time.Time{})
}
