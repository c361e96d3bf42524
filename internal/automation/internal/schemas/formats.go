package schemas

import (
	"errors"
	"regexp"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// patterns are the formats that a regular expression decides. The first ones look at the form of a date or an address, not
// at whether it exists: that is quick, and what clients of such schemas know.
//
//nolint:gochecknoglobals // compiled once, never changed
var patterns = map[string]*regexp.Regexp{
	"date":          regexp.MustCompile(`^\d\d\d\d-[0-1]\d-[0-3]\d$`),
	"time":          regexp.MustCompile(`(?i)^(?:[0-2]\d:[0-5]\d:[0-6]\d|23:59:60)(?:\.\d+)?(?:z|[+-]\d\d(?::?\d\d)?)?$`),
	"date-time":     regexp.MustCompile(`(?i)^\d\d\d\d-[0-1]\d-[0-3]\d[t\s](?:[0-2]\d:[0-5]\d:[0-6]\d|23:59:60)(?:\.\d+)?(?:z|[+-]\d\d(?::?\d\d)?)?$`),
	"uri":           regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:(?:/?/)?\S*$`),
	"uri-reference": regexp.MustCompile(`(?i)^(?:(?:[a-z][a-z0-9+.-]*:)?/?/)?(?:[^\\\s#][^\s#]*)?(?:#[^\\\s]*)?$`),
	"email":         regexp.MustCompile("(?i)^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$"),
	"workspaceId":   regexp.MustCompile(`^[\w-]{7}$`),
	"objectId":      regexp.MustCompile(`^[0-9a-fA-F]{24}$`),
	"identifier":    regexp.MustCompile(`^[a-zA-Z0-9_ -]{12,48}$`),
	"name":          regexp.MustCompile(`(?i)^[a-z ,.'-]{2,60}$`),
}

// formats are those that differ from the validator's own, or that it does not have.
func formats() []*jsonschema.Format {
	all := make([]*jsonschema.Format, 0, len(patterns))
	for name, pattern := range patterns {
		all = append(all, &jsonschema.Format{Name: name, Validate: func(v any) error {
			if text, ok := v.(string); ok && !pattern.MatchString(text) {
				return errors.New("it does not have the form")
			}
			return nil
		}})
	}
	return all
}
