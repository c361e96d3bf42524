package oidcop

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"

	"atelier/internal/sqldb"
)

// introspect tells a client about a token of its own. Another's token, and one that is not valid, look the same.
func (p *Provider) introspect(w http.ResponseWriter, r *http.Request) {
	c, token, err := p.ownToken(w, r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	said, err := p.describe(r.Context(), c, token)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	answer(w, http.StatusOK, said)
}

// ownToken reads a form in which a client that proves itself sends a token.
func (p *Provider) ownToken(w http.ResponseWriter, r *http.Request) (Client, string, error) {
	form, err := readForm(w, r)
	if err != nil {
		return Client{}, "", err
	}
	c, err := p.authenticateClient(r, form)
	if err == nil && form.Get("token") == "" {
		err = badRequest("token is needed.")
	}
	return c, form.Get("token"), err
}

func (p *Provider) describe(ctx context.Context, c Client, token string) (*oidc.IntrospectionResponse, error) {
	row, err := readRefresh(ctx, p.deps.DB, hashOf(token))
	if sqldb.IsNotFound(err) {
		return p.describeAccess(ctx, c, token)
	}
	if err != nil {
		return nil, err
	}
	g := row.read()
	if dead := row.used != 0 || p.checkRefresh(c, g, row) != nil; dead {
		return &oidc.IntrospectionResponse{}, nil
	}
	return &oidc.IntrospectionResponse{
		Active: true, Scope: g.Scopes, ClientID: g.ClientID, TokenType: grantRefresh, Subject: g.UserID,
		Expiration: oidc.FromTime(sqldb.Time(row.expires)), Issuer: p.deps.Config.Issuer(),
	}, nil
}

func (p *Provider) describeAccess(ctx context.Context, c Client, token string) (*oidc.IntrospectionResponse, error) {
	t, own, err := p.ownAccess(ctx, c, token)
	if own {
		return &oidc.IntrospectionResponse{
			Active: true, Scope: strings.Fields(t.Scope), ClientID: t.ClientID, TokenType: oidc.BearerToken, Subject: t.Subject, JWTID: t.ID,
			Expiration: oidc.FromTime(time.Unix(t.Expires, 0)), IssuedAt: oidc.FromTime(time.Unix(t.Issued, 0)),
			Issuer: p.deps.Config.Issuer(), Audience: oidc.Audience{p.deps.Config.PublicURL()},
		}, nil
	}
	return &oidc.IntrospectionResponse{}, err
}

// ownAccess reads an access token of the client. Only what looks like one is tried: a wrong one counts against the network
// that the client shares with others.
func (p *Provider) ownAccess(ctx context.Context, c Client, token string) (t accessToken, own bool, err error) {
	const dots = 2
	if strings.Count(token, ".") != dots {
		return t, false, nil
	}
	t, err = p.readAccess(ctx, token)
	if _, refused := errors.AsType[*failure](err); refused {
		return t, false, nil
	}
	return t, err == nil && t.ClientID == c.ID, err
}

// revoke ends a token of the client: a refresh token with everything that came of its grant, an access token alone. A token
// that is not the client's, or not valid, has nothing to be ended.
func (p *Provider) revoke(w http.ResponseWriter, r *http.Request) {
	c, token, err := p.ownToken(w, r)
	if err == nil {
		err = p.end(r.Context(), c, token)
	}
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (p *Provider) end(ctx context.Context, c Client, token string) error {
	row, err := readRefresh(ctx, p.deps.DB, hashOf(token))
	switch {
	case err == nil && row.ClientID != c.ID:
		return nil
	case err == nil:
		err = p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error { return endGrant(ctx, tx, row.ID, p.now()) })
	case sqldb.IsNotFound(err):
		err = p.endAccess(ctx, c, token)
	}
	if err != nil {
		return err
	}
	return p.deps.Revocations.Refresh(ctx)
}

func (p *Provider) endAccess(ctx context.Context, c Client, token string) error {
	t, own, err := p.ownAccess(ctx, c, token)
	if err != nil || !own {
		return err
	}
	return p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE oidc_tokens SET revoked_at = $1 WHERE id = $2 AND revoked_at = 0`, sqldb.Millis(p.now()), t.ID)
		return err
	})
}
