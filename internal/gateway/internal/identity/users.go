package identity

import (
	"context"
	"database/sql"
	"strings"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// User is an account as its owner sees it.
type User struct {
	ID         string
	Email      string
	FirstName  string
	LastName   string
	Language   string
	Status     string
	Anonymous  bool
	SuperAdmin bool
	CreatedAt  time.Time
	UpdatedAt  time.Time
	ExpiresAt  time.Time
}

const statusValidated = "validated"

const userColumns = `id, COALESCE(email, ''), first_name, last_name, language, status, anonymous <> 0, super_admin <> 0, created_at, updated_at, expires_at`

func scanUser(scan func(...any) error, more ...any) (User, error) {
	var u User
	var created, updated, expires int64
	fields := []any{&u.ID, &u.Email, &u.FirstName, &u.LastName, &u.Language, &u.Status, &u.Anonymous, &u.SuperAdmin, &created, &updated, &expires}
	err := scan(append(fields, more...)...)
	u.CreatedAt, u.UpdatedAt = sqldb.Time(created), sqldb.Time(updated)
	if expires > 0 {
		u.ExpiresAt = sqldb.Time(expires)
	}
	return u, err
}

func (i *Identity) insertUser(ctx context.Context, tx *sqldb.Tx, u User, passwordHash string) error {
	var expires int64
	if !u.ExpiresAt.IsZero() {
		expires = sqldb.Millis(u.ExpiresAt)
	}
	_, err := tx.Exec(ctx, `INSERT INTO gw_users (id, email, first_name, last_name, language, status, anonymous, super_admin, password_hash,
			created_at, updated_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
		u.ID, sql.NullString{String: u.Email, Valid: u.Email != ""}, u.FirstName, u.LastName, u.Language, u.Status, flag(u.Anonymous),
		flag(u.SuperAdmin), passwordHash, sqldb.Millis(u.CreatedAt), sqldb.Millis(u.UpdatedAt), expires)
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
	var count int
	if err := i.deps.DB.QueryRow(ctx, `SELECT COUNT(*) FROM gw_users WHERE super_admin = 1`).Scan(&count); err != nil || count > 0 {
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
		ID: i.deps.IDs.User(), Email: strings.ToLower(i.deps.Config.AdminEmail), FirstName: "Admin", Status: statusValidated, SuperAdmin: true,
		CreatedAt: now, UpdatedAt: now,
	}
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error { return i.insertUser(ctx, tx, admin, hash) })
	if sqldb.IsUnique(err) {
		return "", nil // another instance was first
	}
	return invented, errs.Wrap(err, "create the super admin")
}
