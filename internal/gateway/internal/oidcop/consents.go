package oidcop

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// hasConsent tells whether a person has let the client have all of what it asks for, now or before.
func (p *Provider) hasConsent(ctx context.Context, userID string, req request) (bool, error) {
	given, err := consented(ctx, p.deps.DB, userID, req.ClientID)
	return err == nil && !slices.ContainsFunc(req.Scopes, func(s string) bool { return !slices.Contains(given, s) }), err
}

func consented(ctx context.Context, r sqldb.Reader, userID, clientID string) ([]string, error) {
	var scopes string
	err := r.QueryRow(ctx, `SELECT scopes FROM oidc_consents WHERE user_id = $1 AND client_id = $2`, userID, clientID).Scan(&scopes)
	if sqldb.IsNotFound(err) {
		return nil, nil
	}
	return strings.Fields(scopes), err
}

// consent is the person's answer to a client that does not belong to the installation.
func (p *Provider) consent(w http.ResponseWriter, r *http.Request) {
	target, err := p.decide(w, r)
	if err != nil {
		p.refusePage(w, r, err)
		return
	}
	answer(w, http.StatusOK, map[string]string{"redirect": target})
}

func (p *Provider) decide(w http.ResponseWriter, r *http.Request) (target string, err error) {
	if err := p.sameSite(r); err != nil {
		return "", err
	}
	var body struct {
		Allow *bool `json:"allow"`
	}
	if err := readJSON(w, r, &body, "allow"); err != nil {
		return "", err
	}
	if body.Allow == nil {
		return "", errs.Invalid(errs.Field{Field: "allow", Message: "say true or false"})
	}
	in, c, err := p.findInteraction(r)
	if err != nil {
		return "", err
	}
	in.passing = c.FirstParty
	browser, err := p.signedIn(r)
	if err != nil {
		return "", err
	}
	if missing, err := p.missing(r.Context(), c, in, browser); err != nil || missing == needLogin {
		return "", errs.New(errs.InvalidCredentials, "Sign in first.").Because(err)
	}
	ctx := access.With(r.Context(), actor(browser))
	if !*body.Allow {
		err := p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error { return p.finish(ctx, tx, in.ID) })
		refusal := fail("access_denied", "The person did not agree.")
		return p.reply(in.Request.RedirectURI, refusal.params(), in.Request.State), err
	}
	return p.resumeAddress(in.ID), p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error { return p.allow(ctx, tx, in, browser) })
}

// signedIn is who is signed in in the browser, with nothing left to prove.
func (p *Provider) signedIn(r *http.Request) (identity.Browser, error) {
	browser, err := p.browser(r)
	if err == nil && (browser.User.ID == "" || browser.Pending) {
		err = errs.New(errs.InvalidCredentials, "Sign in first.")
	}
	return browser, err
}

// allow remembers the consent, for this interaction and, unless it is to be asked for every time, for later ones.
func (p *Provider) allow(ctx context.Context, tx *sqldb.Tx, in interaction, browser identity.Browser) error {
	noted, err := tx.Exec(ctx, `UPDATE oidc_interactions SET consented_by = $1 WHERE id = $2`, browser.User.ID, in.ID)
	if err != nil {
		return err
	}
	if noted == 0 {
		return noInteraction()
	}
	if in.passing {
		return p.deps.Identity.Audit(ctx, tx, identity.Act{
			TargetType: "clients", TargetID: in.Request.ClientID,
			Payload: &catalogue.Consent{Verb: catalogue.Given, Scopes: in.Request.Scopes, Redirect: placeOf(in.Request.RedirectURI)},
		})
	}
	before, err := consented(ctx, tx, browser.User.ID, in.Request.ClientID)
	if err != nil {
		return err
	}
	all := slices.Clone(before)
	for _, scope := range in.Request.Scopes {
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	if _, err := tx.Exec(ctx, `INSERT INTO oidc_consents (user_id, client_id, scopes, granted_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (user_id, client_id) DO UPDATE SET scopes = excluded.scopes, granted_at = excluded.granted_at`,
		browser.User.ID, in.Request.ClientID, strings.Join(all, " "), sqldb.Millis(p.now())); err != nil {
		return err
	}
	return p.deps.Identity.Audit(ctx, tx, identity.Act{
		Payload: &catalogue.Consent{Verb: catalogue.Updated}, TargetType: "clients", TargetID: in.Request.ClientID,
		Before: map[string]any{"scopes": before}, After: map[string]any{"scopes": all},
	})
}
