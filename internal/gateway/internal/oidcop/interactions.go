package oidcop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// interaction is an authorization request that waits for a person.
type interaction struct {
	// ID is empty for a request that did not have to wait yet.
	ID          string
	Request     request
	ConsentedBy string
	Created     time.Time
	// passing tells that a consent is for this interaction alone.
	passing bool
}

// interactionCookie binds interactions to the browser that began them, so that a link to another's is of no use.
const interactionCookie = "_interactionv2"

func (p *Provider) cookieName() string {
	if p.deps.Config.Secure() {
		return "__Host-" + interactionCookie
	}
	return interactionCookie
}

// holder is the secret of the browser; empty when it has none, or several.
func (p *Provider) holder(r *http.Request) string {
	const length = 43
	if sent := r.CookiesNamed(p.cookieName()); len(sent) == 1 && len(sent[0].Value) == length {
		return sent[0].Value
	}
	return ""
}

// ask keeps the request and sends the browser to the sign-in page.
func (p *Provider) ask(w http.ResponseWriter, r *http.Request, in interaction) {
	if in.ID == "" {
		holder := p.holder(r) // several tabs share it
		if holder == "" {
			holder = p.deps.IDs.Secret()
		}
		in.ID = p.deps.IDs.File()
		if err := p.insertInteraction(r.Context(), in, holder); err != nil {
			p.refusePerson(w, r, err)
			return
		}
		http.SetCookie(w, p.jar.Set(p.cookieName(), holder, p.now().Add(interactionLife)))
	}
	p.redirect(w, r, p.signinPage(in))
}

// signinPage is the page for an interaction, in the language that was asked for.
func (p *Provider) signinPage(in interaction) string {
	cfg, page := p.deps.Config, p.deps.Config.SigninPage()
	params := url.Values{"interaction": {in.ID}}
	if language := in.Request.Locale; language != "" {
		if cfg.ConsoleURL != "" && cfg.LoginURL == "" {
			page = cfg.Console() + "/" + language + "/signin"
		} else {
			params.Set("lang", language)
		}
	}
	return withParams(page, params)
}

func (p *Provider) resumeAddress(id string) string { return p.at("/oidc/auth/" + id) }

func (p *Provider) insertInteraction(ctx context.Context, in interaction, holder string) error {
	text, err := json.Marshal(in.Request)
	if err != nil {
		return err
	}
	return p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO oidc_interactions (id, browser_hash, request, consented_by, created_at, expires_at)
				VALUES ($1, $2, $3, '', $4, $5)`,
			in.ID, hashOf(holder), string(text), sqldb.Millis(in.Created), sqldb.Millis(in.Created.Add(interactionLife)))
		return err
	})
}

// findInteraction finds the interaction of a request in the browser that began it, and its client. Another's looks as if
// there were none.
func (p *Provider) findInteraction(r *http.Request) (in interaction, c Client, err error) {
	var text, holder string
	var created int64
	in.ID = r.PathValue("uid")
	err = p.deps.DB.QueryRow(r.Context(), `SELECT browser_hash, request, consented_by, created_at FROM oidc_interactions
			WHERE id = $1 AND expires_at > $2`, in.ID, sqldb.Millis(p.deps.Clock.Now())).Scan(&holder, &text, &in.ConsentedBy, &created)
	if err != nil && !sqldb.IsNotFound(err) {
		return in, c, err
	}
	if sent := p.holder(r); err != nil || sent == "" || hashOf(sent) != holder {
		return in, c, noInteraction()
	}
	in.Created = sqldb.Time(created)
	if err := json.Unmarshal([]byte(text), &in.Request); err != nil {
		return in, c, err
	}
	c, err = p.client(r.Context(), in.Request.ClientID)
	if isBadClient(err) || err == nil && !c.allowsRedirect(in.Request.RedirectURI) {
		err = noInteraction() // the client was removed or changed meanwhile
	}
	return in, c, err
}

func noInteraction() *errs.Error {
	return errs.New(errs.NotFound, "This sign-in has ended, took too long, or was begun in another browser. Go back to the application and start again.")
}

// finish ends an interaction: it gives one code.
func (p *Provider) finish(ctx context.Context, tx *sqldb.Tx, id string) error {
	ended, err := tx.Exec(ctx, `DELETE FROM oidc_interactions WHERE id = $1`, id)
	if err == nil && ended == 0 {
		return noInteraction()
	}
	return err
}

// interact is the step of consent: it goes on when nothing has to be asked, and to the page otherwise.
func (p *Provider) interact(w http.ResponseWriter, r *http.Request) {
	in, c, err := p.findInteraction(r)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	browser, err := p.browser(r)
	if err != nil {
		p.refusePerson(w, r, err)
		return
	}
	if missing, err := p.missing(r.Context(), c, in, browser); err == nil && missing != nothing {
		p.redirect(w, r, p.signinPage(in))
		return
	}
	p.redirect(w, r, p.resumeAddress(in.ID))
}

// shownClient is a client as pages show it.
type shownClient struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	FirstParty bool   `json:"firstParty"`
}

func (c Client) shown() shownClient {
	return shownClient{ID: c.ID, Name: c.Name, FirstParty: c.FirstParty}
}

// shownInteraction is what the sign-in page needs to know.
type shownInteraction struct {
	Client shownClient `json:"client"`
	Scopes []string    `json:"scopes"`
	// Redirect is where the answer goes: a host, or the scheme of an app.
	Redirect  string `json:"redirect"`
	Prompt    step   `json:"prompt"`
	LoginHint string `json:"loginHint,omitempty"`
	Locale    string `json:"locale,omitempty"`
	Resume    string `json:"resume"`
}

// details tells the sign-in page what an interaction is about and what it waits for.
func (p *Provider) details(w http.ResponseWriter, r *http.Request) {
	in, c, err := p.findInteraction(r)
	if err != nil {
		p.refusePage(w, r, err)
		return
	}
	browser, err := p.browser(r)
	if err != nil {
		p.refusePage(w, r, err)
		return
	}
	missing, err := p.missing(r.Context(), c, in, browser)
	if err != nil && p.inWords(r, err).status >= http.StatusInternalServerError {
		p.refusePage(w, r, err)
		return
	}
	answer(w, http.StatusOK, shownInteraction{
		Client: c.shown(), Scopes: in.Request.Scopes, Redirect: placeOf(in.Request.RedirectURI), Prompt: missing, LoginHint: in.Request.LoginHint, Locale: in.Request.Locale,
		Resume: p.resumeAddress(in.ID),
	})
}
