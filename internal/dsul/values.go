package dsul

import (
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/cron"
)

var (
	labelPattern     = regexp.MustCompile(`^[0-9A-Za-z._:-]{2,60}$`)                   //nolint:gochecknoglobals // compiled once
	eventPattern     = regexp.MustCompile(`^[a-zA-Z0-9 ._-]+$`)                        //nolint:gochecknoglobals // compiled once
	namePattern      = regexp.MustCompile(`^[0-9A-Za-zÀ-ÖØ-öø-ÿ ,.'\x{00A0}-]{1,60}$`) //nolint:gochecknoglobals // compiled once
	workspacePattern = regexp.MustCompile(`^[/a-z0-9-]+$`)                             //nolint:gochecknoglobals // compiled once
	newSlugPattern   = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`)    //nolint:gochecknoglobals // compiled once
	languagePattern  = regexp.MustCompile(`^[A-Za-z]{2,10}(?:[-_][A-Za-z0-9]{1,8})*$`) //nolint:gochecknoglobals // compiled once
)

// words is the rule of a plain text. A number or a boolean without quotes is most likely meant as a text.
func words(c *checker, at *where, n *yaml.Node) { c.isWords(at, n) }

func (c *checker) isWords(at *where, n *yaml.Node) bool {
	switch {
	case n.Kind != yaml.ScalarNode:
		c.fail(at, n, "wrong_type", "this must be a text")
		return false
	case Tag(n) != tagStr:
		c.mind(at, n, "wrong_type", "this must be a text; put "+shorten(n.Value)+" in quotes")
	}
	return true
}

// flag is the rule of true or false.
func flag(c *checker, at *where, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode || Tag(n) != tagBool {
		c.mind(at, n, "wrong_type", "this must be true or false")
	}
}

// localized is the rule of a text, or a map from languages to texts.
func localized(c *checker, at *where, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		words(c, at, n)
		return
	}
	for _, e := range entries(n) {
		if !languagePattern.MatchString(e.key) {
			c.mind(at.at(e.key), e.at, "bad_language", "the keys of a translated text are languages, such as en or fr")
		}
		if !isNull(e.value) {
			words(c, at.at(e.key), e.value)
		}
	}
}

// title is the rule of a name that people read: a localized text that is not blank.
func title(c *checker, at *where, n *yaml.Node) {
	localized(c, at, n)
	if n.Kind == yaml.ScalarNode && strings.TrimSpace(n.Value) == "" || n.Kind == yaml.MappingNode && len(n.Content) == 0 {
		c.mind(at, n, "bad_name", "a name cannot be empty")
	}
}

// workspaceName is the rule of the name of a workspace.
func workspaceName(c *checker, at *where, n *yaml.Node) {
	if c.isWords(at, n) && !namePattern.MatchString(n.Value) {
		c.mind(at, n, "bad_name", "a name has 1 to 60 letters, digits, spaces and , . ' -")
	}
}

// workspaceSlug is the rule of the slug of a workspace. Existing ones may have more than new ones.
func workspaceSlug(c *checker, at *where, n *yaml.Node) {
	if !c.isWords(at, n) {
		return
	}
	pattern := newSlugPattern
	if c.mode == Lenient {
		pattern = workspacePattern
	}
	if !pattern.MatchString(n.Value) {
		c.mind(at, n, "bad_slug", "a workspace's slug has 1 to 64 lower-case letters, digits and -, and neither begins nor ends with -")
	}
}

// slugOf is the rule of a slug inside a workspace.
func slugOf(c *checker, at *where, n *yaml.Node) {
	if c.isWords(at, n) && !ValidSlug(n.Value) {
		c.fail(at, n, "bad_slug", "a slug has at most 100 letters, digits, spaces, _ and -, in segments separated by /")
	}
}

func labels() rule {
	return list(func(c *checker, at *where, n *yaml.Node) {
		if c.isWords(at, n) && !labelPattern.MatchString(n.Value) {
			c.mind(at, n, "bad_label", "a label has 2 to 60 letters, digits and . _ : -")
		}
	})
}

// eventName is the rule of an event that is listened to.
func eventName(c *checker, at *where, n *yaml.Node) {
	if !c.isWords(at, n) {
		return
	}
	switch {
	case strings.Contains(n.Value, "*"):
		c.mind(at, n, "bad_event", "events are matched by their whole name; there are no wildcards")
	case !eventPattern.MatchString(n.Value):
		c.mind(at, n, "bad_event", "the name of an event has letters, digits, spaces and . _ -")
	}
}

// schedule is the rule of a cron expression.
func schedule(c *checker, at *where, n *yaml.Node) {
	if !c.isWords(at, n) {
		return
	}
	if _, err := cron.Parse(n.Value); err != nil {
		c.fail(at, n, "bad_cron", "this is not a schedule such as \"0 8 * * 1-5\": "+err.Error())
	}
}

// address is the rule of a URL that a browser loads.
func address(c *checker, at *where, n *yaml.Node) {
	if !c.isWords(at, n) || n.Value == "" || strings.Contains(n.Value, "{{") {
		return
	}
	parsed, err := url.Parse(n.Value)
	if err != nil || parsed.Scheme != "" && parsed.Scheme != "http" && parsed.Scheme != "https" {
		c.mind(at, n, "bad_url", "this must be an address that begins with https://")
	}
}

var (
	parameterPattern = regexp.MustCompile(`^[:*][a-zA-Z_][a-zA-Z0-9_]*$`)    //nolint:gochecknoglobals // compiled once
	segmentPattern   = regexp.MustCompile(`^[^\x00-\x1F\x7F\\?#%"<>|^{}]+$`) //nolint:gochecknoglobals // compiled once
)

// maxEndpoint bounds the path of an endpoint.
const maxEndpoint = 300

// endpoint is the rule of when.endpoint: true, or a path whose segments are texts, :name or *name.
func endpoint(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && Tag(n) == tagBool {
		return
	}
	if !c.isWords(at, n) {
		return
	}
	if message := endpointProblem(n.Value); message != "" {
		c.mind(at, n, "bad_endpoint", message)
	}
}

func endpointProblem(path string) string {
	if path == "" || utf8.RuneCountInString(path) > maxEndpoint {
		return "an endpoint is true, or a path of 1 to 300 characters"
	}
	seen := map[string]bool{}
	for segment := range strings.SplitSeq(path, "/") {
		switch {
		case segment == "":
			return "the path of an endpoint has no empty segments, and neither begins nor ends with /"
		case segment == "." || segment == ".." || strings.TrimSpace(segment) != segment:
			return "a segment of an endpoint is not . or .., and neither begins nor ends with a space"
		case segment[0] == ':' || segment[0] == '*':
			if !parameterPattern.MatchString(segment) {
				return "a parameter of an endpoint is : or * and a name of letters, digits and _, such as :id or *path"
			}
			if seen[segment[1:]] {
				return "the parameter " + segment[1:] + " is there twice"
			}
			seen[segment[1:]] = true
		case !segmentPattern.MatchString(segment):
			return "a segment of an endpoint has no \\ ? # % \" < > | ^ { } and no control characters"
		}
	}
	return ""
}
