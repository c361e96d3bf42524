package identity

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/sqldb"
)

// Session is a sign-in that has not ended, as its owner sees it.
type Session struct {
	ID       string
	UserID   string
	ClientID string
	Provider string
	Address  string
	Agent    string
	Created  time.Time
	Seen     time.Time
	Expires  time.Time
	// FactorAt is when the second factor was given; zero when it was not.
	FactorAt time.Time
}

// SignedInHere tells that its owner signed in on one of our pages, rather than let a device in.
func (s Session) SignedInHere() bool { return s.ClientID == signInClient }

// sessionState is what requests need to know about their session and its account, believed for two seconds.
type sessionState struct {
	user    User
	session Session
	ended   bool
	// browserEnds is when the browser's cookie stops counting.
	browserEnds time.Time
	// forced tells that accounts with a password must have a second factor.
	forced bool
	readAt time.Time
}

// pending tells that the session still owes its second factor, or, where accounts with a password must have one, setting it up.
func (s sessionState) pending() bool {
	return s.session.FactorAt.IsZero() && (s.user.MFA != "" || s.forced && s.session.Provider == LocalProvider)
}

// now is the time as it is stored, so that an answer shows what a later read will show.
func (i *Identity) now() time.Time { return sqldb.Time(sqldb.Millis(i.deps.Clock.Now())) }

// insertSession stores a session in the caller's transaction. browser is the secret of the cookie, or empty.
func (i *Identity) insertSession(ctx context.Context, tx *sqldb.Tx, s Session, browser string) error {
	info := httpx.InfoFrom(ctx)
	var factor, browserEnds int64
	var browserHash sql.NullString
	if !s.FactorAt.IsZero() {
		factor = sqldb.Millis(s.FactorAt)
	}
	if browser != "" {
		browserHash = sql.NullString{String: hashSecret(browser), Valid: true}
		browserEnds = sqldb.Millis(s.Created.Add(i.deps.Config.SessionMaxAge))
	}
	_, err := tx.Exec(ctx, `INSERT INTO gw_sessions (id, user_id, client_id, provider, address, agent, created_at, seen_at, expires_at, revoked_at,
			factor_at, browser_hash, browser_expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0, $10, $11, $12)`,
		s.ID, s.UserID, s.ClientID, s.Provider, info.Client.String(), info.Agent, sqldb.Millis(s.Created), sqldb.Millis(s.Created),
		sqldb.Millis(s.Expires), factor, browserHash, browserEnds)
	return err
}

// hashSecret is how opaque secrets are stored and looked up: by the whole text, so that no part of one is worth anything.
func hashSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

const sessionColumns = `s.id, s.user_id, s.client_id, s.provider, s.address, s.agent, s.created_at, s.seen_at, s.expires_at, s.factor_at,
	s.revoked_at, s.browser_expires_at`

// sessionRow is a session as it is stored.
type sessionRow struct {
	Session
	created, seen, expires, factor, revoked, browserEnds int64
}

func (r *sessionRow) fields() []any {
	return []any{
		&r.ID, &r.UserID, &r.ClientID, &r.Provider, &r.Address, &r.Agent, &r.created, &r.seen, &r.expires, &r.factor, &r.revoked, &r.browserEnds,
	}
}

func (r *sessionRow) session() Session {
	s := r.Session
	s.Created, s.Seen, s.Expires = sqldb.Time(r.created), sqldb.Time(r.seen), sqldb.Time(r.expires)
	if r.factor > 0 {
		s.FactorAt = sqldb.Time(r.factor)
	}
	return s
}

// Authenticate tells who holds a JWT. It never trusts the token alone: the session and the account are looked at too.
func (i *Identity) Authenticate(ctx context.Context, token string) (access.Principal, error) {
	verified, err := i.verify(ctx, token)
	if err != nil {
		return access.Principal{}, err
	}
	state, err := i.session(ctx, verified.sessionID)
	if err != nil {
		return access.Principal{}, err
	}
	if state.ended || state.user.ID != verified.subject {
		return access.Principal{}, badToken("its session has ended")
	}
	i.seen.note(seenSession, state.session.ID)
	p := principalOf(state.user)
	p.Credential, p.SessionID, p.Scopes, p.Pending = access.BySession, verified.sessionID, verified.scopes, state.pending()
	return p, nil
}

func principalOf(u User) access.Principal {
	p := access.Principal{Kind: access.User, UserID: u.ID, SuperAdmin: u.SuperAdmin, AuthData: u.AuthData}
	if u.Anonymous {
		p.Kind = access.Anonymous
	}
	return p
}

// Me gives the caller's own account and when its session or access token ends.
func (i *Identity) Me(ctx context.Context) (User, time.Time, error) {
	p := access.From(ctx)
	if p.Credential == access.ByAccessToken {
		return i.meByAccessToken(ctx, p)
	}
	state, err := i.session(ctx, p.SessionID)
	if err == nil && state.ended {
		err = badToken("its session has ended")
	}
	return state.user, state.session.Expires, err
}

func (i *Identity) session(ctx context.Context, id string) (sessionState, error) {
	now := i.deps.Clock.Now()
	if state, ok := i.sessions.GetIfPresent(id); ok && now.Sub(state.readAt) < revocationDelay {
		return state, nil
	}
	state, err := i.readSession(ctx, "s.id", id)
	if err != nil {
		return sessionState{}, err
	}
	state.readAt = now
	i.sessions.Set(id, state)
	return state, nil
}

// readSession finds a session and its account; an ended one when there is none.
func (i *Identity) readSession(ctx context.Context, column, value string) (sessionState, error) {
	var row sessionRow
	user, err := i.scanUser(i.deps.DB.QueryRow(ctx, `SELECT `+userColumns+`, `+sessionColumns+`
		FROM gw_sessions s JOIN gw_users u ON u.id = s.user_id WHERE `+column+` = $1`, value).Scan, row.fields()...)
	if sqldb.IsNotFound(err) {
		return sessionState{ended: true}, nil
	}
	if err != nil {
		return sessionState{}, err
	}
	now := i.deps.Clock.Now()
	return sessionState{
		user: user, session: row.session(), browserEnds: sqldb.Time(row.browserEnds), forced: i.deps.Config.ForceMFA,
		ended: row.revoked != 0 || user.Status != Validated || now.After(sqldb.Time(row.expires).Add(leeway)),
	}, nil
}

// Browser is a browser that is signed in.
type Browser struct {
	Session Session
	User    User
	// Pending tells that the second factor is still owed.
	Pending bool
}

// FindBrowser tells who is signed in in the browser with the cookie's secret; invalid_token when nobody is.
func (i *Identity) FindBrowser(ctx context.Context, secret string) (Browser, error) {
	state, err := i.readSession(ctx, "s.browser_hash", hashSecret(secret))
	if err != nil {
		return Browser{}, err
	}
	if state.ended || !i.deps.Clock.Now().Before(state.browserEnds) {
		return Browser{}, badToken("nobody is signed in in this browser")
	}
	return Browser{Session: state.session, User: state.user, Pending: state.pending()}, nil
}

// Alive tells whether a session goes on and owes nothing.
func (i *Identity) Alive(ctx context.Context, sessionID string) (bool, error) {
	state, err := i.readSession(ctx, "s.id", sessionID)
	return err == nil && !state.ended && !state.pending(), err
}

// Sessions lists the sessions of a user that have not ended, the newest first.
func (i *Identity) Sessions(ctx context.Context, userID string) ([]Session, error) {
	return sqldb.All(ctx, i.deps.DB, scanListed,
		`SELECT `+sessionColumns+` FROM gw_sessions s WHERE s.user_id = $1 AND s.revoked_at = 0 AND s.expires_at > $2
		ORDER BY s.created_at DESC, s.id LIMIT $3`, userID, sqldb.Millis(i.deps.Clock.Now()), maxListed)
}

func scanListed(rows *sql.Rows) (Session, error) {
	var row sessionRow
	err := rows.Scan(row.fields()...)
	return row.session(), err
}

// maxListed bounds the lists that are not paged.
const maxListed = 1000

// SignOut ends the caller's session.
func (i *Identity) SignOut(ctx context.Context, sessionID string) error {
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		ended, err := i.endSessions(ctx, tx, `id = $2`, sessionID)
		if err != nil || ended == 0 {
			return err
		}
		return i.audit(ctx, tx, Act{Payload: new(catalogue.LogoutSucceeded), TargetType: "sessions", TargetID: sessionID})
	})
	i.sessions.Invalidate(sessionID)
	return errs.Wrap(err, "end a session")
}

// EndSession ends one of a user's sessions; resource_not_found when the user has no such session.
func (i *Identity) EndSession(ctx context.Context, userID, sessionID string) error {
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		ended, err := i.endSessions(ctx, tx, `id = $2 AND user_id = $3`, sessionID, userID)
		if err != nil {
			return err
		}
		if ended == 0 {
			return errs.Missing("sessions", sessionID)
		}
		return i.audit(ctx, tx, Act{TargetType: "sessions", TargetID: sessionID, Payload: &catalogue.SessionsRevoked{UserID: userID}})
	})
	i.sessions.Invalidate(sessionID)
	return err
}

// EndSessions ends every session of a user but one, which may be empty to end all, and tells how many there were.
func (i *Identity) EndSessions(ctx context.Context, userID, except string) (ended int64, err error) {
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if ended, err = i.endSessions(ctx, tx, `user_id = $2 AND id <> $3`, userID, except); err != nil || ended == 0 {
			return err
		}
		return i.audit(ctx, tx, Act{TargetType: "users", TargetID: userID, Payload: &catalogue.SessionsRevoked{Count: ended}})
	})
	i.sessions.InvalidateAll()
	return ended, err
}

// endSessions revokes what the condition names; its parameters begin with $2.
func (i *Identity) endSessions(ctx context.Context, tx *sqldb.Tx, condition string, args ...any) (int64, error) {
	return tx.Exec(ctx, `UPDATE gw_sessions SET revoked_at = $1, browser_hash = NULL WHERE revoked_at = 0 AND `+condition,
		append([]any{sqldb.Millis(i.deps.Clock.Now())}, args...)...)
}

// PassFactor notes that the second factor of a session was given.
func (i *Identity) PassFactor(ctx context.Context, tx *sqldb.Tx, sessionID string) error {
	_, err := tx.Exec(ctx, `UPDATE gw_sessions SET factor_at = $1 WHERE id = $2`, sqldb.Millis(i.deps.Clock.Now()), sessionID)
	return err
}

// Forget makes the next request look at a session anew, after something about it or its account was changed.
func (i *Identity) Forget(sessionID string) { i.sessions.Invalidate(sessionID) }
