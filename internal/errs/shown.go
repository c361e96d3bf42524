package errs

import "maps"

// Shown is what a client sees of an error, wherever it is kept.
type Shown struct {
	Error   Code           `json:"error" doc:"The code; match on it."`
	Message string         `json:"message" doc:"What happened and what to do."`
	Details map[string]any `json:"details,omitempty" doc:"More of it, such as errors with the wrong fields."`
}

// Show gives what a client sees of the error.
func (e *Error) Show() Shown {
	return Shown{Error: e.Code, Message: e.Message, Details: e.AllDetails()}
}

// AllDetails are the details, with the wrong fields and the time to wait among them.
func (e *Error) AllDetails() map[string]any {
	if len(e.Fields) == 0 && e.RetryAfter == 0 {
		return e.Details
	}
	details := make(map[string]any, len(e.Details)+2)
	maps.Copy(details, e.Details)
	if len(e.Fields) > 0 {
		details["errors"] = e.Fields
	}
	if e.RetryAfter > 0 {
		details["retryAfter"] = e.RetryAfter.Seconds()
	}
	return details
}
