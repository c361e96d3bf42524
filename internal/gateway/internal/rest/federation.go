package rest

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/federation"
	"atelier/internal/restapi"
)

// ProvidersBody says how people can sign in.
type ProvidersBody struct {
	LocalSignin bool           `json:"localSignin" doc:"Whether accounts can sign in with a password."`
	LocalSignup bool           `json:"localSignup" doc:"Whether people can sign up here."`
	Providers   []ProviderBody `json:"providers" nullable:"false" doc:"The external providers."`
}

// ProviderBody is an external provider, as the sign-in page shows it.
type ProviderBody struct {
	Slug string            `json:"slug" doc:"What GET /v2/login takes as provider."`
	Type string            `json:"type" enum:"oidc" doc:"The protocol."`
	Name string            `json:"name,omitempty" doc:"What people call it."`
	Icon string            `json:"icon,omitempty" doc:"An image of it."`
	Meta map[string]string `json:"meta,omitempty" doc:"What the operator adds for the sign-in page."`
}

type providersOutput struct{ Body ProvidersBody }

type exchangeInput struct {
	Body struct {
		Provider         string `json:"provider" minLength:"1" maxLength:"50" doc:"The slug of the provider."`
		SubjectToken     string `json:"subject_token" minLength:"1" maxLength:"65536" doc:"An ID token or a JWT access token of the provider, meant for this installation."`
		SubjectTokenType string `json:"subject_token_type,omitempty" enum:"urn:ietf:params:oauth:token-type:id_token,urn:ietf:params:oauth:token-type:jwt,urn:ietf:params:oauth:token-type:access_token" doc:"What kind of token it is."`
		GrantType        string `json:"grant_type,omitempty" enum:"urn:ietf:params:oauth:grant-type:token-exchange" doc:"What is asked for."`
		ExpiresAfter     int    `json:"expiresAfter,omitempty" minimum:"60" maximum:"31536000" doc:"How long the session lasts, in seconds; never longer than the installation allows."`
	}
}

type linkInput struct {
	Body struct {
		Provider string `json:"provider" minLength:"1" maxLength:"50" doc:"The slug of the provider."`
	}
}

type linkOutput struct {
	SetCookie []http.Cookie `header:"Set-Cookie" doc:"Ties the link to this browser."`
	Body      struct {
		Redirect string `json:"redirect" doc:"Where to send the browser."`
	}
}

// LinkBody is a link of an account to a provider.
type LinkBody struct {
	Provider  string    `json:"provider" doc:"The slug of the provider."`
	ID        string    `json:"id" doc:"Who the user is at the provider."`
	Email     string    `json:"email,omitempty" doc:"The address the provider names."`
	CreatedAt time.Time `json:"createdAt" doc:"When the link was made."`
}

type linksOutput struct {
	Body []LinkBody `nullable:"false"`
}

type linkPath struct {
	Provider string `path:"provider" maxLength:"50" doc:"The slug of the provider."`
}

func registerFederation(api *restapi.API, deps Deps) {
	registerProviders(api, deps)
	registerLinks(api, deps)
	for _, op := range []struct {
		id, method, path string
		handler          http.HandlerFunc
	}{
		{"beginSignIn", http.MethodGet, "/v2/login", deps.beginSignIn(api)},
		{"finishSignIn", http.MethodGet, "/v2/login/callback", deps.finishSignIn(api)},
		{"finishSignInByForm", http.MethodPost, "/v2/login/callback", deps.finishByForm(api)},
	} {
		api.Handle(restapi.Operation{ID: op.id, Method: op.method, Path: op.path, Tag: "Identity", Policy: access.Public}, op.handler)
	}
}

func registerProviders(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "listProviders", Method: http.MethodGet, Path: "/v2/login/providers", Tag: "Identity", Policy: access.Public,
		Summary: "Ways to sign in", Description: "Whether people can sign in and up with a password, and the external providers. To sign in with one, send the browser to GET /v2/login?provider={slug}.",
	}, func(context.Context, *struct{}) (*providersOutput, error) {
		out := &providersOutput{Body: ProvidersBody{
			LocalSignin: !deps.Config.DisableSignin, LocalSignup: !deps.Config.DisableSignup, Providers: []ProviderBody{},
		}}
		for _, p := range deps.Federation.Providers() {
			out.Body.Providers = append(out.Body.Providers, ProviderBody{Slug: p.Slug, Type: "oidc", Name: p.Name, Icon: p.Icon, Meta: p.Meta})
		}
		return out, nil
	})
	restapi.Register(api, restapi.Operation{
		ID: "exchangeToken", Method: http.MethodPost, Path: "/v2/login/token-exchange", Tag: "Identity", Policy: access.Public, Once: true,
		Summary: "Sign in with a provider's token", Description: "Opens a session for the person that a token of an external provider is about. The operator must allow it for the provider.",
		Errors: []errs.Code{errs.InvalidToken, errs.InvalidCredentials, errs.PermissionDenied, errs.NotFound, errs.Conflict},
	}, func(ctx context.Context, in *exchangeInput) (*signedInOutput, error) {
		result, err := deps.Federation.Exchange(ctx, federation.Exchange{
			Provider: in.Body.Provider, Token: in.Body.SubjectToken, Life: time.Duration(in.Body.ExpiresAfter) * time.Second,
		})
		return deps.signedIn(result, err)
	})
}

func registerLinks(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "createLink", Method: http.MethodPost, Path: "/v2/user/links", Tag: "Identity", Policy: access.Accounts, Scope: access.Account, Once: true,
		Summary: "Link a provider", Description: "Begins to link the account to an external provider, so that it can sign in with it. Send the same browser to the answer's address.",
		Errors: []errs.Code{errs.NotFound},
	}, func(ctx context.Context, in *linkInput) (*linkOutput, error) {
		departure, err := deps.Federation.BeginLink(ctx, in.Body.Provider)
		if err != nil {
			return nil, err
		}
		out := &linkOutput{SetCookie: []http.Cookie{*deps.flowCookie(departure)}}
		out.Body.Redirect = departure.URL
		return out, nil
	})
	restapi.Register(api, restapi.Operation{
		ID: "listLinks", Method: http.MethodGet, Path: "/v2/user/links", Tag: "Identity", Policy: access.Accounts, Scope: access.Account,
		Summary: "Linked providers", Description: "The external providers that the account can sign in with.",
	}, func(ctx context.Context, _ *struct{}) (*linksOutput, error) {
		links, err := deps.Identity.Links(ctx, access.From(ctx).UserID)
		if err != nil {
			return nil, err
		}
		out := &linksOutput{Body: []LinkBody{}}
		for _, l := range links {
			email, _ := l.Claims["email"].(string)
			out.Body = append(out.Body, LinkBody{Provider: l.Provider, ID: l.Subject, Email: email, CreatedAt: l.Created.UTC()})
		}
		return out, nil
	})
	restapi.Register(api, restapi.Operation{
		ID: "deleteLink", Method: http.MethodDelete, Path: "/v2/user/links/{provider}", Tag: "Identity", Policy: access.Accounts, Scope: access.Account,
		Summary: "Remove a link", Description: "The account can no longer sign in with the provider, and its other sessions that began there end. The last way to sign in cannot be removed.",
		Errors: []errs.Code{errs.NotFound, errs.Conflict}, Status: http.StatusNoContent,
	}, func(ctx context.Context, in *linkPath) (*struct{}, error) {
		return nil, deps.Federation.Unlink(ctx, in.Provider)
	})
}

// beginSignIn sends the browser to a provider, or says that the mail domain has none.
func (deps Deps) beginSignIn(api *restapi.API) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := single(r.URL.RawQuery, "provider", "domain", "interaction", "return_to", "here")
		if err != nil {
			api.Errors().Write(w, r, err)
			return
		}
		slug, domain := query.Get("provider"), query.Get("domain")
		if (slug == "") == (domain == "") {
			api.Errors().Write(w, r, errs.New(errs.MissingParameter, "Name a provider, or a mail domain as domain."))
			return
		}
		if domain != "" {
			found := false
			if slug, found = deps.Federation.ByDomain(domain); !found {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte("{\"provider\":\"local\"}\n"))
				return
			}
		}
		departure, err := deps.Federation.Begin(r.Context(), federation.Request{
			Provider: slug, Interaction: query.Get("interaction"), ReturnTo: query.Get("return_to"), Here: query.Get("here") != "", Browser: deps.flowSecret(r),
		})
		if err != nil {
			api.Errors().Write(w, r, err)
			return
		}
		http.SetCookie(w, deps.flowCookie(departure))
		found(w, departure.URL)
	}
}

// finishSignIn takes the browser back from a provider.
func (deps Deps) finishSignIn(api *restapi.API) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		query, err := single(r.URL.RawQuery, callbackParameters()...)
		if err != nil {
			api.Errors().Write(w, r, err)
			return
		}
		arrival, err := deps.Federation.Finish(r.Context(), federation.Callback{
			Code: query.Get("code"), State: query.Get("state"), Issuer: query.Get("iss"), Error: query.Get("error"), Browser: deps.flowSecret(r),
		})
		if err != nil {
			api.Errors().Write(w, r, err)
			return
		}
		if arrival.SignedIn != nil {
			answer, err := deps.signedIn(*arrival.SignedIn, nil)
			if err != nil {
				api.Errors().Write(w, r, err)
				return
			}
			for _, cookie := range answer.SetCookie {
				http.SetCookie(w, &cookie)
			}
		}
		found(w, arrival.Location)
	}
}

// callbackParameters are what is read of a callback; providers add more.
func callbackParameters() []string { return []string{"code", "state", "iss", "error"} }

// finishByForm turns the form that a provider has the browser post into the other kind of callback: a browser sends our
// cookies only when it follows a link to us.
func (deps Deps) finishByForm(api *restapi.API) http.HandlerFunc {
	const maxForm = 64 << 10
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			api.Errors().Write(w, r, errs.New(errs.InvalidRequest, "Send a form of at most 64 KiB."))
			return
		}
		form, err := single(r.PostForm.Encode(), callbackParameters()...)
		if err != nil {
			api.Errors().Write(w, r, err)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Location", deps.Config.PublicURL()+"/login/callback?"+form.Encode())
		w.WriteHeader(http.StatusSeeOther)
	}
}

func found(w http.ResponseWriter, location string) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", location)
	w.WriteHeader(http.StatusFound)
}

// single reads the named parameters, each given once at most and no longer than anyone needs.
func single(raw string, names ...string) (url.Values, error) {
	const longest = 8 << 10
	all, err := url.ParseQuery(raw)
	if err != nil {
		return nil, errs.New(errs.InvalidParameter, "The query is not properly encoded.")
	}
	picked := url.Values{}
	for _, name := range names {
		values := all[name]
		if len(values) > 1 {
			return nil, errs.Parameter(name, "give it once")
		}
		if len(values) == 1 {
			if len(values[0]) > longest {
				return nil, errs.Parameter(name, "it is too long")
			}
			picked.Set(name, values[0])
		}
	}
	return picked, nil
}

// flowCookieName is the cookie that ties a sign-in through a provider to the browser that began it.
func (deps Deps) flowCookieName() string {
	if deps.Config.Secure() {
		return "__Host-_signin"
	}
	return "_signin"
}

func (deps Deps) flowCookie(departure federation.Departure) *http.Cookie {
	cookie := deps.Cookies.Set(deps.flowCookieName(), departure.Browser, deps.Federation.FlowEnds())
	cookie.MaxAge = int(federation.FlowLife.Seconds())
	return cookie
}

func (deps Deps) flowSecret(r *http.Request) string {
	if sent := r.CookiesNamed(deps.flowCookieName()); len(sent) == 1 {
		return sent[0].Value
	}
	return ""
}
