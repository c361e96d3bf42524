package gateway

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// CallersPath is where other processes of the installation ask whose a credential is, with their proof. To everybody else
// there is nothing.
const CallersPath = "/sys/callers"

// Credential is what somebody proves who they are with, that came otherwise than in the headers of a request.
type Credential struct {
	Authorization string `json:"authorization,omitempty"`
	Key           string `json:"key,omitempty"`
}

// maxCredential is larger than any.
const maxCredential = 64 << 10

// Identify tells whose a credential is. It counts, and is refused, as in the headers of a request.
func (g *Gateway) Identify(ctx context.Context, credential Credential) (access.Principal, error) {
	r := (&http.Request{Method: http.MethodGet, URL: &url.URL{Path: socketPath}, Header: http.Header{}}).WithContext(ctx)
	if credential.Authorization != "" {
		r.Header.Set("Authorization", credential.Authorization)
	}
	if credential.Key != "" {
		r.Header.Set("X-Svc-Api-Key", credential.Key)
	}
	caller, err := g.authenticate(r)
	if err == nil && caller.Kind == access.Nobody {
		err = access.MissingToken()
	}
	return caller, err
}

// tellCaller answers another process of the installation.
func (g *Gateway) tellCaller(w http.ResponseWriter, r *http.Request) {
	if g.deps.Prover == nil || r.Method != http.MethodPost || len(r.Header[access.HeaderProof]) == 0 {
		g.api.NotFound(w, r)
		return
	}
	ctx, err := g.deps.Prover.Trust(r, httpx.InfoFrom(r.Context()))
	if err != nil || access.From(ctx).Kind != access.Internal {
		g.api.NotFound(w, r)
		return
	}
	var credential Credential
	if err := json.NewDecoder(io.LimitReader(r.Body, maxCredential)).Decode(&credential); err != nil {
		g.api.Errors().Write(w, r, errs.New(errs.InvalidRequest, "Send a credential."))
		return
	}
	caller, err := g.Identify(ctx, credential)
	if err != nil {
		g.api.Errors().Write(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(caller) // a client that has left is told nothing
}
