package factors_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/factors"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// A passkey signs in without password and without a second factor, also an account that has one.
func TestPasskey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner := h.signIn()
		d := newDevice(t)
		made := d.register(h, owner)
		if made.Name != "A key" || made.ID == "" || !made.Used.IsZero() {
			t.Errorf("%+v", made)
		}
		h.enrol(owner)
		h.clock.Advance(time.Minute)
		c, err := h.factors.BeginSignIn(h.caller(access.Principal{}))
		h.must(err)
		signed, err := h.factors.SignIn(h.caller(access.Principal{}), d.use(c))
		h.must(err)
		ctx := h.request(signed)
		if signed.Pending || signed.Browser == "" || access.From(ctx).Pending || access.From(ctx).UserID != access.From(owner).UserID {
			t.Errorf("%+v", signed)
		}
		keys, err := h.factors.Passkeys(ctx)
		if err != nil || len(keys) != 1 || !keys[0].Used.Equal(h.clock.Now()) {
			t.Errorf("%+v %v", keys, err)
		}
		renamed, err := h.factors.RenamePasskey(ctx, made.ID, "Blue")
		if err != nil || renamed.Name != "Blue" {
			t.Errorf("%+v %v", renamed, err)
		}
		h.must(h.factors.DeletePasskey(ctx, made.ID))
		want(t, h.factors.DeletePasskey(ctx, made.ID), errs.NotFound)
		c, err = h.factors.BeginSignIn(ctx)
		h.must(err)
		_, err = h.factors.SignIn(h.caller(access.Principal{}), d.use(c))
		want(t, err, errs.InvalidCredentials)
		for _, event := range []string{"gateway.passkeys.created", "gateway.passkeys.updated", "gateway.passkeys.deleted", "gateway.login.failed"} {
			if told := h.events(event); len(told) != 1 || !strings.Contains(told[0], access.From(owner).UserID) {
				t.Errorf("%s: %v", event, told)
			}
		}
	})
}

// A challenge is answered once, in time, by the session that asked, and for what it was meant.
func TestChallenges(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner, other := h.signIn(), h.signIn()
		d := newDevice(t)
		c, err := h.factors.BeginPasskey(owner, "")
		h.must(err)
		_, err = h.factors.FinishPasskey(other, d.make(c), "")
		want(t, err, errs.InvalidCredentials)
		c, err = h.factors.BeginPasskey(owner, "")
		h.must(err)
		answer := d.make(c)
		_, err = h.factors.FinishPasskey(owner, answer, "")
		h.must(err)
		_, err = h.factors.FinishPasskey(owner, answer, "")
		want(t, err, errs.InvalidCredentials)
		c, err = h.factors.BeginPasskey(owner, "")
		h.must(err)
		_, err = h.factors.FinishPasskey(owner, d.make(c), "")
		want(t, err, errs.AlreadyExists)

		anyone := h.caller(access.Principal{})
		late, err := h.factors.BeginSignIn(anyone)
		h.must(err)
		h.clock.Advance(5*time.Minute + time.Second)
		_, err = h.factors.SignIn(anyone, d.use(late))
		want(t, err, errs.InvalidCredentials)
		_, err = h.factors.SignIn(anyone, d.use(factors.Ceremony{Challenge: "unknown", Options: late.Options}))
		want(t, err, errs.InvalidCredentials)
		registration, err := h.factors.BeginPasskey(owner, "")
		h.must(err)
		_, err = h.factors.SignIn(anyone, d.use(registration))
		want(t, err, errs.InvalidCredentials)
		c, err = h.factors.BeginSignIn(anyone)
		h.must(err)
		_, err = h.factors.FinishPasskey(owner, newDevice(t).make(c), "")
		want(t, err, errs.InvalidCredentials)

		c, err = h.factors.BeginSignIn(anyone)
		h.must(err)
		used := d.use(c)
		var in atomic.Int32
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if _, err := h.factors.SignIn(anyone, used); err == nil {
					in.Add(1)
				}
			})
		}
		wait.Wait()
		if in.Load() != 1 {
			t.Errorf("%d got in with one answer", in.Load())
		}
	})
}

// What a dishonest browser, site or key sends is refused, and a copied key is found out by its counter.
func TestDishonestPasskeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner, anyone := h.signIn(), h.caller(access.Principal{})
		d := newDevice(t)
		d.register(h, owner)
		thief := newDevice(t)
		thief.id, thief.handle = d.id, d.handle
		for name, change := range map[string]func(*device){
			"another site":       func(d *device) { d.origin = "https://evil.example" },
			"another port":       func(d *device) { d.origin = "http://localhost:3002" },
			"another host":       func(d *device) { d.host = "evil.example" },
			"nobody there":       func(d *device) { d.flags = 0 },
			"not verified":       func(d *device) { d.flags = present },
			"another key":        func(d *device) { d.key = thief.key },
			"another account":    func(d *device) { d.handle = text([]byte("somebody else")) },
			"no account":         func(d *device) { d.handle = "" },
			"no text":            func(d *device) { d.handle = text([]byte{0xff, 0xfe}) },
			"a text with NUL":    func(d *device) { d.handle = text([]byte("a\x00b")) },
			"an unknown key":     func(d *device) { d.id = make([]byte, 32) },
			"a count of before":  func(d *device) { d.count = 0 },
			"the count of today": func(d *device) { d.count-- },
		} {
			ok, err := h.factors.BeginSignIn(anyone)
			h.must(err)
			if _, err := h.factors.SignIn(anyone, d.use(ok)); err != nil {
				t.Fatalf("the honest one: %v", err)
			}
			bad := *d
			change(&bad)
			c, err := h.factors.BeginSignIn(anyone)
			h.must(err)
			if _, err := h.factors.SignIn(anyone, bad.use(c)); errs.CodeOf(err) != errs.InvalidCredentials {
				t.Errorf("%s: %v", name, err)
			}
			reg := newDevice(t)
			change(reg)
			if name == "another account" || name == "no account" || strings.Contains(name, "text") || strings.Contains(name, "count") || strings.Contains(name, "key") {
				continue
			}
			c, err = h.factors.BeginPasskey(owner, "")
			h.must(err)
			if _, err := h.factors.FinishPasskey(owner, reg.make(c), ""); errs.CodeOf(err) != errs.ValidationFailed {
				t.Errorf("%s, new: %v", name, err)
			}
		}
		for _, junk := range []string{``, `{}`, `null`, `[]`, `"x"`, `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`, strings.Repeat("[", 10000)} {
			c, err := h.factors.BeginSignIn(anyone)
			h.must(err)
			_, err = h.factors.SignIn(anyone, factors.Answer{Challenge: c.Challenge, Credential: json.RawMessage(junk)})
			want(t, err, errs.ValidationFailed)
		}
	})
}

// An account that may not sign in may not with a passkey either.
func TestPasskeyOfClosedAccount(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner, anyone := h.signIn(), h.caller(access.Principal{})
		d := newDevice(t)
		d.register(h, owner)
		h.must(h.db.Tx(t.Context(), func(tx *sqldb.Tx) error {
			_, err := tx.Exec(t.Context(), `UPDATE gw_users SET status = $1`, identity.Deactivated)
			return err
		}))
		c, err := h.factors.BeginSignIn(anyone)
		h.must(err)
		_, err = h.factors.SignIn(anyone, d.use(c))
		want(t, err, errs.InvalidCredentials)
	})
}

// Adding and removing passkeys needs a recent sign-in, or the password once more.
func TestRecent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner := h.signIn()
		made := newDevice(t).register(h, owner)
		h.clock.Advance(15 * time.Minute)
		_, err := h.factors.BeginPasskey(owner, "")
		want(t, err, errs.PermissionDenied)
		want(t, h.factors.DeletePasskey(owner, made.ID), errs.PermissionDenied)
		_, err = h.factors.BeginPasskey(owner, "wrong password")
		want(t, err, errs.InvalidCredentials)
		_, err = h.factors.BeginPasskey(owner, password)
		h.must(err)
		want(t, h.factors.Confirm(owner, "wrong password"), errs.InvalidCredentials)
		h.must(h.factors.Confirm(owner, password))
		h.must(h.factors.DeletePasskey(owner, made.ID))
		h.clock.Advance(15 * time.Minute)
		_, err = h.factors.BeginPasskey(owner, "")
		want(t, err, errs.PermissionDenied)
	})
}

// The session of a device that somebody let in is no sign-in, however new it is.
func TestDevicesAreNotRecent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		user, err := h.accounts.User(t.Context(), access.From(h.signIn()).UserID)
		h.must(err)
		signed, err := h.accounts.Begin(h.caller(access.Principal{}), identity.Start{User: user, Provider: identity.LocalProvider, ClientID: "television", Strong: true})
		h.must(err)
		ctx := h.request(signed)
		_, err = h.factors.BeginPasskey(ctx, "")
		want(t, err, errs.PermissionDenied)
		_, err = h.factors.BeginPasskey(ctx, password)
		h.must(err)
		h.must(h.factors.Confirm(ctx, password))
		_, err = h.factors.BeginPasskey(ctx, "")
		h.must(err)
	})
}

// Where a second factor is wanted, an account with a passkey has one: the password alone sets up no other.
func TestPasswordGetsRoundNoPasskey(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		early := h.signIn()
		offer, err := h.factors.OfferTOTP(early, password)
		h.must(err)
		d := newDevice(t)
		d.register(h, early)
		for _, ctx := range []context.Context{early, h.signIn()} {
			_, err = h.factors.OfferTOTP(ctx, password)
			want(t, err, errs.PermissionDenied)
			_, err = h.factors.ConfirmTOTP(ctx, h.code(offer.Secret))
			want(t, err, errs.PermissionDenied)
			_, err = h.factors.Prove(ctx, factors.Proof{TOTP: h.code(offer.Secret)})
			want(t, err, errs.NotFound)
			_, err = h.factors.BeginPasskey(ctx, password)
			want(t, err, errs.PermissionDenied)
		}
		anyone := h.caller(access.Principal{})
		c, err := h.factors.BeginSignIn(anyone)
		h.must(err)
		signed, err := h.factors.SignIn(anyone, d.use(c))
		h.must(err)
		h.enrol(h.request(signed))
	}, func(c *config.Config) { c.ForceMFA = true })
}

// There is an end to how many passkeys an account has; other people's are not there.
func TestBoundsOfPasskeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner := h.signIn()
		var last factors.Passkey
		pending, err := h.factors.BeginPasskey(owner, "")
		h.must(err)
		for range 20 {
			last = newDevice(t).register(h, owner)
		}
		_, err = h.factors.BeginPasskey(owner, "")
		want(t, err, errs.QuotaExceeded)
		_, err = h.factors.FinishPasskey(owner, newDevice(t).make(pending), "")
		want(t, err, errs.QuotaExceeded)

		_, _, err = h.accounts.SignUp(h.caller(access.Principal{}), identity.SignUp{Email: "eve@example.test", Password: password, FirstName: "Eve"})
		h.must(err)
		signed, err := h.accounts.SignIn(h.caller(access.Principal{}), "eve@example.test", password)
		h.must(err)
		eve := h.request(signed)
		_, err = h.factors.RenamePasskey(eve, last.ID, "mine")
		want(t, err, errs.NotFound)
		want(t, h.factors.DeletePasskey(eve, last.ID), errs.NotFound)
	})
}

// An address without a name has no passkeys, and says so.
func TestPasskeysNeedAName(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"http://192.0.2.7:3001/v2", "http://[2001:db8::1]/v2"} {
		t.Run(fmt.Sprintf("%.20s", address), func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, h *house) {
				_, err := h.factors.BeginSignIn(h.caller(access.Principal{}))
				want(t, err, errs.Conflict)
				_, err = h.factors.BeginPasskey(h.signIn(), "")
				want(t, err, errs.Conflict)
				if h.factors.PasskeysPossible() {
					t.Error("passkeys are offered")
				}
			}, func(c *config.Config) { c.APIURL = address })
		})
	}
}
