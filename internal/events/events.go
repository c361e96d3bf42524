// Package events is the service that stores what happened and lets it be read.
package events

import (
	"regexp"
	"strings"

	"atelier/internal/catalogue"
	"atelier/internal/errs"
)

// MaxBatch is how many events one request may emit.
const MaxBatch = 100

const maxType = 200

var typeForm = regexp.MustCompile(`^[a-zA-Z0-9_-][a-zA-Z0-9 ._-]*$`) //nolint:gochecknoglobals // compiled once, never changed

// CheckType refuses event types that users may not emit: malformed ones with validation_failed, the platform's own with
// permission_denied.
func CheckType(eventType, field string) error {
	if len(eventType) > maxType || !typeForm.MatchString(eventType) {
		return errs.Invalid(errs.Field{Field: field, Message: "use 1 to 200 letters, digits, spaces and . _ -, beginning with a letter, digit, _ or -"})
	}
	if own, is := catalogue.Reserved(eventType); is {
		if strings.HasSuffix(own, ".") {
			own += "*"
		}
		return errs.Newf(errs.PermissionDenied, "Events of type %s are emitted by the platform only; choose another type.", own).With("eventType", eventType)
	}
	return nil
}
