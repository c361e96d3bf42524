package access

import (
	"regexp"
	"strings"
)

// placeholder is ${a.b} or {{a.b}}.
var placeholder = regexp.MustCompile(`\$\{\s*([A-Za-z.]+)\s*\}|\{\{\s*([A-Za-z.]+)\s*\}\}`) //nolint:gochecknoglobals // compiled once

func hasPlaceholder(text string) bool {
	return (strings.Contains(text, "${") || strings.Contains(text, "{{")) && placeholder.MatchString(text)
}

// placeholders lists the names that a text refers to.
func placeholders(text string) []string {
	var names []string
	for _, m := range placeholder.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1]+m[2])
	}
	return names
}

// knownPlaceholder tells whether a name can ever have a value.
func knownPlaceholder(name string) bool {
	switch name {
	case "user.id", "user.sessionId", "user.role", "user.topics", "subject.id", "session.id":
		return true
	default:
		rest, ok := strings.CutPrefix(name, "user.authData.")
		return ok && rest != "" && !strings.HasPrefix(rest, ".") && !strings.HasSuffix(rest, ".") && !strings.Contains(rest, "..")
	}
}

// lookup gives the value of a placeholder; false when it has none.
type lookup func(name string) (any, bool)

// expand replaces the placeholders of a text by values that are texts or numbers; quote is applied to each of them. It
// fails when one has no value, or none that can stand in a text.
func (resolve lookup) expand(text string, quote func(string) string) (string, bool) {
	ok := true
	out := placeholder.ReplaceAllStringFunc(text, func(found string) string {
		v, defined := resolve(strings.TrimSpace(strings.Trim(found, "${}")))
		s, isText := textOf(v)
		if !defined || !isText {
			ok = false
			return ""
		}
		return quote(s)
	})
	return out, ok
}

// value replaces the placeholders of a text. A text made of one placeholder alone keeps the type of its value.
func (resolve lookup) value(text string) (any, bool) {
	if m := placeholder.FindStringSubmatchIndex(text); m != nil && m[0] == 0 && m[1] == len(text) {
		return resolve(placeholders(text)[0])
	}
	return resolve.expand(text, func(s string) string { return s })
}

func textOf(v any) (string, bool) {
	s, ok := scalarOf(v)
	switch {
	case !ok:
		return "", false
	case s.kind == isText:
		return s.text, true
	case s.kind == isNumber:
		return formatNumber(s.number), true
	case s.kind == isBool && s.truth:
		return "true", true
	case s.kind == isBool:
		return "false", true
	default:
		return "", false
	}
}
