package identity

import (
	"context"
	"fmt"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/kv"
	"atelier/internal/sqldb"
)

// SignedIn is the outcome of a sign-in.
type SignedIn struct {
	User      User
	SessionID string
	Token     string
	Expires   time.Time
}

// SignIn checks an e-mail address and a password. Wrong address and wrong password give the same invalid_credentials
// after the same time; too many attempts for an account or from an address give rate_limit_exceeded.
func (i *Identity) SignIn(ctx context.Context, email, password string) (SignedIn, error) {
	email = strings.ToLower(strings.TrimSpace(email))
	if err := i.limit(ctx, "login:account:"+email, i.deps.Config.RateLimitLogin); err != nil {
		return SignedIn{}, err
	}
	if err := i.limit(ctx, "login:address:"+clientNetwork(ctx), i.deps.Config.RateLimitLoginAddress); err != nil {
		return SignedIn{}, err
	}
	var hash string
	user, err := scanUser(i.deps.DB.QueryRow(ctx, `SELECT `+userColumns+`, password_hash FROM gw_users WHERE email = $1`, email).Scan, &hash)
	if err != nil && !sqldb.IsNotFound(err) {
		return SignedIn{}, err
	}
	fits, err := i.checkPassword(ctx, password, hash)
	if err != nil {
		return SignedIn{}, err
	}
	if !fits || user.Status != statusValidated {
		return SignedIn{}, i.refuse(ctx, email)
	}
	user.SuperAdmin = user.SuperAdmin || i.isSuperAdmin(user.Email)
	return i.begin(ctx, user, i.deps.Config.AccessTokensMaxAge, nil)
}

// refuse records the failed attempt and gives the error to show.
func (i *Identity) refuse(ctx context.Context, email string) error {
	record, err := envelope.Native(ctx, "gateway", access.PlatformWorkspace, "gateway.login.failed", map[string]any{"email": email, "provider": "svc", "ip": httpx.InfoFrom(ctx).Client.String()})
	if err == nil {
		_, err = i.deps.Log.Append(ctx, record)
	}
	if err != nil {
		return err
	}
	return errs.New(errs.InvalidCredentials, "The e-mail address or the password is wrong.")
}

// SignInAnonymously makes a passing account for a visitor.
func (i *Identity) SignInAnonymously(ctx context.Context, life time.Duration) (SignedIn, error) {
	if err := i.limit(ctx, "anonymous:"+clientNetwork(ctx), i.deps.Config.RateLimitAnonymous); err != nil {
		return SignedIn{}, err
	}
	longest := i.deps.Config.AccessTokensMaxAge
	if life <= 0 || life > longest {
		life = longest
	}
	now := i.now()
	user := User{
		ID: i.deps.IDs.User(), FirstName: fmt.Sprintf("anonymous-%d-%s", now.UnixMilli(), i.deps.IDs.Workspace()), Status: statusValidated,
		Anonymous: true, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(life),
	}
	return i.begin(ctx, user, life, func(tx *sqldb.Tx) error { return i.insertUser(ctx, tx, user, "") })
}

// begin opens a session, with its event, and signs its token.
func (i *Identity) begin(ctx context.Context, user User, life time.Duration, before func(*sqldb.Tx) error) (SignedIn, error) {
	var s session
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if before != nil {
			if err := before(tx); err != nil {
				return err
			}
		}
		var err error
		if s, err = i.newSession(ctx, tx, user.ID, life); err != nil {
			return err
		}
		payload := map[string]any{
			"id": user.ID, "email": user.Email, "ip": httpx.InfoFrom(ctx).Client.String(), "provider": provider(user),
			"session": map[string]any{"id": s.id, "expires": s.expires.UTC().Format(time.RFC3339), "expiresIn": int(life.Seconds())},
		}
		record, err := envelope.Native(ctx, "gateway", access.PlatformWorkspace, "gateway.login.succeeded", payload)
		if err != nil {
			return err
		}
		_, err = i.deps.Log.AppendTx(ctx, tx, record)
		return err
	})
	if err != nil {
		return SignedIn{}, errs.Wrap(err, "open a session")
	}
	token, err := i.issue(s)
	return SignedIn{User: user, SessionID: s.id, Token: token, Expires: s.expires}, err
}

func provider(user User) string {
	if user.Anonymous {
		return "anonymous"
	}
	return "svc"
}

// limit takes one unit of a per-minute limit.
func (i *Identity) limit(ctx context.Context, key string, perMinute int) error {
	if i.deps.Config.DisableRateLimit {
		return nil
	}
	decision, err := i.deps.Limits.Take(ctx, "limit:"+key, kv.Limit{Count: perMinute, Period: time.Minute})
	if err != nil {
		return err
	}
	if !decision.Allowed {
		return errs.New(errs.RateLimitExceeded, "Too many attempts; wait and try again.").WithRetryAfter(decision.RetryAfter)
	}
	return nil
}

// clientNetwork is what a limit by address counts: one IPv4 address, or the /64 that an IPv6 caller can choose from freely.
func clientNetwork(ctx context.Context) string {
	addr := httpx.InfoFrom(ctx).Client
	if addr.Is6() {
		const subnet = 64
		if prefix, err := addr.WithZone("").Prefix(subnet); err == nil {
			return prefix.String()
		}
	}
	return addr.String()
}
