package identity

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Directory reads accounts for services that know only their ids. It needs nothing but the database they share.
type Directory struct{ identity *Identity }

// NewDirectory returns the directory of an installation with these settings.
func NewDirectory(cfg config.Config) *Directory {
	return &Directory{identity: &Identity{deps: Deps{Config: cfg}}}
}

// namesAtOnce is how many accounts one query asks for.
const namesAtOnce = 500

// Names gives the names of accounts by their ids. Ids that no account has are left out, and so are those of visitors, who
// are gone before long. An account that nobody has given a name is called by its id.
func (d *Directory) Names(ctx context.Context, r sqldb.Reader, ids []string) (map[string]string, error) {
	names := make(map[string]string, len(ids))
	for some := range slices.Chunk(ids, namesAtOnce) {
		args := make([]any, 0, len(some))
		for _, id := range some {
			args = append(args, id)
		}
		_, err := sqldb.All(ctx, r, func(rows *sql.Rows) (struct{}, error) {
			var id, first, last string
			err := rows.Scan(&id, &first, &last)
			if names[id] = strings.TrimSpace(first + " " + last); names[id] == "" {
				names[id] = id
			}
			return struct{}{}, err
		}, `SELECT id, first_name, last_name FROM gw_users WHERE anonymous = 0 AND id IN (`+sqldb.In(1, len(args))+`)`, args...)
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}

// Principal gives the caller that an account is when it has signed in, without a session; resource_not_found when there is
// none.
func (d *Directory) Principal(ctx context.Context, r sqldb.Reader, userID string) (access.Principal, error) {
	u, err := d.identity.userBy(ctx, r, "u.id", userID)
	if err != nil {
		return access.Principal{}, err
	}
	return principalOf(u), nil
}

// ByEmail gives the id of the account with an address; empty when there is none.
func (d *Directory) ByEmail(ctx context.Context, r sqldb.Reader, email string) (string, error) {
	u, err := d.identity.userBy(ctx, r, "u.email", normalEmail(email))
	if errs.CodeOf(err) == errs.NotFound {
		return "", nil
	}
	return u.ID, err
}

// Session gives the caller that has a session or an access token, and when that expires, which may have been; resource_not_found
// when there is none, or somebody has ended it.
func (d *Directory) Session(ctx context.Context, r sqldb.Reader, sessionID string) (access.Principal, time.Time, error) {
	query, id := `gw_sessions s JOIN gw_users u ON u.id = s.user_id WHERE s.id = $1 AND s.revoked_at = 0`, sessionID
	if tokenID, ok := strings.CutPrefix(sessionID, TokenPrefix); ok {
		query, id = `gw_access_tokens s JOIN gw_users u ON u.id = s.user_id WHERE s.id = $1`, tokenID
	}
	var expires int64
	u, err := d.identity.scanUser(r.QueryRow(ctx, `SELECT `+userColumns+`, s.expires_at FROM `+query, id).Scan, &expires)
	if sqldb.IsNotFound(err) || err == nil && u.Status != Validated {
		return access.Principal{}, time.Time{}, errs.Missing("sessions", sessionID)
	}
	p := principalOf(u)
	p.SessionID = sessionID
	return p, sqldb.Time(expires), err
}
