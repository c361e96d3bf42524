package identity_test

import (
	"io/fs"
	"testing"
	"testing/fstest"
	"time"

	"atelier/internal/gateway/internal/identity"
	"atelier/internal/keyring"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// The signing keys of an installation that is brought up to date go on: its tokens stay valid.
func TestOldKeysAreTakenOver(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		m := newMint(t, "ES256")
		ctx, old, key := t.Context(), time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC), m.keys.Signing()
		text, err := key.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		first, err := fs.ReadFile(identity.Migrations().Files, "0001_identity.sql")
		if err != nil {
			t.Fatal(err)
		}
		before := sqldb.Migrations{Component: "gateway", Files: fstest.MapFS{"0001_identity.sql": {Data: first}}}
		if _, err := sqldb.Migrate(ctx, db, old, before); err != nil {
			t.Fatal(err)
		}
		err = db.Tx(ctx, func(tx *sqldb.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO gw_keys (kid, previous_kid, alg, jwk, created_at) VALUES ($1, '', $2, $3, $4)`,
				key.KeyID, key.Algorithm, string(text), sqldb.Millis(old))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := sqldb.Migrate(ctx, db, old, keyring.Migrations(), identity.Migrations()); err != nil {
			t.Fatal(err)
		}
		ring, err := keyring.Open(ctx, keyring.Deps{
			DB: db, Clock: m.clock, Makes: true, Settings: keyring.Settings{Alg: "ES256", RotateEvery: 720 * time.Hour, KeepFor: 720 * time.Hour},
		})
		if err != nil {
			t.Fatal(err)
		}
		keys, err := ring.List(ctx) // it is two months old, so the next one is there already
		if err != nil || len(keys) != 2 || keys[0].KID != key.KeyID || keys[0].State != keyring.Signing {
			t.Errorf("keys %v: %v", keys, err)
		}
		if _, known := ring.Find(ctx, key.KeyID); !known {
			t.Error("the old key's tokens are refused")
		}
	})
}
