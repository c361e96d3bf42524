package config

import (
	"sort"
	"strings"
)

// Problem is one thing that is wrong with one setting. Its text never holds the value of a secret.
type Problem struct {
	Setting string // as the operator wrote it
	Text    string // what is wrong, what is allowed, and where it came from
}

// String is the problem on one line.
func (p Problem) String() string { return p.Setting + ": " + p.Text }

// Problems is everything that is wrong with a configuration, sorted: an operator mends it in one go.
type Problems struct { //nolint:errname // a list of problems, not one error
	List []Problem
}

// Error writes one problem per line.
func (p *Problems) Error() string {
	lines := make([]string, len(p.List))
	for i, problem := range p.List {
		lines[i] = problem.String()
	}
	return strings.Join(lines, "\n")
}

// add notes a problem; where is the place the value came from, or empty when there is none.
func (p *Problems) add(name, text, where string) {
	if where != "" {
		text += " (from " + where + ")"
	}
	p.List = append(p.List, Problem{Setting: name, Text: text})
}

// err returns the problems as an error, or nil when there are none.
func (p *Problems) err() error {
	if len(p.List) == 0 {
		return nil
	}
	sort.SliceStable(p.List, func(i, j int) bool { return p.List[i].String() < p.List[j].String() })
	return p
}
