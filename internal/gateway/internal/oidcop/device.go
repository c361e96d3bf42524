package oidcop

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/kv"
	"atelier/internal/sqldb"
)

// The states of a device that wants to sign somebody in.
const (
	deviceWaits   = "waits"
	deviceAllowed = "allowed"
	deviceDenied  = "denied"
	deviceDone    = "done"
)

const (
	// devicePause is how long a device waits between two questions, and by how much longer when it does not.
	devicePause = 5 * time.Second
	// deviceGuesses is how many codes a person may type in a minute.
	deviceGuesses = 10
)

// device is a device that waits for a person with a browser.
type device struct {
	Hash, UserCode, ClientID, State string
	Scopes                          []string
	// UserID is who answered, in which session, and when that one signed in.
	UserID, Provider, SessionID string
	AuthTime                    time.Time
	Pause                       time.Duration
	Polled, Expires             time.Time
}

// authorizeDevice gives a device a code for a person to type elsewhere.
func (p *Provider) authorizeDevice(w http.ResponseWriter, r *http.Request) {
	form, err := readForm(w, r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	c, err := p.authenticateClient(r, form)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	scopes := c.grantable(form.Get("scope"))
	switch {
	case !c.allows(grantDevice):
		err = fail("unauthorized_client", "The client is not registered for the device flow.")
	case len(scopes) == 0:
		err = fail("invalid_scope", "Ask for at least one scope that the client may have, such as openid.")
	}
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	response, err := p.newDevice(r.Context(), c, scopes)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	answer(w, http.StatusOK, response)
}

func (p *Provider) newDevice(ctx context.Context, c Client, scopes []string) (*oidc.DeviceAuthorizationResponse, error) {
	secret, code := p.deps.IDs.Secret(), p.userCode()
	err := p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO oidc_devices (hash, user_code, client_id, scopes, state, user_id, provider, session_id, auth_time,
				pause, polled_at, expires_at) VALUES ($1, $2, $3, $4, $5, '', '', '', 0, $6, 0, $7)`,
			hashOf(secret), code, c.ID, strings.Join(scopes, " "), deviceWaits, devicePause.Milliseconds(), sqldb.Millis(p.now().Add(deviceLife)))
		return err
	})
	shown := code[:len(code)/2] + "-" + code[len(code)/2:]
	page := p.at("/device")
	return &oidc.DeviceAuthorizationResponse{
		DeviceCode: secret, UserCode: shown, VerificationURI: page, VerificationURIComplete: page + "?user_code=" + shown,
		ExpiresIn: int(deviceLife.Seconds()), Interval: int(devicePause.Seconds()),
	}, err
}

// userCode makes a code for people: eight letters that spell no words, each as likely as the others.
func (p *Provider) userCode() string {
	const letters, length = "BCDFGHJKLMNPQRSTVWXZ", 8
	code := make([]byte, 0, length)
	for {
		random, _ := base64.RawURLEncoding.DecodeString(p.deps.IDs.Secret())
		for _, b := range random {
			if int(b) < 256/len(letters)*len(letters) { //nolint:mnd // all bytes
				code = append(code, letters[int(b)%len(letters)])
			}
			if len(code) == length {
				return string(code)
			}
		}
	}
}

// typed is a code as it is stored, however somebody typed it.
func typed(code string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToUpper(code))
}

const deviceColumns = `hash, user_code, client_id, scopes, state, user_id, provider, session_id, auth_time, pause, polled_at, expires_at`

func readDevice(ctx context.Context, r sqldb.Reader, column, value string) (device, error) {
	var d device
	var scopes string
	var signedIn, pause, polled, expires int64
	err := r.QueryRow(ctx, `SELECT `+deviceColumns+` FROM oidc_devices WHERE `+column+` = $1`, value).
		Scan(&d.Hash, &d.UserCode, &d.ClientID, &scopes, &d.State, &d.UserID, &d.Provider, &d.SessionID, &signedIn, &pause, &polled, &expires)
	d.Scopes, d.Pause = strings.Fields(scopes), time.Duration(pause)*time.Millisecond
	d.AuthTime, d.Polled, d.Expires = sqldb.Time(signedIn), sqldb.Time(polled), sqldb.Time(expires)
	return d, err
}

// waiting finds the device with the code that a person typed. Guesses are counted.
func (p *Provider) waiting(r *http.Request, code string) (identity.Browser, device, error) {
	browser, err := p.signedIn(r)
	if err != nil {
		return browser, device{}, err
	}
	ctx := r.Context()
	if !p.deps.Config.DisableRateLimit {
		decision, err := p.deps.Limits.Take(ctx, "limit:device:"+browser.User.ID, kv.Limit{Count: deviceGuesses, Period: time.Minute})
		if err != nil {
			return browser, device{}, err
		}
		if !decision.Allowed {
			return browser, device{}, errs.New(errs.RateLimitExceeded, "Too many codes; wait and try again.").WithRetryAfter(decision.RetryAfter)
		}
	}
	d, err := readDevice(ctx, p.deps.DB, "user_code", typed(code))
	if sqldb.IsNotFound(err) || err == nil && (d.State != deviceWaits || !p.now().Before(d.Expires)) {
		return browser, d, noDevice()
	}
	return browser, d, err
}

func noDevice() *errs.Error {
	return errs.New(errs.NotFound, "No device waits with this code. Check it, or start again on the device.")
}

// deviceDetails tells the person who asks, and for what.
func (p *Provider) deviceDetails(w http.ResponseWriter, r *http.Request) {
	_, d, err := p.waiting(r, r.URL.Query().Get("user_code"))
	if err != nil {
		p.refusePage(w, r, err)
		return
	}
	c, err := p.client(r.Context(), d.ClientID)
	if isBadClient(err) {
		err = noDevice()
	}
	if err != nil {
		p.refusePage(w, r, err)
		return
	}
	answer(w, http.StatusOK, map[string]any{"client": c.shown(), "scopes": d.Scopes, "userCode": d.UserCode})
}

// verifyDevice takes the person's answer.
func (p *Provider) verifyDevice(w http.ResponseWriter, r *http.Request) {
	if err := p.answerDevice(w, r); err != nil {
		p.refusePage(w, r, err)
		return
	}
	answer(w, http.StatusOK, map[string]bool{"success": true})
}

func (p *Provider) answerDevice(w http.ResponseWriter, r *http.Request) error {
	if err := p.sameSite(r); err != nil {
		return err
	}
	var body struct {
		UserCode string `json:"user_code"`
		Allow    *bool  `json:"allow"`
	}
	if err := readJSON(w, r, &body, "user_code", "allow"); err != nil {
		return err
	}
	if body.Allow == nil {
		return errs.Invalid(errs.Field{Field: "allow", Message: "say true or false"})
	}
	browser, d, err := p.waiting(r, body.UserCode)
	if err != nil {
		return err
	}
	state := deviceDenied
	if *body.Allow {
		state = deviceAllowed
	}
	ctx := access.With(r.Context(), actor(browser))
	return p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		changed, err := tx.Exec(ctx, `UPDATE oidc_devices SET state = $1, user_id = $2, provider = $3, session_id = $4, auth_time = $5
				WHERE hash = $6 AND state = $7`,
			state, browser.User.ID, browser.Session.Provider, browser.Session.ID, sqldb.Millis(browser.Session.Created), d.Hash, deviceWaits)
		if err != nil {
			return err
		}
		if changed == 0 {
			return noDevice()
		}
		return p.deps.Identity.Audit(ctx, tx, identity.Act{
			TargetType: "clients", TargetID: d.ClientID, Payload: &catalogue.Device{Verb: catalogue.Verb(state), Scopes: d.Scopes},
		})
	})
}

// redeemDevice answers a device that asks whether the person has decided. When they have agreed, it gets a session of its
// own, which they can end without signing their browser out. Whoever ends the browser's session before that has changed
// their mind.
func (p *Provider) redeemDevice(ctx context.Context, c Client, form url.Values) (issue, error) {
	d, err := p.poll(ctx, c, hashOf(form.Get("device_code")))
	if err != nil {
		return issue{}, err
	}
	user, err := p.approver(ctx, d)
	if err != nil {
		return issue{}, err
	}
	signed, err := p.deps.Identity.Begin(ctx, identity.Start{User: user, Provider: d.Provider, ClientID: c.ID, Scopes: d.Scopes, Strong: true})
	if err != nil {
		return issue{}, err
	}
	made := issue{scopes: d.Scopes, grant: grant{
		ID: p.deps.IDs.UUID(), ClientID: c.ID, UserID: user.ID, SessionID: signed.SessionID, Scopes: d.Scopes, AuthTime: d.AuthTime,
	}}
	err = p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) (err error) {
		if err := p.insertGrant(ctx, tx, made.grant); err != nil {
			return err
		}
		made.refresh, err = p.insertRefresh(ctx, tx, c, made.grant)
		return err
	})
	return made, err
}

// approver is who let the device in, as long as the session they did it in goes on.
func (p *Provider) approver(ctx context.Context, d device) (identity.User, error) {
	alive, err := p.deps.Identity.Alive(ctx, d.SessionID)
	if err != nil {
		return identity.User{}, err
	}
	user, err := p.deps.Identity.User(ctx, d.UserID)
	if errs.CodeOf(err) == errs.NotFound || err == nil && (!alive || user.Status != identity.Validated) {
		return user, fail("access_denied", "The person has signed out everywhere since, or the account is not active any more.")
	}
	return user, err
}

// poll takes the device's decision, once.
func (p *Provider) poll(ctx context.Context, c Client, hash string) (d device, err error) {
	var refused error
	err = p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if d, err = readDevice(ctx, tx, "hash", hash); sqldb.IsNotFound(err) {
			refused = badGrant("There is no such device_code.")
			return nil
		}
		if err != nil {
			return err
		}
		refused = p.checkDevice(c, d)
		if refused != nil {
			return p.notePoll(ctx, tx, d, refused)
		}
		taken, err := tx.Exec(ctx, `UPDATE oidc_devices SET state = $1 WHERE hash = $2 AND state = $3`, deviceDone, hash, deviceAllowed)
		if err == nil && taken == 0 {
			refused = badGrant("The device_code was used before.")
		}
		return err
	})
	if err == nil {
		err = refused
	}
	return d, err
}

func (p *Provider) checkDevice(c Client, d device) error {
	now := p.now()
	switch {
	case d.ClientID != c.ID || d.State == deviceDone:
		return badGrant("The device_code was given to another client, or used before.")
	case !now.Before(d.Expires):
		return fail("expired_token", "The device_code has expired; start again.")
	case d.State == deviceDenied:
		return fail("access_denied", "The person did not agree.")
	case d.State == deviceWaits && now.Sub(d.Polled) < d.Pause:
		return fail("slow_down", "Wait five seconds longer between two questions.")
	case d.State == deviceWaits:
		return fail("authorization_pending", "The person has not decided yet.")
	default:
		return nil
	}
}

// notePoll remembers when a device asked, and has it ask less often when it is impatient.
func (p *Provider) notePoll(ctx context.Context, tx *sqldb.Tx, d device, refused error) error {
	if d.State != deviceWaits {
		return nil
	}
	if f, ok := refused.(*failure); ok && f.Code == "slow_down" { //nolint:errorlint // made a line above, never wrapped
		d.Pause += devicePause
	}
	_, err := tx.Exec(ctx, `UPDATE oidc_devices SET polled_at = $1, pause = $2 WHERE hash = $3 AND state = $4`,
		sqldb.Millis(p.now()), d.Pause.Milliseconds(), d.Hash, deviceWaits)
	return err
}
