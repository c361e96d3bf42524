package access

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strings"
	"time"

	"github.com/maypok86/otter/v2"

	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

const (
	keyPrefix   = "ak_"
	keyLength   = len(keyPrefix) + 43
	maskPrefix  = len(keyPrefix) + 4
	maxKeys     = 100
	maxKeyName  = 200
	keyMemory   = 2 * time.Second
	touchPeriod = time.Minute
)

// Keys makes and finds the API keys of workspaces. One serves a whole process.
type Keys struct {
	clock   clock.Clock
	ids     ident.Source
	found   *otter.Cache[string, foundKey]
	touched *otter.Cache[string, time.Time]
}

// foundKey is a key that was found, and until when it may be taken from memory.
type foundKey struct {
	principal Principal
	until     time.Time
}

// NewKeys returns the keys.
func NewKeys(clk clock.Clock, ids ident.Source) *Keys {
	const remembered = 10_000
	return &Keys{
		clock: clk, ids: ids,
		found:   otter.Must(&otter.Options[string, foundKey]{MaximumSize: remembered}),
		touched: otter.Must(&otter.Options[string, time.Time]{MaximumSize: remembered}),
	}
}

// APIKey is a key without its secret. The zero time is never.
type APIKey struct {
	ID          string
	WorkspaceID string
	Name        string
	// Role is set for the key of a role for automations, which has no secret and the rules of the role.
	Role       string
	Rules      []KeyRequestRule
	Disabled   bool
	CreatedAt  time.Time
	CreatedBy  string
	ExpiresAt  time.Time
	LastUsedAt time.Time

	prefix, last4 string
}

// Masked is the beginning and the end of the secret, by which its owner recognises it.
func (k APIKey) Masked() string { return k.prefix + "…" + k.last4 }

// ShownRules are the rules with the conditions that bind them to the workspace.
func (k APIKey) ShownRules() []KeyRule { return shownRules(k.Rules, k.WorkspaceID) }

func (k APIKey) usable(now time.Time) bool {
	return !k.Disabled && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// KeyRequest is what can be said about a key. The zero time is no expiry.
type KeyRequest struct {
	Name      string
	Rules     []KeyRequestRule
	Disabled  bool
	ExpiresAt time.Time
}

// Create makes a key for the caller, who has been allowed to manage_permissions, and gives its secret, which is not kept
// and cannot be shown again. A caller cannot make a key that may do more than the caller, and needs a session: a key, or a
// token that ends, cannot make keys that outlive it.
func (k *Keys) Create(ctx context.Context, tx *sqldb.Tx, a *Ability, req KeyRequest) (APIKey, string, error) {
	if err := k.valid(a, req); err != nil {
		return APIKey{}, "", err
	}
	if err := roomForKey(ctx, tx, a.workspaceID); err != nil {
		return APIKey{}, "", err
	}
	secret := keyPrefix + k.ids.Secret()
	key := APIKey{
		ID: k.ids.UUID(), WorkspaceID: a.workspaceID, Name: req.Name, Rules: req.Rules, Disabled: req.Disabled,
		CreatedAt: sqldb.Time(sqldb.Millis(k.clock.Now())), CreatedBy: a.caller.Key(), ExpiresAt: req.ExpiresAt,
		prefix: secret[:maskPrefix], last4: secret[len(secret)-4:],
	}
	return key, secret, insertKey(ctx, tx, key, hashKey(secret))
}

func (k *Keys) valid(a *Ability, req KeyRequest) error {
	if a.caller.Credential != BySession {
		return errs.New(errs.PermissionDenied, "Keys and access tokens cannot make or change API keys; sign in to make keys.")
	}
	p := &problems{}
	if strings.TrimSpace(req.Name) == "" || tooLong(req.Name, maxKeyName) || strings.ContainsFunc(req.Name, isControl) {
		p.add("name", "a name of 1 to %d characters is required", maxKeyName)
	}
	if !req.ExpiresAt.IsZero() && !req.ExpiresAt.After(k.clock.Now()) {
		p.add("expiresAt", "the time is past; leave it out for a key that does not expire")
	}
	p.keyRules(req.Rules)
	if err := p.err(); err != nil {
		return err
	}
	for _, r := range req.Rules {
		if err := a.mayGiveKey(r); err != nil {
			return err
		}
	}
	return nil
}

// mayGiveKey tells whether the caller has everything that a rule of a key allows, within the scopes of its token. Owners
// have what their rules say, which is not everything.
func (a *Ability) mayGiveKey(r KeyRequestRule) error {
	for _, subject := range r.Subject.All {
		for _, action := range r.Action.All {
			if !a.has(action, subject) {
				return notYours(action, subject)
			}
			for _, scope := range scopesFor(action, subject) {
				if err := CheckScope(scope, a.caller); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func roomForKey(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	var count int
	err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM access_api_keys WHERE workspace_id = $1 AND role = ''`, workspaceID).Scan(&count)
	if err == nil && count >= maxKeys {
		return errs.Newf(errs.QuotaExceeded, "A workspace has at most %d API keys; delete one that is not used any more.", maxKeys).With("limit", maxKeys)
	}
	return err
}

const keyColumns = `id, workspace_id, name, role, prefix, last4, rules, disabled, created_at, created_by, expires_at, last_used_at`

func insertKey(ctx context.Context, tx *sqldb.Tx, key APIKey, hash string) error {
	rules, err := storeRules(key.Rules)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO access_api_keys (`+keyColumns+`, hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
		key.ID, key.WorkspaceID, key.Name, key.Role, key.prefix, key.last4, rules, bit(key.Disabled), sqldb.Millis(key.CreatedAt),
		key.CreatedBy, millisOrZero(key.ExpiresAt), millisOrZero(key.LastUsedAt), hash)
	return err
}

func bit(set bool) int64 {
	if set {
		return 1
	}
	return 0
}

func millisOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return sqldb.Millis(t)
}

func timeOrZero(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return sqldb.Time(ms)
}

func scanKey(scan func(...any) error) (key APIKey, err error) {
	var rules string
	var disabled, created, expires, used int64
	err = scan(&key.ID, &key.WorkspaceID, &key.Name, &key.Role, &key.prefix, &key.last4, &rules, &disabled, &created, &key.CreatedBy, &expires, &used)
	if err != nil {
		return APIKey{}, err
	}
	key.Disabled, key.CreatedAt = disabled != 0, sqldb.Time(created)
	key.ExpiresAt, key.LastUsedAt = timeOrZero(expires), timeOrZero(used)
	if key.Role == "" {
		key.Rules, err = readRules(rules)
	}
	return key, err
}

// List gives the keys of a workspace, the oldest first; the keys of roles are not listed.
func (k *Keys) List(ctx context.Context, r sqldb.Reader, workspaceID string) ([]APIKey, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (APIKey, error) { return scanKey(rows.Scan) },
		`SELECT `+keyColumns+` FROM access_api_keys WHERE workspace_id = $1 AND role = '' ORDER BY created_at, id`, workspaceID)
}

// Get gives one key of a workspace, named by its id or by its secret.
func (k *Keys) Get(ctx context.Context, r sqldb.Reader, workspaceID, idOrSecret string) (APIKey, error) {
	key, err := scanKey(r.QueryRow(ctx, `SELECT `+keyColumns+` FROM access_api_keys
		WHERE workspace_id = $1 AND role = '' AND (id = $2 OR hash = $3)`, workspaceID, idOrSecret, hashKey(idOrSecret)).Scan)
	if sqldb.IsNotFound(err) {
		return APIKey{}, missingKey(idOrSecret)
	}
	return key, err
}

// missingKey does not repeat a secret.
func missingKey(idOrSecret string) error {
	if strings.HasPrefix(idOrSecret, keyPrefix) {
		idOrSecret = keyPrefix + "…"
	}
	return errs.Missing("apikeys", shorten(idOrSecret))
}

// Update replaces what can be said about a key, under the rules of Create. It holds everywhere within two seconds.
func (k *Keys) Update(ctx context.Context, tx *sqldb.Tx, a *Ability, idOrSecret string, req KeyRequest) (APIKey, error) {
	key, err := k.Get(ctx, tx, a.workspaceID, idOrSecret)
	if err != nil {
		return APIKey{}, err
	}
	if err := k.valid(a, req); err != nil {
		return APIKey{}, err
	}
	rules, err := storeRules(req.Rules)
	if err != nil {
		return APIKey{}, err
	}
	key.Name, key.Rules, key.Disabled, key.ExpiresAt = req.Name, req.Rules, req.Disabled, req.ExpiresAt
	n, err := tx.Exec(ctx, `UPDATE access_api_keys SET name = $1, rules = $2, disabled = $3, expires_at = $4 WHERE id = $5 AND workspace_id = $6`,
		key.Name, rules, bit(key.Disabled), millisOrZero(key.ExpiresAt), key.ID, a.workspaceID)
	if err == nil && n == 0 {
		return APIKey{}, missingKey(idOrSecret)
	}
	return key, err
}

// Delete removes a key, named by its id or by its secret. It is refused everywhere within two seconds.
func (k *Keys) Delete(ctx context.Context, tx *sqldb.Tx, workspaceID, idOrSecret string) (APIKey, error) {
	key, err := k.Get(ctx, tx, workspaceID, idOrSecret)
	if err != nil {
		return APIKey{}, err
	}
	n, err := tx.Exec(ctx, `DELETE FROM access_api_keys WHERE id = $1 AND workspace_id = $2`, key.ID, workspaceID)
	if err == nil && n == 0 {
		return APIKey{}, missingKey(idOrSecret)
	}
	return key, err
}

// Find gives the caller that a secret stands for. The secret is looked up by its whole hash. One that is unknown, deleted,
// disabled or expired is refused with the same answer.
func (k *Keys) Find(ctx context.Context, r sqldb.Reader, secret string) (Principal, error) {
	if len(secret) != keyLength || !strings.HasPrefix(secret, keyPrefix) {
		return Principal{}, refusedKey()
	}
	hash, now := hashKey(secret), k.clock.Now()
	if hit, ok := k.found.GetIfPresent("key:" + hash); ok && now.Before(hit.until) {
		return hit.principal, nil
	}
	key, err := scanKey(r.QueryRow(ctx, `SELECT `+keyColumns+` FROM access_api_keys WHERE hash = $1 AND workspace_id NOT LIKE 'bin:%'`, hash).Scan)
	if sqldb.IsNotFound(err) || err == nil && !key.usable(now) {
		return Principal{}, refusedKey()
	}
	if err != nil {
		return Principal{}, err
	}
	until := now.Add(keyMemory)
	if !key.ExpiresAt.IsZero() && key.ExpiresAt.Before(until) {
		until = key.ExpiresAt
	}
	k.found.Set("key:"+hash, foundKey{principal: key.principal(), until: until})
	return key.principal(), nil
}

func refusedKey() error {
	return errs.New(errs.InvalidCredentials, "The API key is not valid. It may have been deleted or disabled, or it has expired.")
}

func (k APIKey) principal() Principal {
	return Principal{Kind: Key, Credential: ByAPIKey, KeyID: k.ID, KeyWorkspace: k.WorkspaceID}
}

func hashKey(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Touch remembers that a key was used now. It writes at most once a minute for a key, and needs no transaction around it.
func (k *Keys) Touch(ctx context.Context, db *sqldb.DB, keyID string) error {
	now := k.clock.Now()
	if last, ok := k.touched.GetIfPresent(keyID); ok && now.Sub(last) < touchPeriod {
		return nil
	}
	k.touched.Set(keyID, now)
	return db.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE access_api_keys SET last_used_at = $1 WHERE id = $2 AND last_used_at <= $3`,
			sqldb.Millis(now), keyID, sqldb.Millis(now.Add(-touchPeriod)))
		return err
	})
}

func keyByID(ctx context.Context, r sqldb.Reader, workspaceID, id string) (APIKey, error) {
	return scanKey(r.QueryRow(ctx, `SELECT `+keyColumns+` FROM access_api_keys WHERE id = $1 AND workspace_id = $2`, id, workspaceID).Scan)
}
