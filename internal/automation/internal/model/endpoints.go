package model

import (
	"net/url"
	"regexp"
	"strings"

	"atelier/internal/automation/internal/machine"
)

// Match is an automation that a request leads to, with the parameters of its path; nil without any.
type Match struct {
	Automation *machine.Automation
	Params     map[string]string
}

// pattern is an endpoint with parameters, and the automations that have it.
type pattern struct {
	source string
	// prefix is what stands before the first parameter: most paths differ there already.
	prefix      string
	form        *regexp.Regexp
	names       []string
	automations []*machine.Automation
}

// parameter is a segment that stands for others: :name for one of them, *name for one or more.
var parameter = regexp.MustCompile(`^[:*][A-Za-z0-9_]+$`) //nolint:gochecknoglobals // compiled once, never changed

// expose makes an automation reachable at a path. Automations that have the same path all are.
func (h *hall) expose(path string, automation *machine.Automation) {
	path = strings.TrimPrefix(path, "/")
	form, names := compilePath(path)
	if form == nil {
		h.endpoints[path] = append(h.endpoints[path], automation)
		return
	}
	for i := range h.patterns {
		if h.patterns[i].source == path {
			h.patterns[i].automations = append(h.patterns[i].automations, automation)
			return
		}
	}
	h.patterns = append(h.patterns, pattern{
		source: path, prefix: literal(path), form: form, names: names, automations: []*machine.Automation{automation},
	})
}

// literal is what stands before the first parameter of a path, escaped.
func literal(path string) string {
	var b strings.Builder
	for segment := range strings.SplitSeq(path, "/") {
		if parameter.MatchString(segment) {
			break
		}
		b.WriteString(url.PathEscape(segment) + "/")
	}
	return b.String()
}

// compilePath makes a regular expression of a path with parameters; nil when it has none. It is for paths in which every
// segment is escaped in the one way that escaping has.
func compilePath(path string) (form *regexp.Regexp, names []string) {
	var b strings.Builder
	b.WriteString("^")
	for i, segment := range strings.Split(path, "/") {
		if i > 0 {
			b.WriteString("/")
		}
		switch {
		case !parameter.MatchString(segment):
			b.WriteString(regexp.QuoteMeta(url.PathEscape(segment)))
			continue
		case segment[0] == ':':
			b.WriteString(`([^/]+)`)
		default:
			b.WriteString(`([^/]+(?:/[^/]+)*)`)
		}
		names = append(names, segment[1:])
	}
	if names == nil {
		return nil, nil
	}
	b.WriteString("$")
	form, err := regexp.Compile(b.String())
	if err != nil { // longer than any regular expression may be: the path is what it is
		return nil, nil
	}
	return form, names
}

// Endpoint gives the automations that a path below the webhooks of the workspace leads to. The path is as it stands in the
// address, where values are escaped. Endpoints that are the path win over patterns; of patterns the first one does: those of
// the workspace before those of its apps, and by the slugs of their automations.
func (m *Model) Endpoint(path string) []Match {
	path = strings.TrimPrefix(path, "/")
	whole, err := url.PathUnescape(path)
	if err != nil {
		return nil
	}
	var found []Match
	if m.root.exact(whole, &found); len(found) > 0 {
		return found
	}
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		plain, _ := url.PathUnescape(segment) // all of it could be read
		segments[i] = url.PathEscape(plain)
	}
	m.root.matching(strings.Join(segments, "/"), &found)
	return found
}

// exact collects the automations that have the path, in the home and in the app instance whose slug the path begins with.
func (h *hall) exact(path string, found *[]Match) {
	for _, automation := range h.endpoints[path] {
		*found = append(*found, Match{Automation: automation})
	}
	instance, rest, nested := strings.Cut(path, ".")
	if below := h.nested[instance]; nested && below != nil {
		below.exact(rest, found)
	}
}

// matching collects the automations of the first pattern that the path has the form of.
func (h *hall) matching(path string, found *[]Match) {
	for _, p := range h.patterns {
		if !strings.HasPrefix(path, p.prefix) {
			continue
		}
		values := p.form.FindStringSubmatch(path)
		if values == nil {
			continue
		}
		for _, automation := range p.automations {
			*found = append(*found, Match{Automation: automation, Params: p.params(values[1:])})
		}
		return
	}
	instance, rest, nested := strings.Cut(path, ".")
	plain, err := url.PathUnescape(instance)
	if below := h.nested[plain]; nested && err == nil && below != nil {
		below.matching(rest, found)
	}
}

func (p pattern) params(values []string) map[string]string {
	params := make(map[string]string, len(values))
	for i, name := range p.names {
		params[name], _ = url.PathUnescape(values[i]) // it was escaped a moment ago
	}
	return params
}
