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

// ServiceAccount is an account for a machine: it has no address and no password, but a secret that is exchanged for
// short-lived tokens.
type ServiceAccount struct {
	Slug        string
	UserID      string
	Name        string
	Description string
	Mask        string
	Scopes      []string
	Disabled    bool
	Created     time.Time
	Rotated     time.Time
	Used        time.Time
}

const (
	serviceUserPrefix   = access.ServicePrefix + "platform:"
	serviceSecretPrefix = "sas_platform_"
	defaultServiceLife  = time.Hour
)

// ServiceDraft is what a super admin may set of a service account. A nil field is left alone.
type ServiceDraft struct {
	Name, Description *string
	Scopes            *[]string
	Disabled          *bool
}

// AddServiceAccount makes a service account and its secret, which is shown once.
func (i *Identity) AddServiceAccount(ctx context.Context, slug string, draft ServiceDraft) (secret string, made ServiceAccount, err error) {
	secret, now := serviceSecretPrefix+i.deps.IDs.Secret(), i.now()
	made = ServiceAccount{Slug: slug, UserID: serviceUserPrefix + slug, Name: slug, Mask: mask(secret), Scopes: ownScopes(ctx), Created: now, Rotated: now}
	if err := draft.apply(ctx, &made); err != nil {
		return "", made, err
	}
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		user := User{ID: made.UserID, FirstName: made.Name, Status: Validated, CreatedAt: now, UpdatedAt: now}
		if err := i.insertUser(ctx, tx, user, ""); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO gw_service_accounts (slug, user_id, description, hash, mask, scopes, disabled, created_at, rotated_at, used_at)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0)`, made.Slug, made.UserID, made.Description, hashSecret(secret), made.Mask,
			strings.Join(made.Scopes, " "), flag(made.Disabled), sqldb.Millis(now), sqldb.Millis(now)); err != nil {
			return err
		}
		return i.auditService(ctx, tx, catalogue.Created, made, nil)
	})
	if sqldb.IsUnique(err) {
		return "", made, errs.Newf(errs.AlreadyExists, "There is a service account %q; choose another slug.", slug).With("slug", slug)
	}
	return secret, made, err
}

// ownScopes are those of the caller's token: nobody hands out more.
func ownScopes(ctx context.Context) []string {
	caller := access.From(ctx)
	return slices.DeleteFunc(access.Scopes(), func(s string) bool { return !slices.Contains(caller.Scopes, s) })
}

func (draft ServiceDraft) apply(ctx context.Context, s *ServiceAccount) error {
	if draft.Name != nil {
		s.Name = *draft.Name
	}
	if draft.Description != nil {
		s.Description = *draft.Description
	}
	if draft.Disabled != nil {
		s.Disabled = *draft.Disabled
	}
	if draft.Scopes == nil {
		return nil
	}
	for index, scope := range *draft.Scopes {
		if !slices.Contains(access.Scopes(), scope) {
			return errs.Invalid(errs.Field{Field: fmt.Sprintf("scopes[%d]", index), Message: "use one of " + strings.Join(access.Scopes(), ", ")})
		}
		if !slices.Contains(ownScopes(ctx), scope) {
			return errs.Newf(errs.InsufficientScope, "Your own token lacks the scope %s, so it cannot be given on.", scope)
		}
	}
	s.Scopes = *draft.Scopes
	return nil
}

func (i *Identity) auditService(ctx context.Context, tx *sqldb.Tx, what catalogue.Verb, after ServiceAccount, before map[string]any) error {
	return i.audit(ctx, tx, Act{
		TargetType: "serviceAccounts", TargetID: after.Slug, Before: before, After: after.facts(),
		Payload: &catalogue.ServiceAccount{Verb: what, SASlug: after.Slug},
	})
}

func (s ServiceAccount) facts() map[string]any {
	return map[string]any{"slug": s.Slug, "name": s.Name, "description": s.Description, "scopes": s.Scopes, "disabled": s.Disabled}
}

const serviceColumns = `a.slug, a.user_id, u.first_name, a.description, a.mask, a.scopes, a.disabled <> 0, a.created_at, a.rotated_at, a.used_at
	FROM gw_service_accounts a JOIN gw_users u ON u.id = a.user_id`

func scanService(scan func(...any) error) (ServiceAccount, error) {
	var s ServiceAccount
	var scopes string
	var created, rotated, used int64
	err := scan(&s.Slug, &s.UserID, &s.Name, &s.Description, &s.Mask, &scopes, &s.Disabled, &created, &rotated, &used)
	s.Scopes, s.Created, s.Rotated = access.ParseScopes(scopes), sqldb.Time(created), sqldb.Time(rotated)
	if used > 0 {
		s.Used = sqldb.Time(used)
	}
	return s, err
}

// ServiceAccounts lists every service account by slug.
func (i *Identity) ServiceAccounts(ctx context.Context) ([]ServiceAccount, error) {
	return sqldb.All(ctx, i.deps.DB, func(rows *sql.Rows) (ServiceAccount, error) { return scanService(rows.Scan) },
		`SELECT `+serviceColumns+` ORDER BY a.slug LIMIT $1`, maxListed)
}

// ServiceAccount reads one; resource_not_found when there is none.
func (i *Identity) ServiceAccount(ctx context.Context, slug string) (ServiceAccount, error) {
	return i.serviceAccount(ctx, i.deps.DB, slug)
}

func (i *Identity) serviceAccount(ctx context.Context, r sqldb.Reader, slug string) (ServiceAccount, error) {
	s, err := scanService(r.QueryRow(ctx, `SELECT `+serviceColumns+` WHERE a.slug = $1`, slug).Scan)
	if sqldb.IsNotFound(err) {
		return s, errs.Missing("serviceAccounts", slug)
	}
	return s, err
}

// UpdateServiceAccount changes a service account. Disabling it, or taking scopes away, ends the tokens it has.
func (i *Identity) UpdateServiceAccount(ctx context.Context, slug string, draft ServiceDraft) (s ServiceAccount, err error) {
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if s, err = i.serviceAccount(ctx, tx, slug); err != nil {
			return err
		}
		before := s.facts()
		if err := draft.apply(ctx, &s); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE gw_service_accounts SET description = $1, scopes = $2, disabled = $3 WHERE slug = $4`,
			s.Description, strings.Join(s.Scopes, " "), flag(s.Disabled), slug); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE gw_users SET first_name = $1 WHERE id = $2`, s.Name, s.UserID); err != nil {
			return err
		}
		if s.Disabled || draft.Scopes != nil {
			if _, err := i.endSessions(ctx, tx, `user_id = $2`, s.UserID); err != nil {
				return err
			}
		}
		return i.auditService(ctx, tx, catalogue.Updated, s, before)
	})
	i.sessions.InvalidateAll()
	return s, err
}

// RotateServiceAccount replaces the secret. The old one and its tokens stop working.
func (i *Identity) RotateServiceAccount(ctx context.Context, slug string) (secret string, s ServiceAccount, err error) {
	secret = serviceSecretPrefix + i.deps.IDs.Secret()
	err = i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if s, err = i.serviceAccount(ctx, tx, slug); err != nil {
			return err
		}
		s.Mask, s.Rotated = mask(secret), i.now()
		if _, err := tx.Exec(ctx, `UPDATE gw_service_accounts SET hash = $1, mask = $2, rotated_at = $3 WHERE slug = $4`,
			hashSecret(secret), s.Mask, sqldb.Millis(s.Rotated), slug); err != nil {
			return err
		}
		if _, err := i.endSessions(ctx, tx, `user_id = $2`, s.UserID); err != nil {
			return err
		}
		return i.auditService(ctx, tx, catalogue.Rotated, s, nil)
	})
	i.sessions.InvalidateAll()
	return secret, s, err
}

// DeleteServiceAccount removes a service account and what it had access to.
func (i *Identity) DeleteServiceAccount(ctx context.Context, slug string) error {
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		s, err := i.serviceAccount(ctx, tx, slug)
		if err != nil {
			return err
		}
		orphans, err := i.deps.Forget(ctx, tx, s.UserID)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM gw_users WHERE id = $1`, s.UserID); err != nil {
			return err
		}
		return i.audit(ctx, tx, Act{
			TargetType: "serviceAccounts", TargetID: slug, Before: s.facts(),
			Payload: &catalogue.ServiceAccount{Verb: catalogue.Deleted, SASlug: slug, WorkspacesLeft: orphans},
		})
	})
	i.sessions.InvalidateAll()
	return err
}

// ServiceToken exchanges a service account's secret for a token. An unknown account and a wrong secret look the same.
func (i *Identity) ServiceToken(ctx context.Context, slug, secret string, life time.Duration) (SignedIn, ServiceAccount, error) {
	if err := i.deps.Limits.Blocked(ctx, limits.Key, ""); err != nil {
		return SignedIn{}, ServiceAccount{}, err
	}
	s, err := scanService(i.deps.DB.QueryRow(ctx, `SELECT `+serviceColumns+` WHERE a.slug = $1 AND a.hash = $2`, slug, hashSecret(secret)).Scan)
	if err != nil && !sqldb.IsNotFound(err) {
		return SignedIn{}, s, err
	}
	if err != nil || s.Disabled {
		i.deps.Limits.Failed(ctx, limits.Key, "") // by network alone: others must not be able to block an account by its name
		return SignedIn{}, s, errs.New(errs.InvalidCredentials, "The service account or its secret is wrong.")
	}
	user, err := i.User(ctx, s.UserID)
	if err != nil {
		return SignedIn{}, s, err
	}
	if life <= 0 {
		life = defaultServiceLife
	}
	life = min(life, i.deps.Config.ServiceTokenMaxAge, i.deps.Config.AccessTokensMaxAge) // the key is kept no longer
	i.seen.note(seenService, s.UserID)
	signedIn, err := i.Begin(ctx, Start{User: user, Provider: ServiceProvider, Life: life, Scopes: s.Scopes, Strong: true})
	return signedIn, s, err
}
