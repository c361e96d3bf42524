package expr

import (
	"errors"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// keys says what a key from data is worth when it is missing.
type keys int

const (
	strictKeys keys = iota // in an expression: it is the text it becomes, as in JavaScript
	textKeys               // in a template: a missing key is an error, as a path with a gap is
	leaveKeys              // in a template that leaves alone what it does not know: the variable is unknown
)

// secretRoot is never reached by a name that comes from data: which secrets a text may see stands in the text.
const secretRoot = "secret"

// errMissing says that a key from data is missing, so that the variable is unknown.
var errMissing = errors.New("missing key")

func compileVariable(n *Variable, missing keys) (step, error) {
	if n.Dynamic() {
		return compileDynamic(n, missing)
	}
	root, path := n.Steps[0].Key, n.Static()[1:]
	return func(s *state) (any, error) { return s.variable(root, path), nil }, nil
}

// variable gives what a variable holds at some keys.
func (s *state) variable(root string, path []string) any {
	if s.env.Path != nil {
		return s.env.Path(root, path)
	}
	v := s.env.Lookup(root)
	for _, key := range path {
		v = value.Get(v, key)
	}
	return v
}

// keyStep computes one or more keys of a path.
type keyStep func(*state) ([]string, error)

func compileDynamic(n *Variable, missing keys) (step, error) {
	all := make([]keyStep, len(n.Steps))
	for i, st := range n.Steps {
		var err error
		if all[i], err = compileKey(n, st, missing); err != nil {
			return nil, err
		}
	}
	named := n.Steps[0].Parts == nil
	return func(s *state) (any, error) {
		var path []string
		for _, keys := range all {
			more, err := keys(s)
			if errors.Is(err, errMissing) {
				return value.Undefined{}, nil
			}
			if err != nil {
				return nil, err
			}
			path = append(path, more...)
		}
		if path[0] == secretRoot && !named {
			return nil, &PathError{Path: secretRoot, Start: n.At, Message: "a secret must be named in the text, not by data"}
		}
		return s.variable(path[0], path[1:]), nil
	}, nil
}

func compileKey(n *Variable, st Step, missing keys) (keyStep, error) {
	if st.Parts == nil {
		path := []string{st.Key}
		return func(*state) ([]string, error) { return path, nil }, nil
	}
	parts := make([]step, len(st.Parts))
	for i, part := range st.Parts {
		var err error
		if parts[i], err = compilePart(part, missing); err != nil {
			return nil, err
		}
	}
	return func(s *state) ([]string, error) {
		key, err := s.key(n, parts, missing)
		switch {
		case err != nil:
			return nil, err
		case missing == strictKeys:
			return []string{key}, nil
		case key == "":
			return nil, &PathError{Path: key, Start: n.At, Message: "the variable that names a key of this one is empty"}
		case !st.Split:
			return []string{key}, nil
		default:
			return splitKey(key)
		}
	}, nil
}

// compilePart compiles what stands in a key: other variables there follow the same rules.
func compilePart(part Node, missing keys) (step, error) {
	if variable, ok := part.(*Variable); ok {
		return compileVariable(variable, missing)
	}
	return compile(part)
}

// key computes the text of a key.
func (s *state) key(n Node, parts []step, missing keys) (string, error) {
	var joined strings.Builder
	for _, part := range parts {
		v, err := part(s)
		if err != nil {
			return "", err
		}
		if missing == strictKeys {
			joined.WriteString(value.String(v))
			continue
		}
		if missing == leaveKeys && v == any(value.Undefined{}) {
			return "", errMissing
		}
		text, err := s.text(n, v)
		if err != nil {
			return "", err
		}
		joined.WriteString(text)
	}
	return joined.String(), nil
}

// splitKey reads a key that stands between dots, which may be a path.
func splitKey(text string) ([]string, error) {
	steps, err := ParsePath(text)
	if err != nil {
		return nil, err
	}
	path := make([]string, len(steps))
	for i, st := range steps {
		path[i] = st.Key
	}
	return path, nil
}
