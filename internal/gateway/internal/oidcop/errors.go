package oidcop

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"

	"atelier/internal/errs"
	"atelier/internal/httpx"
)

// failure is an error in the words of OAuth.
type failure struct {
	Code        string `json:"error"`
	Description string `json:"error_description,omitempty"`
	status      int
}

// Error implements error.
func (f *failure) Error() string { return f.Code + ": " + f.Description }

func fail(code, description string) *failure {
	return &failure{Code: code, Description: description, status: http.StatusBadRequest}
}

func badRequest(description string) *failure { return fail("invalid_request", description) }

func badGrant(description string) *failure { return fail("invalid_grant", description) }

func badClient() *failure {
	return &failure{Code: "invalid_client", Description: "The client is unknown, or did not prove itself the way it registered.", status: http.StatusUnauthorized}
}

func badToken() *failure {
	return &failure{Code: "invalid_token", Description: "The token is missing, not valid, or has expired.", status: http.StatusUnauthorized}
}

// inWords puts an error into the words of OAuth. A fault of ours is logged and shown without its cause.
func (p *Provider) inWords(r *http.Request, err error) *failure {
	if f, ok := errors.AsType[*failure](err); ok {
		return f
	}
	problem := httpx.NewProblem(r.Context(), err)
	p.deps.Errors.Report(r.Context(), problem)
	status := problem.GetStatus()
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout:
		return &failure{Code: "temporarily_unavailable", Description: errs.From(err).Message, status: status}
	case status < http.StatusInternalServerError:
		return &failure{Code: "invalid_request", Description: errs.From(err).Message, status: status}
	default:
		return &failure{Code: "server_error", Description: errs.From(err).Message, status: status}
	}
}

// refuse answers a client with an error.
func (p *Provider) refuse(w http.ResponseWriter, r *http.Request, err error) {
	f := p.inWords(r, err)
	if own, ok := errors.AsType[*errs.Error](err); ok && own.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(own.RetryAfter.Seconds()))))
	}
	switch f.Code {
	case "invalid_client":
		w.Header().Set("WWW-Authenticate", `Basic realm="atelier"`)
	case "invalid_token", "insufficient_scope":
		w.Header().Set("WWW-Authenticate", `Bearer error="`+f.Code+`"`)
	}
	answer(w, f.status, f)
}

// refusePage answers one of our pages, in the words of the API.
func (p *Provider) refusePage(w http.ResponseWriter, r *http.Request, err error) {
	if f, ok := errors.AsType[*failure](err); ok {
		err = errs.New(errs.InvalidRequest, f.Description).WithStatus(f.status)
	}
	p.deps.Errors.Write(w, r, err)
}

// answer writes JSON. Nothing the provider says is to be kept, unless its handler has said so before.
func answer(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		status, text = http.StatusInternalServerError, []byte(`{"error":"server_error"}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)))
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
