package identity

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// User is an account as its owner sees it.
type User struct {
	ID        string
	Email     string
	FirstName string
	LastName  string
	Language  string
	Photo     string
	Status    Status
	// Verified tells that the account's owner has shown to receive mail at its address.
	Verified   bool
	Anonymous  bool
	SuperAdmin bool
	// stored tells that the account is a super admin by its own, not only because the configuration lists its address.
	stored bool
	// HasPassword tells that the account can sign in here, besides external providers.
	HasPassword bool
	// MFA is the second factor the account has set up: totp, or empty.
	MFA       string
	Meta      map[string]any
	Groups    []string
	AuthData  map[string]map[string]any
	CreatedAt time.Time
	UpdatedAt time.Time
	UpdatedBy string
	ExpiresAt time.Time
}

// Status is the state of an account.
type Status string

// The states of an account; only a validated one can sign in.
const (
	Pending     Status = "pending"
	Validated   Status = "validated"
	Deactivated Status = "deactivated"
)

// The providers that are built in; others have the slug of their configuration.
const (
	LocalProvider     = "svc"
	AnonymousProvider = "anonymous"
	ServiceProvider   = "service"
)

// userColumns are read by scanUser; every query that uses them names gw_users u.
const userColumns = `u.id, COALESCE(u.email, ''), u.first_name, u.last_name, u.language, u.photo, u.status, u.email_verified <> 0,
	u.anonymous <> 0, u.super_admin <> 0, u.password_hash <> '', u.mfa, u.meta, u.user_groups, u.created_at, u.updated_at, u.updated_by,
	u.expires_at, COALESCE((SELECT ` + linksAsText + ` FROM gw_links l WHERE l.user_id = u.id), '')`

// linksAsText gathers the links of a user in one text that both engines can make: a line for each, provider and claims.
const linksAsText = `STRING_AGG(l.provider || ' ' || l.claims, '
')`

func (i *Identity) scanUser(scan func(...any) error, more ...any) (User, error) {
	var u User
	var created, updated, expires int64
	var meta, groups, links string
	fields := []any{
		&u.ID, &u.Email, &u.FirstName, &u.LastName, &u.Language, &u.Photo, &u.Status, &u.Verified, &u.Anonymous, &u.stored,
		&u.HasPassword, &u.MFA, &meta, &groups, &created, &updated, &u.UpdatedBy, &expires, &links,
	}
	if err := scan(append(fields, more...)...); err != nil {
		return u, err
	}
	u.CreatedAt, u.UpdatedAt = sqldb.Time(created), sqldb.Time(updated)
	if expires > 0 {
		u.ExpiresAt = sqldb.Time(expires)
	}
	if err := json.Unmarshal([]byte(meta), &u.Meta); err != nil {
		return u, err
	}
	if err := json.Unmarshal([]byte(groups), &u.Groups); err != nil {
		return u, err
	}
	u.SuperAdmin = u.stored || u.Verified && i.listedAdmin(u.Email)
	return u, u.gatherAuthData(links)
}

// gatherAuthData puts together what every provider says of the user.
func (u *User) gatherAuthData(links string) error {
	u.AuthData = map[string]map[string]any{}
	switch {
	case u.Anonymous:
		u.AuthData[AnonymousProvider] = map[string]any{"expiresAt": u.ExpiresAt.UTC().Format(time.RFC3339)}
	case u.isService():
		u.AuthData[ServiceProvider] = map[string]any{"id": u.ID}
	case u.HasPassword && u.Verified: // an address that nobody has shown to be theirs proves nothing to a rule
		u.AuthData[LocalProvider] = map[string]any{"id": u.ID, "email": u.Email}
	case u.HasPassword:
		u.AuthData[LocalProvider] = map[string]any{"id": u.ID}
	}
	for line := range strings.SplitSeq(links, "\n") {
		provider, text, found := strings.Cut(line, " ")
		if !found {
			continue
		}
		var claims map[string]any
		if err := json.Unmarshal([]byte(text), &claims); err != nil {
			return err
		}
		u.AuthData[provider] = claims
	}
	return nil
}

func (u *User) isService() bool { return strings.HasPrefix(u.ID, access.ServicePrefix) }

// listedAdmin tells whether the configuration names the address. It counts only for those who have shown that it is theirs.
func (i *Identity) listedAdmin(email string) bool {
	return email != "" && slices.ContainsFunc(i.deps.Config.SuperAdminEmails, func(listed string) bool {
		return strings.EqualFold(strings.TrimSpace(listed), email)
	})
}

// User reads an account; resource_not_found when there is none.
func (i *Identity) User(ctx context.Context, id string) (User, error) {
	return i.userBy(ctx, i.deps.DB, "u.id", id)
}

func (i *Identity) userBy(ctx context.Context, r sqldb.Reader, column, value string) (User, error) {
	u, err := i.scanUser(r.QueryRow(ctx, `SELECT `+userColumns+` FROM gw_users u WHERE `+column+` = $1`, value).Scan)
	if sqldb.IsNotFound(err) {
		return u, errs.Missing("users", value)
	}
	return u, err
}

// normalEmail is how addresses are stored and compared.
func normalEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// insertUser stores a new account; a unique failure means that its address is taken.
func (i *Identity) insertUser(ctx context.Context, tx *sqldb.Tx, u User, passwordHash string) error {
	var expires int64
	if !u.ExpiresAt.IsZero() {
		expires = sqldb.Millis(u.ExpiresAt)
	}
	_, err := tx.Exec(ctx, `INSERT INTO gw_users (id, email, first_name, last_name, language, status, email_verified, anonymous, super_admin,
			password_hash, created_at, updated_at, updated_by, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		u.ID, sql.NullString{String: u.Email, Valid: u.Email != ""}, u.FirstName, u.LastName, u.Language, u.Status, flag(u.Verified),
		flag(u.Anonymous), flag(u.stored), passwordHash, sqldb.Millis(u.CreatedAt), sqldb.Millis(u.UpdatedAt), u.UpdatedBy, expires)
	return err
}

// saveUser writes what can be changed of an account.
func (i *Identity) saveUser(ctx context.Context, tx *sqldb.Tx, u User) error {
	meta, err := json.Marshal(u.Meta)
	if err != nil {
		return err
	}
	groups, err := json.Marshal(append([]string{}, u.Groups...))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `UPDATE gw_users SET email = $1, first_name = $2, last_name = $3, language = $4, photo = $5, status = $6,
			email_verified = $7, super_admin = $8, mfa = $9, meta = $10, user_groups = $11, updated_at = $12, updated_by = $13 WHERE id = $14`,
		sql.NullString{String: u.Email, Valid: u.Email != ""}, u.FirstName, u.LastName, u.Language, u.Photo, u.Status, flag(u.Verified),
		flag(u.stored), u.MFA, string(meta), string(groups), sqldb.Millis(u.UpdatedAt), u.UpdatedBy, u.ID)
	return err
}

func flag(b bool) int {
	if b {
		return 1
	}
	return 0
}

// EnsureAdmin makes a super admin when there is none. It returns the password when it had to invent one, to be shown once.
func (i *Identity) EnsureAdmin(ctx context.Context) (invented string, err error) {
	if count, err := i.countAdmins(ctx, i.deps.DB, ""); err != nil || count > 0 {
		return "", err
	}
	password := i.deps.Config.AdminPassword.Reveal()
	if password == "" {
		password = i.deps.IDs.Secret()[:20]
		invented = password
	}
	hash, err := i.hashPassword(ctx, password)
	if err != nil {
		return "", err
	}
	now := i.now()
	admin := User{
		ID: i.deps.IDs.User(), Email: normalEmail(i.deps.Config.AdminEmail), FirstName: "Admin", Status: Validated, Verified: true, stored: true,
		CreatedAt: now, UpdatedAt: now,
	}
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error { return i.insertUser(ctx, tx, admin, hash) })
	if sqldb.IsUnique(err) {
		return "", i.explainNoAdmin(ctx)
	}
	return invented, errs.Wrap(err, "create the super admin")
}

// explainNoAdmin tells why there is no super admin though its address is taken: another instance was first, or the address
// is that of an ordinary account, which is not made an administrator behind anybody's back.
func (i *Identity) explainNoAdmin(ctx context.Context) error {
	count, err := i.countAdmins(ctx, i.deps.DB, "")
	if err != nil || count > 0 || len(i.deps.Config.SuperAdminEmails) > 0 {
		return err
	}
	return errors.New("there is no super admin, and ADMIN_EMAIL belongs to an ordinary account: name a super admin's address in SUPER_ADMIN_EMAILS, or choose another ADMIN_EMAIL")
}

// countAdmins counts the super admins that can sign in, besides one: those stored as such and those that the configuration
// lists.
func (i *Identity) countAdmins(ctx context.Context, r sqldb.Reader, besides string) (count int, err error) {
	condition, args := `super_admin = 1`, []any{Validated, besides}
	for _, listed := range i.deps.Config.SuperAdminEmails {
		args = append(args, normalEmail(listed))
		condition += ` OR email_verified = 1 AND email = $` + strconv.Itoa(len(args))
	}
	err = r.QueryRow(ctx, `SELECT COUNT(*) FROM gw_users WHERE status = $1 AND id <> $2 AND (`+condition+`)`, args...).Scan(&count)
	return count, err
}
