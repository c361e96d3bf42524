package factors_test

import (
	"context"
	"encoding/base64"
	"image/png"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/config"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/factors"
)

// An authenticator counts from its first code on; before, nothing has changed.
func TestEnrol(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ctx := h.signIn()
		_, err := h.factors.OfferTOTP(ctx, "wrong password")
		want(t, err, errs.InvalidCredentials)
		_, err = h.factors.OfferTOTP(ctx, "")
		want(t, err, errs.ValidationFailed)
		_, err = h.factors.ConfirmTOTP(ctx, "123456")
		want(t, err, errs.NotFound)
		_, err = h.factors.Prove(ctx, factors.Proof{TOTP: "123456"})
		want(t, err, errs.NotFound)

		offer, err := h.factors.OfferTOTP(ctx, password)
		h.must(err)
		image, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(offer.Image, "data:image/png;base64,"))
		h.must(err)
		if _, err := png.Decode(strings.NewReader(string(image))); err != nil {
			t.Error(err)
		}
		if access.From(h.signIn()).Pending {
			t.Error("an offer alone is asked for already")
		}
		_, err = h.factors.ConfirmTOTP(ctx, "000000")
		want(t, err, errs.InvalidCredentials)
		codes, err := h.factors.ConfirmTOTP(ctx, h.code(offer.Secret))
		h.must(err)
		if len(codes) != 10 || h.leaks(offer.Secret) || h.leaks(codes[0]) {
			t.Errorf("codes %v; the secret or a code is stored in clear", codes)
		}
		if access.From(h.again(ctx)).Pending || !access.From(h.signIn()).Pending {
			t.Error("this session must go on, the next one owe its second factor")
		}
		status, err := h.factors.Status(h.again(ctx))
		if err != nil || status.Method != "totp" || status.RecoveryCodes != 10 {
			t.Errorf("%+v %v", status, err)
		}
		if told := h.events("gateway.mfa.updated"); len(told) != 1 || !strings.Contains(told[0], `"after":{"method":"totp"},"before":{"method":""}`) {
			t.Errorf("events %v", told)
		}
		if told := h.events("gateway.mfa.failed"); len(told) != 1 {
			t.Errorf("events %v", told)
		}
	})
}

// A session that owes its second factor can do nothing but give it: a code, one step of thirty seconds early or late, once.
func TestProve(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		secret, _ := h.enrol(h.signIn())
		ctx := h.signIn()
		_, err := h.factors.OfferTOTP(ctx, password)
		want(t, err, errs.InvalidCredentials)
		_, err = h.factors.Passkeys(ctx)
		want(t, err, errs.InvalidCredentials)
		_, err = h.factors.ConfirmTOTP(ctx, "123456")
		want(t, err, errs.InvalidCredentials)
		for _, off := range []time.Duration{-time.Minute, time.Minute} {
			_, err = h.factors.Prove(ctx, factors.Proof{TOTP: h.codeAt(secret, off)})
			want(t, err, errs.InvalidCredentials)
		}
		for _, off := range []time.Duration{-30 * time.Second, 0, 30 * time.Second} {
			code := h.codeAt(secret, off)
			if _, err = h.factors.Prove(ctx, factors.Proof{TOTP: code[:3] + " " + code[3:]}); err != nil {
				t.Fatalf("off by %v: %v", off, err)
			}
			_, err = h.factors.Prove(ctx, factors.Proof{TOTP: code})
			want(t, err, errs.InvalidCredentials)
		}
		_, err = h.factors.Prove(ctx, factors.Proof{TOTP: h.codeAt(secret, 0)}) // older than the last one that was used
		want(t, err, errs.InvalidCredentials)
		if access.From(h.again(ctx)).Pending {
			t.Error("the session still owes it")
		}
	})
}

// Of many who send the same code at once, one gets in.
func TestCodeCountsOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		secret, recovery := h.enrol(h.signIn())
		for _, proof := range []factors.Proof{{TOTP: h.code(secret)}, {RecoveryCode: recovery[3]}} {
			const rivals = 8
			var in atomic.Int32
			var wait sync.WaitGroup
			ctx := h.signIn()
			for range rivals {
				wait.Go(func() {
					if _, err := h.factors.Prove(ctx, proof); err == nil {
						in.Add(1)
					}
				})
			}
			wait.Wait()
			if in.Load() != 1 {
				t.Errorf("%d got in with %+v", in.Load(), proof)
			}
		}
	})
}

// Ten wrong codes in a quarter of an hour lock the second factor, also for the right one; later it works again.
func TestWrongCodesLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		secret, _ := h.enrol(h.signIn())
		h.clock.Advance(time.Hour)
		ctx := h.signIn()
		for range 10 {
			_, err := h.factors.Prove(ctx, factors.Proof{TOTP: "000000"})
			want(t, err, errs.InvalidCredentials)
			h.clock.Advance(time.Second)
		}
		_, err := h.factors.Prove(ctx, factors.Proof{TOTP: h.code(secret)})
		want(t, err, errs.RateLimitExceeded)
		h.clock.Advance(16 * time.Minute)
		_, err = h.factors.Prove(ctx, factors.Proof{TOTP: h.code(secret)})
		h.must(err)
	})
}

// A recovery code is good in any case and spacing, once; new ones replace the old.
func TestRecoveryCodes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner := h.signIn()
		_, codes := h.enrol(owner)
		owner = h.again(owner)
		_, err := h.factors.Prove(h.signIn(), factors.Proof{RecoveryCode: " " + strings.ToUpper(strings.ReplaceAll(codes[0], "-", " "))})
		h.must(err)
		other := h.signIn()
		for _, bad := range []string{codes[0], codes[1][:18], codes[1] + "a", strings.Repeat("a", 64), "-", codes[1][1:]} {
			_, err := h.factors.Prove(other, factors.Proof{RecoveryCode: bad})
			want(t, err, errs.InvalidCredentials)
		}
		status, err := h.factors.Status(owner)
		if err != nil || status.RecoveryCodes != 9 {
			t.Errorf("%+v %v", status, err)
		}
		_, err = h.factors.RenewRecoveryCodes(owner, "wrong password")
		want(t, err, errs.InvalidCredentials)
		fresh, err := h.factors.RenewRecoveryCodes(owner, password)
		h.must(err)
		_, err = h.factors.Prove(other, factors.Proof{RecoveryCode: codes[2]})
		want(t, err, errs.InvalidCredentials)
		_, err = h.factors.Prove(other, factors.Proof{RecoveryCode: fresh[2]})
		h.must(err)
	})
}

// Another app takes over when its first code comes; until then, and when that comes too late, the old one counts.
func TestReplace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner := h.signIn()
		old, _ := h.enrol(owner)
		owner = h.again(owner)
		offer, err := h.factors.OfferTOTP(owner, password)
		h.must(err)
		waiting := h.signIn()
		_, err = h.factors.Prove(waiting, factors.Proof{TOTP: h.code(offer.Secret)})
		want(t, err, errs.InvalidCredentials)
		_, err = h.factors.Prove(waiting, factors.Proof{TOTP: h.code(old)})
		h.must(err)
		h.clock.Advance(31 * time.Minute)
		_, err = h.factors.ConfirmTOTP(owner, h.code(offer.Secret))
		want(t, err, errs.NotFound)
		offer, err = h.factors.OfferTOTP(owner, password)
		h.must(err)
		codes, err := h.factors.Prove(owner, factors.Proof{TOTP: h.code(offer.Secret)})
		if err != nil || len(codes) != 10 {
			t.Fatal(codes, err)
		}
		h.clock.Advance(time.Minute)
		_, err = h.factors.Prove(h.signIn(), factors.Proof{TOTP: h.code(old)})
		want(t, err, errs.InvalidCredentials)
	})
}

func TestDisable(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner := h.signIn()
		_, codes := h.enrol(owner)
		owner = h.again(owner)
		want(t, h.factors.Disable(owner, "wrong password"), errs.InvalidCredentials)
		want(t, h.factors.Disable(h.signIn(), password), errs.InvalidCredentials)
		h.must(h.factors.Disable(owner, password))
		next := h.signIn()
		if access.From(next).Pending {
			t.Error("a second factor is still owed")
		}
		_, err := h.factors.Prove(next, factors.Proof{RecoveryCode: codes[0]})
		want(t, err, errs.NotFound)
		if told := h.events("gateway.mfa.updated"); len(told) != 2 {
			t.Errorf("events %v", told)
		}
	})
}

// Where a second factor is wanted, a first session may set it up and do nothing else, and nobody can take it off.
func TestForced(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ctx := h.signIn()
		if !access.From(ctx).Pending {
			t.Fatal("the session may do everything")
		}
		offer, err := h.factors.OfferTOTP(ctx, password)
		h.must(err)
		codes, err := h.factors.Prove(ctx, factors.Proof{TOTP: h.code(offer.Secret)})
		if err != nil || len(codes) != 10 {
			t.Fatal(codes, err)
		}
		ctx = h.again(ctx)
		if access.From(ctx).Pending {
			t.Error("the session is held back although everything is set up")
		}
		want(t, h.factors.Disable(ctx, password), errs.PermissionDenied)
	}, func(c *config.Config) { c.ForceMFA = true })
}

// Visitors, access tokens and keys have no factors; administrators can take them off somebody who has lost them.
func TestOthers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		owner := h.signIn()
		userID := access.From(owner).UserID
		for name, p := range map[string]access.Principal{
			"visitor":      {Kind: access.Anonymous, Credential: access.BySession, UserID: userID, SessionID: "s"},
			"access token": {Kind: access.User, Credential: access.ByAccessToken, UserID: userID, SessionID: "at:1"},
			"key":          {Kind: access.Key, Credential: access.ByAPIKey, KeyID: "k"},
		} {
			ctx := h.caller(p)
			for what, try := range map[string]func(context.Context) error{
				"offer":   func(ctx context.Context) error { _, err := h.factors.OfferTOTP(ctx, password); return err },
				"status":  func(ctx context.Context) error { _, err := h.factors.Status(ctx); return err },
				"passkey": func(ctx context.Context) error { _, err := h.factors.BeginPasskey(ctx, password); return err },
				"confirm": func(ctx context.Context) error { return h.factors.Confirm(ctx, password) },
			} {
				if err := try(ctx); errs.CodeOf(err) != errs.PermissionDenied {
					t.Errorf("%s, %s: %v", name, what, err)
				}
			}
		}
		h.enrol(owner)
		newDevice(t).register(h, h.again(owner))
		h.must(h.factors.Reset(h.caller(access.Principal{Kind: access.User, UserID: "admin", SuperAdmin: true}), userID))
		next := h.signIn()
		keys, err := h.factors.Passkeys(next)
		if err != nil || len(keys) != 0 || access.From(next).Pending {
			t.Errorf("left: %v %v", keys, err)
		}
		want(t, h.factors.Reset(owner, "nobody"), errs.NotFound)
	})
}
