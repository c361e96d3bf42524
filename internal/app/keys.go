package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"atelier/internal/backup"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/intake"
	"atelier/internal/keyring"
	"atelier/internal/lifecycle"
	"atelier/internal/sqldb"
)

// keys opens the signing keys, once for all services of this process, and keeps them in step with the database.
func (s *services) keys(ctx context.Context) (*keyring.Ring, error) {
	p, opts := s.app.parts, s.app.opts
	if p.keys != nil {
		return p.keys, nil
	}
	deps := keyring.Deps{
		DB: p.db, Bus: p.bus, Clock: opts.Clock, Log: opts.Log, Settings: KeySettings(opts.Config), Makes: s.app.runsGateway(),
	}
	if s.app.runsGateway() {
		deps.Announce = append(deps.Announce, keyring.GatewayUpdated)
	}
	if runs(opts.Config, "runtime") {
		deps.Announce = append(deps.Announce, keyring.RuntimeUpdated)
	}
	ring, err := keyring.Open(ctx, deps)
	if err != nil {
		return nil, err
	}
	p.keys = ring
	s.app.group.Add(lifecycle.Worker("signing keys", ring.Run))
	return ring, nil
}

func runs(cfg config.Config, service string) bool {
	return slices.Contains(cfg.Target, "all") || slices.Contains(cfg.Target, service)
}

// idTokensMaxAge is how long ID tokens are valid, whatever access tokens are.
const idTokensMaxAge = time.Hour

// KeySettings are those of the signing keys. A key is kept for as long as anything it has signed is valid.
func KeySettings(cfg config.Config) keyring.Settings {
	return keyring.Settings{
		Alg: cfg.JWKSAlg, Size: cfg.JWKSSize, RotateEvery: cfg.JWKSRotation, KeepFor: max(cfg.AccessTokensMaxAge, idTokensMaxAge),
	}
}

// Keys are the signing keys as a command sees them, beside the servers that use the same database.
type Keys struct {
	Ring *keyring.Ring

	db  *sqldb.DB
	bus *intake.Log
}

// OpenKeys opens the signing keys of an installation without taking part in it: nothing is made, migrated or locked. A server
// may be using the database; both engines keep the writers of several processes apart, and the server looks at the keys
// every second.
func OpenKeys(ctx context.Context, cfg config.Config, clk clock.Clock) (*Keys, error) {
	if err := hasDatabase(cfg); err != nil {
		return nil, err
	}
	db, err := OpenDatabase(ctx, cfg)
	if err != nil {
		return nil, err
	}
	keys := &Keys{db: db}
	if err := keys.open(ctx, cfg, clk); err != nil {
		return nil, errors.Join(err, keys.Close())
	}
	return keys, nil
}

// hasDatabase refuses to make one: the wrong data directory would seem to have no keys.
func hasDatabase(cfg config.Config) error {
	if cfg.DatabaseURL != "" {
		return nil
	}
	if _, err := os.Stat(DatabasePath(cfg.DataDir)); err != nil {
		return fmt.Errorf("there is no Atelier database in %s; choose the data directory with --data-dir", cfg.DataDir)
	}
	if backup.Unfinished(cfg.DataDir) {
		return fmt.Errorf("a backup is being restored into the data directory %s; wait until that has finished", cfg.DataDir)
	}
	return nil
}

// errOlder is that a database has not got the tables of this version.
var errOlder = errors.New("the database was not made by this version; start it once with \"atelier serve\", or run \"atelier migrate\"")

// hasTables refuses a database in which a step of a component's migrations was not taken yet.
func hasTables(ctx context.Context, db *sqldb.DB, component string, step int) error {
	var taken int
	err := db.QueryRow(ctx, `SELECT COUNT(*) FROM schema_migrations WHERE component = $1 AND version = $2`, component, step).Scan(&taken)
	if sqldb.KindOf(err) == sqldb.KindUnavailable {
		return err
	}
	if err != nil || taken == 0 {
		return errOlder
	}
	return nil
}

func (k *Keys) open(ctx context.Context, cfg config.Config, clk clock.Clock) (err error) {
	if err := hasTables(ctx, k.db, keyring.Migrations().Component, 1); err != nil {
		return err
	}
	quiet := slog.New(slog.DiscardHandler)
	settings, err := intakeSettings(cfg)
	if err != nil {
		return err
	}
	log, err := sqlbus.Open(k.db, clk, quiet) // also where a broker passes the events on: this is where they begin
	if err != nil {
		return err
	}
	k.bus = intake.Guard(log, settings)
	k.Ring, err = keyring.Open(ctx, keyring.Deps{
		DB: k.db, Bus: k.bus, Clock: clk, Log: quiet, Settings: KeySettings(cfg), Announce: []string{keyring.GatewayUpdated},
	})
	return err
}

// Close closes the database.
func (k *Keys) Close() error {
	if k.bus != nil {
		return errors.Join(k.bus.Close(), k.db.Close())
	}
	return k.db.Close()
}
