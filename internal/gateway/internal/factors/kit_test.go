package factors_test

import (
	"context"
	"database/sql"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	"go.uber.org/goleak"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue/cataloguetest"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/factors"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/gateway/internal/limits"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/keyring"
	"atelier/internal/kv/memkv"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	email    = "ada@example.test"
	password = "correct horse battery staple"
	home     = "http://localhost:3001"
)

// house is the accounts and factors of an installation, on a clock that stands still.
type house struct {
	t        *testing.T
	db       *sqldb.DB
	clock    *clock.Manual
	config   config.Config
	accounts *identity.Identity
	factors  *factors.Factors
}

// each runs a scenario on every engine, with an account that can sign in. Settings may change the configuration.
func each(t *testing.T, scenario func(t *testing.T, h *house), settings ...func(*config.Config)) {
	t.Helper()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		h := &house{t: t, db: db, clock: clock.NewManual(time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC))}
		h.config = config.Config{
			APIURL: home + "/v2", AccountValidation: "auto", PasswordPattern: "^.{8,256}$", AccessTokensMaxAge: 24 * time.Hour, SessionMaxAge: 24 * time.Hour,
			RateLimitLogin: 1000, RateLimitLoginAddress: 1000, CredentialFailures: 1000, CredentialFailuresNet: 1000, RateLimitSignup: 1000,
		}
		for _, set := range settings {
			set(&h.config)
		}
		h.open()
		scenario(t, h)
	}, sqlbus.Migrations(), keyring.Migrations(), identity.Migrations(), factors.Migrations())
}

func (h *house) open() {
	h.t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	log, err := sqlbus.Open(h.db, h.clock, quiet)
	h.must(err)
	h.t.Cleanup(func() { _ = log.Close() })
	cataloguetest.Stored(h.t, h.db)
	ring, err := keyring.Open(h.t.Context(), keyring.Deps{
		DB: h.db, Clock: h.clock, Log: quiet, Makes: true,
		Settings: keyring.Settings{Alg: "ES256", RotateEvery: 1000 * time.Hour, KeepFor: time.Hour},
	})
	h.must(err)
	store := memkv.New(h.clock)
	counts, err := limits.New(limits.Deps{Limiter: store, Store: store, Clock: h.clock, Log: quiet, Config: h.config})
	h.must(err)
	h.accounts, err = identity.Open(h.t.Context(), identity.Deps{
		DB: h.db, Keys: ring, Log: log, Limits: counts, Clock: h.clock, IDs: ident.Source{}, Config: h.config,
		Post: func(context.Context, *sqldb.Tx, identity.Letter) error { return nil },
	})
	h.must(err)
	h.factors, err = factors.New(factors.Deps{
		DB: h.db, Store: store, Limits: counts, Accounts: h.accounts, Clock: h.clock, Config: h.config, Key: "the internal key of a test",
	})
	h.must(err)
	_, _, err = h.accounts.SignUp(h.caller(access.Principal{}), identity.SignUp{Email: email, Password: password, FirstName: "Ada"})
	h.must(err)
}

func (h *house) must(err error) {
	h.t.Helper()
	if err != nil {
		h.t.Fatal(err)
	}
}

// caller is the context of a request.
func (h *house) caller(p access.Principal) context.Context {
	info := &httpx.Info{Client: netip.MustParseAddr("192.0.2.1")}
	return access.With(httpx.WithInfo(h.t.Context(), info), p)
}

// signIn signs in with the password, and gives the context of a request with the session's token.
func (h *house) signIn() context.Context {
	h.t.Helper()
	signed, err := h.accounts.SignIn(h.caller(access.Principal{}), email, password)
	h.must(err)
	return h.request(signed)
}

// request authenticates anew, as each request does.
func (h *house) request(signed identity.SignedIn) context.Context {
	h.t.Helper()
	p, err := h.accounts.Authenticate(h.caller(access.Principal{}), signed.Token)
	h.must(err)
	return h.caller(p)
}

// again is the next request of the same session, as it is now.
func (h *house) again(ctx context.Context) context.Context {
	h.t.Helper()
	browser := access.From(ctx)
	sessions, err := h.accounts.Sessions(ctx, browser.UserID)
	h.must(err)
	user, err := h.accounts.User(ctx, browser.UserID)
	h.must(err)
	for _, s := range sessions {
		if s.ID == browser.SessionID {
			browser.Pending = s.FactorAt.IsZero() && user.MFA != ""
			return h.caller(browser)
		}
	}
	h.t.Fatal("the session has ended")
	return nil
}

// code is what an authenticator app shows now.
func (h *house) code(secret string) string { return h.codeAt(secret, 0) }

// codeAt is what an app shows whose clock is off.
func (h *house) codeAt(secret string, off time.Duration) string {
	h.t.Helper()
	code, err := totp.GenerateCode(secret, h.clock.Now().Add(off))
	h.must(err)
	return code
}

// enrol sets up an authenticator and gives its secret and the recovery codes.
func (h *house) enrol(ctx context.Context) (secret string, recovery []string) {
	h.t.Helper()
	offer, err := h.factors.OfferTOTP(ctx, password)
	h.must(err)
	recovery, err = h.factors.ConfirmTOTP(ctx, h.code(offer.Secret))
	h.must(err)
	h.clock.Advance(time.Minute) // the code was used
	return offer.Secret, recovery
}

// want fails the test unless the error has the code.
func want(t *testing.T, err error, code errs.Code) {
	t.Helper()
	if err == nil || errs.CodeOf(err) != code {
		t.Fatalf("error %v, want %s", err, code)
	}
}

// events lists the events of a type, as text.
func (h *house) events(eventType string) []string {
	h.t.Helper()
	bodies, err := sqldb.All(h.t.Context(), h.db, func(rows *sql.Rows) (body string, err error) { return body, rows.Scan(&body) },
		`SELECT body FROM bus_events WHERE type = $1 ORDER BY 1`, eventType)
	h.must(err)
	return bodies
}

// leaks tells whether a text is anywhere in the tables of the factors.
func (h *house) leaks(text string) bool {
	h.t.Helper()
	found, err := sqldb.All(h.t.Context(), h.db, func(rows *sql.Rows) (row string, err error) { return row, rows.Scan(&row) },
		`SELECT secret || offered FROM factor_totp UNION ALL SELECT hash FROM factor_recovery UNION ALL SELECT credential FROM factor_passkeys`)
	h.must(err)
	return strings.Contains(strings.Join(found, " "), text)
}
