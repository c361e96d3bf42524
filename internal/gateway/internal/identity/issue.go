package identity

import (
	"context"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// TokenRequest asks for a further token of a session, on behalf of a client.
type TokenRequest struct {
	SessionID string
	ClientID  string
	Scopes    []string
	// Life is how long the token lasts; zero means as long as tokens do.
	Life time.Duration
}

// Token is a signed token.
type Token struct {
	JWT     string //nolint:gosec // what is handed out
	ID      string
	Issued  time.Time
	Expires time.Time
}

// IssueToken signs a token for a session that has not ended, and has the session last as long as its token.
func (i *Identity) IssueToken(ctx context.Context, wanted TokenRequest) (Token, error) {
	state, err := i.readSession(ctx, "s.id", wanted.SessionID)
	if err != nil {
		return Token{}, err
	}
	if state.ended || state.pending() {
		return Token{}, badToken("its session has ended")
	}
	life := wanted.Life
	if longest := i.deps.Config.AccessTokensMaxAge; life <= 0 || life > longest { // the key is kept no longer
		life = longest
	}
	now := i.now()
	made := Token{ID: i.deps.IDs.UUID(), Issued: now, Expires: now.Add(life)}
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		extended, err := tx.Exec(ctx, `UPDATE gw_sessions SET expires_at = CASE WHEN expires_at < $1 THEN $1 ELSE expires_at END
			WHERE id = $2 AND revoked_at = 0`, sqldb.Millis(made.Expires), wanted.SessionID)
		if err == nil && extended == 0 {
			return badToken("its session has ended")
		}
		return err
	})
	if err != nil {
		return Token{}, err
	}
	made.JWT, err = i.issue(grant{
		id: made.ID, session: state.session, clientID: wanted.ClientID, scopes: wanted.Scopes, issued: made.Issued, expires: made.Expires,
	})
	return made, errs.Wrap(err, "sign a token")
}
