package identity

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/sqldb"
)

// TokenPrefix begins every access token, so that people and scanners recognise one.
const TokenPrefix = "at:"

// tokenLength is the length of an access token: the prefix and 256 bits.
const tokenLength = len(TokenPrefix) + 43

// maxAccessTokens is how many access tokens one user may have.
const maxAccessTokens = 50

// AccessToken is a long-lived token of a user. Its value is shown once, when it is made.
type AccessToken struct {
	ID      string
	UserID  string
	Name    string
	Mask    string
	Scopes  []string
	Created time.Time
	Expires time.Time
	// Used is when it was last used, to about half a minute; zero when it never was.
	Used time.Time
}

// tokenState is what requests need to know about an access token and its account, believed for two seconds.
type tokenState struct {
	token  AccessToken
	user   User
	known  bool
	readAt time.Time
}

// NewAccessToken is what a user asks for.
type NewAccessToken struct {
	Name    string
	Expires time.Time
	// Scopes bound the token; nil means as much as the caller's own credential.
	Scopes []string
}

// CreateAccessToken makes an access token for the caller. It can do no more than the session that asks for it.
func (i *Identity) CreateAccessToken(ctx context.Context, wanted NewAccessToken) (secret string, made AccessToken, err error) {
	caller := access.From(ctx)
	if err := i.checkWanted(caller, &wanted); err != nil {
		return "", made, err
	}
	secret = TokenPrefix + i.deps.IDs.Secret()
	made = AccessToken{
		ID: i.deps.IDs.User(), UserID: caller.UserID, Name: wanted.Name, Mask: mask(secret), Scopes: wanted.Scopes,
		Created: i.now(), Expires: sqldb.Time(sqldb.Millis(wanted.Expires)),
	}
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		var count int
		if err := tx.QueryRow(ctx, `SELECT COUNT(*) FROM gw_access_tokens WHERE user_id = $1 AND expires_at > $2`,
			caller.UserID, sqldb.Millis(i.deps.Clock.Now())).Scan(&count); err != nil {
			return err
		}
		if count >= maxAccessTokens {
			return errs.Newf(errs.QuotaExceeded, "You have %d access tokens; delete one that you no longer need.", maxAccessTokens)
		}
		if _, err := tx.Exec(ctx, `INSERT INTO gw_access_tokens (id, user_id, name, hash, mask, scopes, created_at, expires_at, used_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0)`, made.ID, made.UserID, made.Name, hashSecret(secret), made.Mask,
			strings.Join(made.Scopes, " "), sqldb.Millis(made.Created), sqldb.Millis(made.Expires)); err != nil {
			return err
		}
		return i.audit(ctx, tx, Act{Payload: &catalogue.AccessToken{Verb: catalogue.Created}, TargetType: "accessTokens", TargetID: made.ID, After: made.facts()})
	})
	return secret, made, err
}

func (i *Identity) checkWanted(caller access.Principal, wanted *NewAccessToken) error {
	now := i.deps.Clock.Now()
	longest := i.deps.Config.AccessTokenLimit
	switch {
	case !wanted.Expires.After(now):
		return errs.Invalid(errs.Field{Field: "expiresAt", Message: "choose a time in the future"})
	case wanted.Expires.After(now.Add(longest)):
		return errs.Invalid(errs.Field{Field: "expiresAt", Message: fmt.Sprintf("choose a time at most %d days away", int(longest.Hours()/24))}) //nolint:mnd // a day
	}
	if wanted.Scopes == nil {
		wanted.Scopes = slices.DeleteFunc(access.Scopes(), func(s string) bool { return !slices.Contains(caller.Scopes, s) })
	}
	for index, scope := range wanted.Scopes {
		if !slices.Contains(access.Scopes(), scope) {
			return errs.Invalid(errs.Field{Field: fmt.Sprintf("scopes[%d]", index), Message: "use one of " + strings.Join(access.Scopes(), ", ")})
		}
		if !slices.Contains(caller.Scopes, scope) {
			return errs.Newf(errs.InsufficientScope, "Your own token lacks the scope %s, so it cannot be given on.", scope)
		}
	}
	return nil
}

// facts is what the audit trail says of a token.
func (t AccessToken) facts() map[string]any {
	return map[string]any{"name": t.Name, "userId": t.UserID, "scopes": t.Scopes, "expiresAt": t.Expires.UTC().Format(time.RFC3339)}
}

// mask shows enough of a secret to tell it from others, and too little to be of use.
func mask(secret string) string {
	const head, tail = 6, 4
	return secret[:head] + "…" + secret[len(secret)-tail:]
}

const accessTokenColumns = `t.id, t.user_id, t.name, t.mask, t.scopes, t.created_at, t.expires_at, t.used_at` //nolint:gosec // names of columns

// tokenRow is an access token as it is stored.
type tokenRow struct {
	AccessToken
	scopes                 string
	created, expires, used int64
}

func (r *tokenRow) fields() []any {
	return []any{&r.ID, &r.UserID, &r.Name, &r.Mask, &r.scopes, &r.created, &r.expires, &r.used}
}

func (r *tokenRow) token() AccessToken {
	t := r.AccessToken
	t.Scopes = access.ParseScopes(r.scopes)
	t.Created, t.Expires = sqldb.Time(r.created), sqldb.Time(r.expires)
	if r.used > 0 {
		t.Used = sqldb.Time(r.used)
	}
	return t
}

// AccessTokens lists a user's access tokens that have not expired, the newest first.
func (i *Identity) AccessTokens(ctx context.Context, userID string) ([]AccessToken, error) {
	return sqldb.All(ctx, i.deps.DB, func(rows *sql.Rows) (AccessToken, error) {
		var row tokenRow
		err := rows.Scan(row.fields()...)
		return row.token(), err
	}, `SELECT `+accessTokenColumns+` FROM gw_access_tokens t WHERE t.user_id = $1 AND t.expires_at > $2 ORDER BY t.created_at DESC, t.id LIMIT $3`,
		userID, sqldb.Millis(i.deps.Clock.Now()), maxListed)
}

// DeleteAccessToken removes one of a user's access tokens, named by its id or by its value, and tells what it was.
func (i *Identity) DeleteAccessToken(ctx context.Context, userID, idOrValue string) (AccessToken, error) {
	var row tokenRow
	hash := hashSecret(idOrValue)
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		err := tx.QueryRow(ctx, `SELECT `+accessTokenColumns+` FROM gw_access_tokens t WHERE t.user_id = $1 AND (t.id = $2 OR t.hash = $3)`,
			userID, idOrValue, hash).Scan(row.fields()...)
		if sqldb.IsNotFound(err) {
			return errs.New(errs.NotFound, "You have no such access token.")
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM gw_access_tokens WHERE id = $1`, row.ID); err != nil {
			return err
		}
		return i.audit(ctx, tx, Act{Payload: &catalogue.AccessToken{Verb: catalogue.Deleted}, TargetType: "accessTokens", TargetID: row.ID, Before: row.token().facts()})
	})
	i.tokens.InvalidateAll()
	return row.token(), err
}

// AuthenticateAccessToken tells who holds an access token.
func (i *Identity) AuthenticateAccessToken(ctx context.Context, secret string) (access.Principal, error) {
	if len(secret) != tokenLength || !strings.HasPrefix(secret, TokenPrefix) {
		i.deps.Limits.Failed(ctx, limits.Token, limits.Hint(secret))
		return access.Principal{}, badAccessToken()
	}
	state, err := i.accessToken(ctx, secret)
	if err != nil {
		return access.Principal{}, err
	}
	if !state.known || state.user.Status != Validated {
		i.deps.Limits.Failed(ctx, limits.Token, limits.Hint(secret))
		return access.Principal{}, badAccessToken()
	}
	if i.deps.Clock.Now().After(state.token.Expires) {
		return access.Principal{}, errs.New(errs.TokenExpired, "The access token has expired; make a new one.")
	}
	i.seen.note(seenToken, state.token.ID)
	p := principalOf(state.user)
	p.Credential, p.SessionID, p.Scopes = access.ByAccessToken, TokenPrefix+state.token.ID, state.token.Scopes
	return p, nil
}

func badAccessToken() error { return errs.New(errs.InvalidToken, "The access token is not valid.") }

func (i *Identity) accessToken(ctx context.Context, secret string) (tokenState, error) {
	hash, now := hashSecret(secret), i.deps.Clock.Now()
	if state, ok := i.tokens.GetIfPresent(hash); ok && now.Sub(state.readAt) < revocationDelay {
		return state, nil
	}
	hint := limits.Hint(secret)
	if err := i.deps.Limits.Blocked(ctx, limits.Token, hint); err != nil {
		return tokenState{}, err
	}
	var row tokenRow
	user, err := i.scanUser(i.deps.DB.QueryRow(ctx, `SELECT `+userColumns+`, `+accessTokenColumns+`
		FROM gw_access_tokens t JOIN gw_users u ON u.id = t.user_id WHERE t.hash = $1`, hash).Scan, row.fields()...)
	if err != nil && !sqldb.IsNotFound(err) {
		return tokenState{}, err
	}
	state := tokenState{token: row.token(), user: user, known: err == nil, readAt: now}
	if state.known { // guesses are not worth remembering
		i.deps.Limits.Passed(ctx, limits.Token, hint)
		i.tokens.Set(hash, state)
	}
	return state, nil
}

func (i *Identity) meByAccessToken(ctx context.Context, p access.Principal) (User, time.Time, error) {
	var expires int64
	id := strings.TrimPrefix(p.SessionID, TokenPrefix)
	user, err := i.scanUser(i.deps.DB.QueryRow(ctx, `SELECT `+userColumns+`, t.expires_at
		FROM gw_access_tokens t JOIN gw_users u ON u.id = t.user_id WHERE t.id = $1`, id).Scan, &expires)
	if sqldb.IsNotFound(err) {
		return user, time.Time{}, badAccessToken()
	}
	return user, sqldb.Time(expires), err
}
