package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/gateway"
	"atelier/internal/ident"
	"atelier/internal/keyring"
	"atelier/internal/kv/memkv"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqlite"
)

// house is a gateway on a database of its own, with secrets that can be guessed at.
type house struct {
	db     *sqldb.DB
	keys   *access.Keys
	door   *gateway.Gateway
	closes []func()
	// apiKeys and tokens are the secrets that exist.
	apiKeys, tokens []string
}

const (
	adminEmail    = "admin@example.test"
	adminPassword = "correct horse battery staple"
	// secrets is how many of each kind there are; an account has at most 50 access tokens.
	secrets = 50
)

// newHouse opens a gateway. The limits are off: they answer 429 long before anybody has guessed often enough to measure.
func newHouse(ctx context.Context) (h *house, err error) {
	h = &house{}
	if err := h.open(ctx); err != nil {
		h.close()
		return nil, err
	}
	return h, nil
}

func (h *house) open(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "atelier-timing-")
	if err != nil {
		return err
	}
	h.closes = append(h.closes, func() { _ = os.RemoveAll(dir) })
	loaded, err := config.Load(config.Sources{Environ: []string{
		"API_URL=http://localhost:3001/v2", "DISABLE_RATE_LIMIT=yes", "ADMIN_EMAIL=" + adminEmail, "ADMIN_PASSWORD=" + adminPassword, "DATA_DIR=" + dir,
	}})
	if err != nil {
		return err
	}
	clk := clock.System{}
	if h.db, err = sqlite.Open(ctx, filepath.Join(dir, "timing.db")); err != nil {
		return err
	}
	h.closes = append(h.closes, func() { _ = h.db.Close() })
	if _, err := sqldb.Migrate(ctx, h.db, clk.Now(), sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), keyring.Migrations(),
		gateway.Migrations(), gateway.FactorMigrations(), gateway.OIDCMigrations()); err != nil {
		return err
	}
	h.keys = access.NewKeys(clk, ident.Source{})
	if h.door, err = h.gateway(ctx, loaded.Config, clk); err != nil {
		return err
	}
	if err := h.makeTokens(ctx, clk); err != nil {
		return err
	}
	return h.makeKeys(ctx, clk)
}

func (h *house) gateway(ctx context.Context, cfg config.Config, clk clock.Clock) (*gateway.Gateway, error) {
	quiet := slog.New(slog.DiscardHandler)
	log, err := sqlbus.Open(h.db, clk, quiet)
	if err != nil {
		return nil, err
	}
	h.closes = append(h.closes, func() { _ = log.Close() })
	ring, err := keyring.Open(ctx, keyring.Deps{
		DB: h.db, Bus: log, Clock: clk, Log: quiet, Makes: true,
		Settings: keyring.Settings{Alg: "ES256", RotateEvery: 24 * time.Hour, KeepFor: 24 * time.Hour},
	})
	if err != nil {
		return nil, err
	}
	store := memkv.New(clk)
	h.closes = append(h.closes, func() { _ = store.Close() })
	return gateway.New(ctx, gateway.Deps{
		Config: cfg, Version: "timing", Log: quiet, Clock: clk, DB: h.db, Keys: ring, Bus: log, Limits: store, Store: store,
		APIKeys: h.keys, Client: &http.Client{}, Internal: strings.Repeat("an internal key ", 3), Lookup: func(string) string { return "" },
	})
}

// makeTokens signs in as the super admin, who makes access tokens.
func (h *house) makeTokens(ctx context.Context, clk clock.Clock) error {
	if _, err := h.door.EnsureAdmin(ctx); err != nil {
		return err
	}
	session, err := h.post(ctx, "/v2/login", "", map[string]any{"email": adminEmail, "password": adminPassword})
	if err != nil {
		return err
	}
	for i := range secrets {
		token, err := h.post(ctx, "/v2/user/accessTokens", session, map[string]any{
			"name": fmt.Sprintf("token %d", i), "expiresAt": clk.Now().Add(24 * time.Hour).UTC().Format(time.RFC3339),
		})
		if err != nil {
			return err
		}
		h.tokens = append(h.tokens, token)
	}
	return nil
}

// makeKeys makes API keys of a workspace that the owner has.
func (h *house) makeKeys(ctx context.Context, clk clock.Clock) error {
	const workspace = "timing"
	owner := access.With(ctx, access.Principal{Kind: access.User, Credential: access.BySession, UserID: "owner", Scopes: access.Scopes()})
	return h.db.Tx(owner, func(tx *sqldb.Tx) error {
		if err := access.Grant(owner, tx, workspace, access.Owner); err != nil {
			return err
		}
		ability, err := access.NewEnforcer(clk).Load(owner, tx, workspace)
		if err != nil {
			return err
		}
		read := access.KeyRequestRule{Action: access.Names{All: []string{access.ActionRead}}, Subject: access.Names{All: []string{access.SubjectWorkspaces}}}
		for i := range secrets {
			_, secret, err := h.keys.Create(owner, tx, ability, access.KeyRequest{Name: fmt.Sprintf("key %d", i), Rules: []access.KeyRequestRule{read}})
			if err != nil {
				return err
			}
			h.apiKeys = append(h.apiKeys, secret)
		}
		return nil
	})
}

// post sends JSON and gives the token of the answer.
func (h *house) post(ctx context.Context, path, session string, body map[string]any) (string, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(text))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	if session != "" {
		r.Header.Set("Authorization", "Bearer "+session)
	}
	w := &answer{header: http.Header{}, keep: true}
	h.door.ServeHTTP(w, r)
	var made struct {
		Token string `json:"token"`
	}
	if err := json.Unmarshal(w.body.Bytes(), &made); err != nil || made.Token == "" {
		return "", fmt.Errorf("POST %s: %d %s", path, w.status, w.body.String())
	}
	return made.Token, nil
}

func (h *house) close() {
	for i := range h.closes {
		h.closes[len(h.closes)-1-i]()
	}
}

// answer takes what the gateway answers.
type answer struct {
	header http.Header
	status int
	keep   bool
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) { a.status = status }

// Write implements http.ResponseWriter.
func (a *answer) Write(b []byte) (int, error) {
	if a.keep {
		return a.body.Write(b)
	}
	return len(b), nil
}
