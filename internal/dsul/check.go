package dsul

import (
	"regexp"
	"strconv"

	"go.yaml.in/yaml/v3"
)

// Mode is how severe a check is.
type Mode int

const (
	// Strict is for API writes: unknown keys, keys that the service sets, and bad shapes are errors.
	Strict Mode = iota
	// Lenient is for imports and lint: unknown keys and what does no harm are warnings; what cannot run is an error still.
	Lenient
)

// maxProblems bounds how many problems a check reports.
const maxProblems = 500

// Check holds a document against the schema of its kind. The security document is validated by package access; here it
// only has to be readable.
func (d *Document) Check(mode Mode) Problems {
	if d.Root == nil {
		return nil
	}
	c := &checker{mode: mode, document: d.Path()}
	switch d.Kind {
	case Index:
		c.index(d.Root)
	case Automation:
		c.automation(d.Root)
	case Page:
		c.page(d.Root)
	case Import:
		c.instance(d.Root)
	case Security:
	}
	return c.problems
}

type checker struct {
	mode     Mode
	document string
	problems Problems
	tables   // the schemas that refer to themselves, made when they are needed
}

// rule checks one value. It is never called for an absent one.
type rule func(c *checker, at *where, n *yaml.Node)

// where is the place of a value inside its document.
type where struct {
	up    *where
	key   string
	index int // of an item of a list; negative for a key
}

func (w *where) at(key string) *where { return &where{up: w, key: key, index: -1} }

func (w *where) item(i int) *where { return &where{up: w, index: i} }

var simpleKey = regexp.MustCompile(`^[\pL\pN_$:-]+$`) //nolint:gochecknoglobals // compiled once

// String writes a place as do[0].set.name.
func (w *where) String() string {
	if w == nil {
		return ""
	}
	before := w.up.String()
	switch {
	case w.index >= 0:
		return before + "[" + strconv.Itoa(w.index) + "]"
	case !simpleKey.MatchString(w.key):
		return before + "[" + strconv.Quote(shorten(w.key)) + "]"
	case before == "":
		return w.key
	default:
		return before + "." + w.key
	}
}

// fail reports what is an error in either mode.
func (c *checker) fail(at *where, n *yaml.Node, code, message string) {
	c.report(Problem{Path: at.String(), Line: n.Line, Column: n.Column, Severity: SeverityError, Code: code, Message: message})
}

// mind reports what is an error for API writes and a warning for imports.
func (c *checker) mind(at *where, n *yaml.Node, code, message string) {
	severity := SeverityError
	if c.mode == Lenient {
		severity = SeverityWarning
	}
	c.report(Problem{Path: at.String(), Line: n.Line, Column: n.Column, Severity: severity, Code: code, Message: message})
}

func (c *checker) report(problem Problem) {
	if len(c.problems) < maxProblems {
		problem.Document = c.document
		c.problems = append(c.problems, problem)
	}
}

func (c *checker) isMap(at *where, n *yaml.Node) bool {
	if n.Kind == yaml.MappingNode {
		return true
	}
	c.fail(at, n, "wrong_type", "this must be a map of keys and values")
	return false
}

func (c *checker) isList(at *where, n *yaml.Node) bool {
	if n.Kind == yaml.SequenceNode {
		return true
	}
	c.fail(at, n, "wrong_type", "this must be a list")
	return false
}
