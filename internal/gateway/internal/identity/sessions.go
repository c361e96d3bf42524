package identity

import (
	"context"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

type session struct {
	id, userID       string
	created, expires time.Time
}

// sessionState is what requests need to know about their session and its account, believed for two seconds.
type sessionState struct {
	user    User
	expires time.Time
	ended   bool
	readAt  time.Time
}

// now is the time as it is stored, so that an answer shows what a later read will show.
func (i *Identity) now() time.Time { return sqldb.Time(sqldb.Millis(i.deps.Clock.Now())) }

// newSession stores a session in the caller's transaction.
func (i *Identity) newSession(ctx context.Context, tx *sqldb.Tx, userID string, life time.Duration) (session, error) {
	now := i.now()
	s := session{id: i.deps.IDs.UUID(), userID: userID, created: now, expires: now.Add(life)}
	_, err := tx.Exec(ctx, `INSERT INTO gw_sessions (id, user_id, created_at, expires_at, revoked_at) VALUES ($1, $2, $3, $4, 0)`,
		s.id, s.userID, sqldb.Millis(s.created), sqldb.Millis(s.expires))
	return s, err
}

// Authenticate tells who holds a token. It never trusts the token alone: the session and the account are looked at too.
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
	kind := access.User
	if state.user.Anonymous {
		kind = access.Anonymous
	}
	return access.Principal{
		Kind: kind, UserID: state.user.ID, SessionID: verified.sessionID, SuperAdmin: state.user.SuperAdmin, Scopes: verified.scopes,
	}, nil
}

// Me gives the caller's own account and when the session ends.
func (i *Identity) Me(ctx context.Context) (User, time.Time, error) {
	state, err := i.session(ctx, access.From(ctx).SessionID)
	if err == nil && state.ended {
		err = badToken("its session has ended")
	}
	return state.user, state.expires, err
}

func (i *Identity) session(ctx context.Context, id string) (sessionState, error) {
	now := i.deps.Clock.Now()
	if state, ok := i.sessions.GetIfPresent(id); ok && now.Sub(state.readAt) < revocationDelay {
		return state, nil
	}
	var expires, revoked int64
	user, err := scanUser(i.deps.DB.QueryRow(ctx, `SELECT `+userColumns+`, session_expires_at, session_revoked_at
		FROM (SELECT u.*, s.expires_at AS session_expires_at, s.revoked_at AS session_revoked_at
			FROM gw_sessions s JOIN gw_users u ON u.id = s.user_id WHERE s.id = $1) AS both_rows`, id).Scan, &expires, &revoked)
	missing := sqldb.IsNotFound(err)
	if err != nil && !missing {
		return sessionState{}, err
	}
	user.SuperAdmin = user.SuperAdmin || i.isSuperAdmin(user.Email)
	state := sessionState{user: user, expires: sqldb.Time(expires), ended: missing || revoked != 0 || user.Status != statusValidated, readAt: now}
	i.sessions.Set(id, state)
	return state, nil
}

func (i *Identity) isSuperAdmin(email string) bool {
	return email != "" && slices.ContainsFunc(i.deps.Config.SuperAdminEmails, func(listed string) bool {
		return strings.EqualFold(strings.TrimSpace(listed), email)
	})
}

// SignOut ends the caller's session.
func (i *Identity) SignOut(ctx context.Context, sessionID string) error {
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE gw_sessions SET revoked_at = $1 WHERE id = $2 AND revoked_at = 0`,
			sqldb.Millis(i.deps.Clock.Now()), sessionID)
		return err
	})
	i.sessions.Invalidate(sessionID)
	return errs.Wrap(err, "end a session")
}
