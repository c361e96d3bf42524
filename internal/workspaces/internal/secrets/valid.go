package secrets

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"atelier/internal/errs"
)

const (
	maxSecrets     = 1000
	maxValue       = 64 << 10
	maxDescription = 4000
	maxProblems    = 100
)

// NamePattern is what a secret may be called.
const NamePattern = `^[A-Za-z_][A-Za-z0-9_-]{0,99}$`

var nameForm = regexp.MustCompile(NamePattern) //nolint:gochecknoglobals // compiled once, never changed

// reservedPrefix begins the names of the platform's own settings of a workspace.
const reservedPrefix = "svc_"

// Reserved tells that a name is the platform's: such a secret is there for super admins and for the platform alone. For
// callers that follows from the rules of every workspace.
func Reserved(name string) bool { return strings.HasPrefix(name, reservedPrefix) }

// valid refuses names and values that cannot be; validation_failed says which, and never what the value is.
func valid(drafts map[string]Draft) error {
	var problems []errs.Field
	for _, name := range slices.Sorted(maps.Keys(drafts)) {
		if problems = append(problems, drafts[name].problems(name)...); len(problems) >= maxProblems {
			break
		}
	}
	if len(problems) > 0 {
		return errs.Invalid(problems...)
	}
	return nil
}

func (d Draft) problems(name string) (problems []errs.Field) {
	if !nameForm.MatchString(name) {
		return []errs.Field{{Field: shortened(name), Message: "a name begins with a letter or _, goes on with letters, digits, _ and -, and has at most 100 of them"}}
	}
	if d.Value != nil && (*d.Value == "" || len(*d.Value) > maxValue) {
		problems = append(problems, errs.Field{Field: name + ".value", Message: fmt.Sprintf("use a text of 1 to %d bytes", maxValue)})
	}
	if d.Description != nil && utf8.RuneCountInString(*d.Description) > maxDescription {
		problems = append(problems, errs.Field{Field: name + ".description", Message: fmt.Sprintf("use a text of at most %d characters", maxDescription)})
	}
	return problems
}

// shortened keeps a name that the caller chose from making the answer as large as the request.
func shortened(name string) string {
	const longest = 100
	if len(name) <= longest {
		return name
	}
	return strings.ToValidUTF8(name[:longest], "") + "…"
}
