package identity

import (
	"context"
	"fmt"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Start says how a session begins.
type Start struct {
	User     User
	Provider string
	// Life is how long the session lasts; zero means as long as tokens do.
	Life time.Duration
	// Scopes bound the token; nil means every scope.
	Scopes []string
	// ClientID is who asked for the sign-in; empty means this installation itself.
	ClientID string
	// Strong tells that no second factor is owed: a passkey, or a provider that vouches for the user.
	Strong bool
	// Browser asks for the secret of a cookie that keeps the browser signed in.
	Browser bool
	// With is done in the transaction that stores the session, before it.
	With func(tx *sqldb.Tx) error
}

// SignedIn is the outcome of a sign-in.
type SignedIn struct {
	User      User
	SessionID string
	Token     string
	Expires   time.Time
	// Pending tells that the session still owes its second factor.
	Pending bool
	// Browser is the secret for the browser's cookie; empty when none was asked for. It counts until BrowserEnds.
	Browser     string
	BrowserEnds time.Time
}

// SignIn checks an e-mail address and a password. Wrong address and wrong password give the same invalid_credentials
// after the same time; too many attempts for an account or from an address give rate_limit_exceeded.
func (i *Identity) SignIn(ctx context.Context, email, password string) (SignedIn, error) {
	email = normalEmail(email)
	if err := i.deps.Limits.LoginAllowed(ctx, email); err != nil {
		return SignedIn{}, err
	}
	user, fits, err := i.checkCredentials(ctx, email, password)
	if err != nil {
		return SignedIn{}, err
	}
	if !fits || user.Status == Deactivated || i.deps.Config.DisableSignin && !user.SuperAdmin {
		return SignedIn{}, i.refuse(ctx, email)
	}
	if user.Status == Pending {
		return SignedIn{}, i.notValidated(ctx, email)
	}
	i.deps.Limits.LoginSucceeded(ctx, email)
	return i.Begin(ctx, Start{User: user, Provider: LocalProvider, Browser: true})
}

// checkCredentials tells whose address it is and whether the password fits. It takes as long for an address nobody has.
func (i *Identity) checkCredentials(ctx context.Context, email, password string) (User, bool, error) {
	var hash string
	user, err := i.scanUser(i.deps.DB.QueryRow(ctx, `SELECT `+userColumns+`, u.password_hash FROM gw_users u WHERE u.email = $1`, email).Scan, &hash)
	if err != nil && !sqldb.IsNotFound(err) {
		return User{}, false, err
	}
	fits, err := i.checkPassword(ctx, password, hash)
	return user, fits, err
}

// refuse records the failed attempt and gives the error to show.
func (i *Identity) refuse(ctx context.Context, email string) error {
	i.deps.Limits.LoginFailed(ctx, email)
	if err := i.recordRefusal(ctx, email); err != nil {
		return err
	}
	return errs.New(errs.InvalidCredentials, "The e-mail address or the password is wrong.")
}

// notValidated tells someone who knows the password what the account waits for.
func (i *Identity) notValidated(ctx context.Context, email string) error {
	if err := i.recordRefusal(ctx, email); err != nil {
		return err
	}
	if i.deps.Config.AccountValidation == "manual" {
		return errs.New(errs.InvalidCredentials, "The account waits for an administrator to validate it.").With("type", "ManualValidateEmailError")
	}
	return errs.New(errs.InvalidCredentials, "The account is not validated yet; follow the link in the mail, or ask for another one.").
		With("type", "ValidateEmailError")
}

func (i *Identity) recordRefusal(ctx context.Context, email string) error {
	return i.auditAlone(ctx, Act{
		TargetType: "users", TargetID: email, Payload: &catalogue.LoginFailed{Email: email, Provider: LocalProvider, IP: address(ctx)},
	})
}

// SignInAnonymously makes a passing account for a visitor.
func (i *Identity) SignInAnonymously(ctx context.Context, life time.Duration) (SignedIn, error) {
	longest := i.deps.Config.AccessTokensMaxAge
	if life <= 0 || life > longest {
		life = longest
	}
	now := i.now()
	user := User{
		ID: i.deps.IDs.User(), FirstName: fmt.Sprintf("anonymous-%d-%s", now.UnixMilli(), i.deps.IDs.Workspace()), Status: Validated,
		Anonymous: true, CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(life),
	}
	if err := user.gatherAuthData(""); err != nil {
		return SignedIn{}, err
	}
	return i.Begin(ctx, Start{
		User: user, Provider: AnonymousProvider, Life: life, Scopes: access.VisitorScopes(), Strong: true,
		With: func(tx *sqldb.Tx) error { return i.insertUser(ctx, tx, user, "") },
	})
}

// Begin opens a session, with its event, and signs its token.
func (i *Identity) Begin(ctx context.Context, start Start) (SignedIn, error) {
	s := i.newSession(start)
	browser := ""
	if start.Browser {
		browser = i.deps.IDs.Secret()
	}
	err := i.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if start.With != nil {
			if err := start.With(tx); err != nil {
				return err
			}
		}
		if err := i.insertSession(ctx, tx, s, browser); err != nil {
			return err
		}
		return i.audit(ctx, tx, signInAct(ctx, start, s))
	})
	if err != nil {
		return SignedIn{}, errs.Wrap(err, "open a session")
	}
	scopes := start.Scopes
	if scopes == nil {
		scopes = access.Scopes()
	}
	token, err := i.issue(grant{id: i.deps.IDs.UUID(), session: s, clientID: s.ClientID, scopes: scopes, issued: s.Created, expires: s.Expires})
	return SignedIn{
		User: start.User, SessionID: s.ID, Token: token, Expires: s.Expires, Browser: browser, BrowserEnds: s.Created.Add(i.deps.Config.SessionMaxAge),
		Pending: sessionState{user: start.User, session: s, forced: i.deps.Config.ForceMFA}.pending(),
	}, err
}

func (i *Identity) newSession(start Start) Session {
	now, life := i.now(), start.Life
	if life <= 0 {
		life = i.deps.Config.AccessTokensMaxAge
	}
	s := Session{
		ID: i.deps.IDs.UUID(), UserID: start.User.ID, ClientID: start.ClientID, Provider: start.Provider, Created: now, Expires: now.Add(life),
	}
	if s.ClientID == "" {
		s.ClientID = signInClient
	}
	if start.Strong {
		s.FactorAt = now
	}
	return s
}

func signInAct(ctx context.Context, start Start, s Session) Act {
	return Act{
		TargetType: "users", TargetID: start.User.ID,
		Payload: &catalogue.LoginSucceeded{
			Audited: catalogue.Audited{
				Actor: &catalogue.Actor{Kind: string(principalOf(start.User).Kind), UserID: start.User.ID, SessionID: s.ID},
			},
			ID: start.User.ID, Email: start.User.Email, IP: address(ctx), Provider: start.Provider, AuthData: start.User.AuthData,
			Session: catalogue.LoginSession{
				ID: s.ID, Expires: s.Expires.UTC().Format(time.RFC3339), ExpiresIn: int(s.Expires.Sub(s.Created).Seconds()),
			},
		},
	}
}
