package webhooks

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
)

const (
	maxSubscriptions = 100
	maxTypes         = 100
	maxHeaders       = 20
	maxHeaderName    = 100
	maxHeaderValue   = 4096
	maxFilters       = 16 << 10
	maxDescription   = 4000
	maxPath          = 200
	maxConcurrency   = 16
	usualConcurrency = 4
	mask             = "***"
	ownEvents        = "events.subscriptions."
)

var (
	typeForm   = regexp.MustCompile(`^(\*|[a-zA-Z0-9_-][a-zA-Z0-9 ._-]{0,198}\*?)$`) //nolint:gochecknoglobals // compiled once, never changed
	pathForm   = regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)           //nolint:gochecknoglobals // compiled once, never changed
	headerForm = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")                 //nolint:gochecknoglobals // compiled once, never changed
	valueForm  = regexp.MustCompile(`^[\x21-\x7e]([\x20-\x7e\t]*[\x21-\x7e])?$`)     //nolint:gochecknoglobals // compiled once, never changed
)

// check refuses a subscription that cannot work, with everything that is wrong about it.
func (w *Webhooks) check(s *Subscription, headers map[string]string) error {
	var wrong []errs.Field
	say := func(field, format string, args ...any) {
		wrong = append(wrong, errs.Field{Field: field, Message: fmt.Sprintf(format, args...)})
	}
	if refusal, ok := errors.AsType[*errs.Error](w.Network.CheckURL(s.URL)); ok {
		wrong = append(wrong, refusal.Fields...)
	}
	if strings.Contains(s.URL, "#") {
		say("url", "leave out the part after #; it is not sent")
	}
	if len(s.Types) > maxTypes {
		say("types", "give at most %d types", maxTypes)
	}
	for i, t := range s.Types {
		if !typeForm.MatchString(t) {
			say(fmt.Sprintf("types[%d]", i), "use a type of events, or the beginning of types and a *, such as order.*")
		}
	}
	if s.OrderBy != "" && (len(s.OrderBy) > maxPath || !pathForm.MatchString(s.OrderBy)) {
		say("orderBy", "use a dotted path into the event, such as payload.orderId")
	}
	if s.Concurrency < 1 || s.Concurrency > maxConcurrency {
		say("concurrency", "use 1 to %d", maxConcurrency)
	}
	if utf8.RuneCountInString(s.Description) > maxDescription || strings.ContainsRune(s.Description, 0) {
		say("description", "use at most %d characters", maxDescription)
	}
	wrong = append(wrong, checkHeaders(headers)...)
	if _, err := compile(s.Filters); err != nil {
		refusal, ok := errors.AsType[*errs.Error](err)
		if !ok {
			return err
		}
		for _, field := range refusal.Fields {
			say("filters."+field.Field, "%s", field.Message)
		}
	}
	if len(wrong) > 0 {
		return errs.Invalid(wrong...)
	}
	return nil
}

// compile makes the filter of the options.
func compile(f Filters) (query.Filter, error) {
	if text, err := json.Marshal(f); err != nil || len(text) > maxFilters {
		return query.Filter{}, errs.Invalid(errs.Field{Field: "payloadQuery", Message: fmt.Sprintf("use JSON of at most %d bytes for all filters", maxFilters)})
	}
	return f.Filter()
}

func checkHeaders(headers map[string]string) (wrong []errs.Field) {
	if len(headers) > maxHeaders {
		wrong = append(wrong, errs.Field{Field: "headers", Message: fmt.Sprintf("use at most %d headers", maxHeaders)})
	}
	for name, value := range headers {
		if len(name) > maxHeaderName || !headerForm.MatchString(name) {
			wrong = append(wrong, errs.Field{Field: "headers", Message: "use letters, digits and - for the names of headers"})
			continue
		}
		field := "headers." + name
		if reserved(name) {
			wrong = append(wrong, errs.Field{Field: field, Message: "this header is set by the platform or by the connection; use another one"})
		}
		if len(value) > maxHeaderValue || value != "" && !valueForm.MatchString(value) {
			wrong = append(wrong, errs.Field{Field: field, Message: fmt.Sprintf("use at most %d visible ASCII characters, and no line breaks", maxHeaderValue)})
		}
	}
	slices.SortFunc(wrong, func(a, b errs.Field) int { return strings.Compare(a.Field, b.Field) })
	return wrong
}

// reserved tells whether a header is not the subscriber's to set.
func reserved(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "host", "authorization", "content-length", "content-type", "content-encoding", "transfer-encoding", "connection", "upgrade", "te", "trailer",
		"keep-alive", "expect", "accept-encoding", "date", "forwarded", "via":
		return true
	}
	return strings.HasPrefix(name, "webhook-") || strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "x-forwarded-")
}

// Masked shows headers without the values of those that look like credentials.
func Masked(headers map[string]string) map[string]string {
	shown := make(map[string]string, len(headers))
	for name, value := range headers {
		if secretHeader(name) && value != "" {
			value = mask
		}
		shown[name] = value
	}
	return shown
}

func secretHeader(name string) bool {
	name = strings.ToLower(name)
	words := []string{"auth", "cookie", "token", "key", "secret", "pass", "credential", "session", "signature"}
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(name, word) })
}

// unmasked puts the values back that were shown masked.
func unmasked(headers, before map[string]string) map[string]string {
	all := make(map[string]string, len(headers))
	for name, value := range headers {
		if old, known := before[name]; known && value == mask && secretHeader(name) {
			value = old
		}
		all[name] = value
	}
	return all
}

// canonical writes the names of headers in one way, so that none is there twice.
func canonical(headers map[string]string) (map[string]string, error) {
	all := make(map[string]string, len(headers))
	for name, value := range headers {
		one := name
		if headerForm.MatchString(name) {
			one = http.CanonicalHeaderKey(name)
		}
		if _, twice := all[one]; twice {
			return nil, errs.Invalid(errs.Field{Field: "headers", Message: "one header is there twice, in other spellings"})
		}
		all[one] = value
	}
	return all, nil
}

// digest tells two subscriptions apart that would not send the same events to the same address.
func (s *Subscription) digest() (string, error) {
	types := slices.Clone(s.Types)
	slices.Sort(types)
	text, err := json.Marshal([]any{s.URL, slices.Compact(types), s.Filters})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
