package fetch

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/egress"
	"atelier/internal/errs"
)

// FetchError is the name of the failure of a fetch that has no answer, or none that can be read.
const FetchError = "FetchError"

const (
	redacted = "REDACTED"
	// maxShown is how many characters of JSON a part of an event may have; more of it is left out.
	maxShown = 25_000
	stripped = "LARGE_CONTENT_STRIPPED"
)

// failureOf is what an automation is told. Of a server that was never reached it says no more than that: whether the address is
// forbidden, the port closed or the name unknown would describe a network that the automation cannot see.
func failureOf(err error) *machine.Failure {
	var failure *machine.Failure
	if errors.As(err, &failure) {
		return failure
	}
	made := machine.Fail(FetchError, egress.Unreachable).Because(err)
	var bad badAnswerError
	var attempted *attemptError
	switch {
	case errors.As(err, &bad):
		made.Message = string(bad)
	case errors.As(err, &attempted) && attempted.connected && errors.Is(err, errSlow):
		made.Message = "The address did not answer in time."
	}
	return made
}

// report emits runtime.fetch.failed, unless the instruction does not want it.
func (c *Client) report(f *machine.Frame, r *request, got *answer, failure *machine.Failure) {
	if !r.emitErrors {
		return
	}
	payload := &catalogue.FetchFailed{Request: shown(f, r.shown)}
	if got != nil {
		payload.Response = &catalogue.FetchResponse{Status: got.status, Body: shown(f, got.body)}
		if headers, ok := f.Redacted(withoutCredentials(got.headers())).(*value.Object); ok && fits(headers) {
			payload.Response.Headers = maps.Collect(headers.All())
		}
	}
	if failure != nil {
		payload.Error = &catalogue.FetchError{Shown: errs.Shown{Error: errs.Code(failure.Name), Message: failure.Message}}
		if got != nil {
			payload.Error.Status = got.status
		}
	}
	f.Record(payload)
}

// shown is a value as events show it: without what is hidden, and short.
func shown(f *machine.Frame, v any) any {
	if !fits(v) {
		return stripped
	}
	written, _ := value.JSON(f.Redacted(v), "", 2*maxShown) // what stands for a secret may be longer than it
	if written == "" {
		return nil
	}
	return json.RawMessage(written)
}

func fits(v any) bool {
	_, ok := value.JSON(v, "", maxShown)
	return ok
}

// shownRequest is the request as its instruction wrote it: with references in the place of secrets.
func shownRequest(r *request, parameters *value.Object) *value.Object {
	o := value.NewObject(6)
	o.Set("url", parameters.Get("url"))
	o.Set("method", r.method)
	for _, name := range []string{"query", "body", "multipart"} {
		if v := parameters.Get(name); value.Exists(v) {
			if !fits(v) {
				v = stripped
			}
			o.Set(name, v)
		}
	}
	if headers, ok := parameters.Get("headers").(*value.Object); ok {
		o.Set("headers", withoutCredentials(headers))
	}
	return o
}

// withoutCredentials hides the headers that are credentials by their name.
func withoutCredentials(headers *value.Object) *value.Object {
	o := value.NewObject(headers.Len())
	for name, v := range headers.All() {
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-svc-api-key", "api-key", "x-amz-security-token":
			v = redacted
		}
		o.Set(name, v)
	}
	return o
}
