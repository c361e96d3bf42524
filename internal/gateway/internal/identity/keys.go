package identity

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4"

	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/sqldb"
)

// keyring holds the signing keys of the installation; the database is their home.
type keyring struct {
	db    *sqldb.DB
	clock clock.Clock
	set   atomic.Pointer[keySet]

	mu         sync.Mutex
	lastReload time.Time
}

type keySet struct {
	byID   map[string]jose.JSONWebKey
	newest *jose.JSONWebKey
	public jose.JSONWebKeySet
}

// reloadPause keeps unknown key ids from becoming a load on the database.
const reloadPause = time.Second

func (k *keyring) signing() *jose.JSONWebKey { return k.set.Load().newest }

// load reads the keys, oldest first.
func (k *keyring) load(ctx context.Context) error {
	texts, err := sqldb.All(ctx, k.db, func(rows *sql.Rows) (text string, err error) {
		return text, rows.Scan(&text)
	}, `SELECT jwk FROM gw_keys ORDER BY created_at, kid`)
	if err != nil {
		return fmt.Errorf("read the signing keys: %w", err)
	}
	set := &keySet{byID: make(map[string]jose.JSONWebKey, len(texts))}
	for _, text := range texts {
		var key jose.JSONWebKey
		if err := json.Unmarshal([]byte(text), &key); err != nil {
			return errors.New("a signing key in the database cannot be read")
		}
		set.byID[key.KeyID] = key
		set.newest = &key
		set.public.Keys = append(set.public.Keys, key.Public())
	}
	k.set.Store(set)
	return nil
}

// find gives the key of a token. An unknown id makes the ring look again, at most once a second.
func (k *keyring) find(ctx context.Context, kid string) (jose.JSONWebKey, bool) {
	if key, ok := k.set.Load().byID[kid]; ok {
		return key, true
	}
	k.mu.Lock()
	now := k.clock.Now()
	due := now.Sub(k.lastReload) >= reloadPause
	if due {
		k.lastReload = now
	}
	k.mu.Unlock()
	if !due || k.load(ctx) != nil {
		return jose.JSONWebKey{}, false
	}
	key, ok := k.set.Load().byID[kid]
	return key, ok
}

// addFirst makes the installation's first key. Of several instances that start at once one wins and the others use its key.
func (k *keyring) addFirst(ctx context.Context, cfg config.Config) error {
	key, err := newKey(cfg)
	if err != nil {
		return err
	}
	text, err := json.Marshal(key)
	if err != nil {
		return err
	}
	err = k.db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO gw_keys (kid, previous_kid, alg, jwk, created_at) VALUES ($1, '', $2, $3, $4)
			ON CONFLICT (previous_kid) DO NOTHING`, key.KeyID, key.Algorithm, string(text), sqldb.Millis(k.clock.Now()))
		return err
	})
	if err != nil {
		return fmt.Errorf("store the signing key: %w", err)
	}
	return k.load(ctx)
}

func newKey(cfg config.Config) (jose.JSONWebKey, error) {
	private, err := generate(cfg)
	if err != nil {
		return jose.JSONWebKey{}, fmt.Errorf("make a signing key: %w", err)
	}
	key := jose.JSONWebKey{Key: private, Algorithm: cfg.JWKSAlg, Use: "sig"}
	print, err := key.Thumbprint(crypto.SHA256)
	if err != nil {
		return jose.JSONWebKey{}, err
	}
	key.KeyID = base64.RawURLEncoding.EncodeToString(print)
	return key, nil
}

func generate(cfg config.Config) (crypto.Signer, error) {
	switch cfg.JWKSAlg {
	case "ES256":
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "ES384":
		return ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case "ES512":
		return ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case "EdDSA":
		_, private, err := ed25519.GenerateKey(rand.Reader)
		return private, err
	default:
		return rsa.GenerateKey(rand.Reader, cfg.JWKSSize)
	}
}

// JWKS gives the public keys.
func (i *Identity) JWKS() jose.JSONWebKeySet { return i.keys.set.Load().public }

// CheckKeys proves that a token signed now would be accepted.
func (i *Identity) CheckKeys(ctx context.Context) error {
	if err := i.keys.load(ctx); err != nil {
		return err
	}
	key := i.keys.signing()
	if key == nil {
		return errors.New("there is no signing key")
	}
	signer, err := newSigner(key)
	if err != nil {
		return err
	}
	signed, err := signer.Sign([]byte("readiness"))
	if err != nil {
		return err
	}
	_, err = signed.Verify(key.Public())
	return err
}
