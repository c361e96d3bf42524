package access

import (
	"encoding/json"
	"errors"
	"slices"
)

// The bounds of what decides about reading a workspace. A list of workspaces asks it of every workspace that is open to
// more people than it was shared with, whoever calls, so they are far below those of a document.
const (
	maxReadingBytes        = 16 << 10
	maxReadingInstructions = 200
	maxSignInInstructions  = 2_000
)

// readingPart is what of a document decides about reading its workspace. It is stored beside the document.
type readingPart struct {
	// Editors tells that the document has rules for editors, which replace the built-in ones.
	Editors  bool     `json:"editors,omitempty"`
	Security Security `json:"security"`
}

// reads tells whether a rule can decide about reading the workspace.
func (r Rule) reads() bool {
	about := slices.Contains(r.Action.All, ActionRead) || slices.Contains(r.Action.All, ActionManage)
	return about && slices.Contains(r.Subject.All, SubjectWorkspaces) && (!r.Inverted || len(r.Fields) == 0)
}

// readingPart takes the rules about reading the workspace out of a document, and how roles are assigned.
func (s Security) readingPart() readingPart {
	auth := &Authorizations{Roles: map[string]RoleSpec{}}
	for _, name := range s.declared() {
		auth.Roles[name] = RoleSpec{Auth: s.Authorizations.Roles[name].Auth}
	}
	out := readingPart{Security: Security{Authorizations: auth}}
	for _, r := range s.rules() {
		out.Editors = out.Editors || slices.Contains(r.Role.All, string(Editor))
		if r.reads() {
			auth.Rules = append(auth.Rules, Rule{
				Role: r.Role, Action: Names{All: []string{ActionRead}}, Subject: Names{All: []string{SubjectWorkspaces}},
				Conditions: r.Conditions, Inverted: r.Inverted,
			})
		}
	}
	return out
}

// text is how the table keeps the part.
func (p readingPart) text() string {
	text, _ := json.Marshal(p) // what was read from a document can be written
	return string(text)
}

// compileReading prepares a stored part for decisions about reading the workspace.
func compileReading(workspaceID, text string) (*document, error) {
	tree, err := readTree([]byte(text))
	if err != nil {
		return nil, err
	}
	part, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("not an object")
	}
	d := &decoder{}
	sec := d.security(part["security"])
	if err := d.problems.err(); err != nil {
		return nil, err
	}
	compiled := compile(workspaceID, sec)
	if part["editors"] == true {
		compiled.editor = nil
	}
	return compiled, nil
}

// readable bounds what lists of workspaces have to look at.
func (v *validator) readable(path string) {
	switch {
	case v.reading > maxReadingInstructions:
		v.problems.add(path, "the regular expressions about reading the workspace are too large together")
	case v.signIn > maxSignInInstructions:
		v.problems.add("authorizations.roles", "the regular expressions that assign roles are too large together")
	case len(v.sec.readingPart().text()) > maxReadingBytes:
		v.problems.add(path, "the rules about reading the workspace, and those that assign roles, are longer than %d bytes together", maxReadingBytes)
	}
}
