package access

import (
	"encoding/json"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Security is the security document of a workspace, its security.yml: who has which role, and what the roles may do.
type Security struct {
	Authorizations *Authorizations `json:"authorizations,omitempty" yaml:"authorizations,omitempty"`
	Authentication *Authentication `json:"authentication,omitempty" yaml:"authentication,omitempty"`
}

// Authorizations are the roles and the rules, in the order in which they were written.
type Authorizations struct {
	Roles map[string]RoleSpec `json:"roles,omitempty" yaml:"roles,omitempty"`
	Rules []Rule              `json:"rules,omitempty" yaml:"rules,omitempty"`
}

// Authentication names the OIDC client of the workspace's pages.
type Authentication struct {
	ClientID string `json:"clientId,omitempty" yaml:"clientId,omitempty"`
}

// RoleSpec declares a role. Auth assigns it to everybody who signed in with a provider and fulfils the conditions; the
// provider apiKey gives it to the automations of the workspace instead.
type RoleSpec struct {
	Description string                `json:"description,omitempty" yaml:"description,omitempty"`
	Auth        map[string]Assignment `json:"auth,omitempty" yaml:"auth,omitempty"`
}

// Assignment says who of a provider's users has the role; everybody when there are no conditions.
type Assignment struct {
	Conditions map[string]any `json:"conditions,omitempty" yaml:"conditions,omitempty"`
}

// Rule allows, or when inverted denies, actions on subjects. Without a role it is for everyone.
type Rule struct {
	Role       Names          `json:"role,omitzero" yaml:"role,omitempty"`
	Action     Names          `json:"action" yaml:"action"`
	Subject    Names          `json:"subject" yaml:"subject"`
	Conditions map[string]any `json:"conditions,omitempty" yaml:"conditions,omitempty"`
	Inverted   bool           `json:"inverted,omitempty" yaml:"inverted,omitempty"`
	Reason     string         `json:"reason,omitempty" yaml:"reason,omitempty"`
	Fields     []string       `json:"fields,omitempty" yaml:"fields,omitempty"`
	// Priority is kept for the writer and has no effect: the order of the rules decides.
	Priority *float64 `json:"priority,omitempty" yaml:"priority,omitempty"`
}

// Names is one name or a list of names, and remembers which of the two was written.
type Names struct {
	All  []string
	List bool
}

// IsZero tells that nothing was written.
func (n Names) IsZero() bool { return len(n.All) == 0 && !n.List }

// MarshalJSON writes a name or a list, as it was read.
func (n Names) MarshalJSON() ([]byte, error) { return json.Marshal(n.written()) }

// MarshalYAML writes a name or a list, as it was read.
func (n Names) MarshalYAML() (any, error) { return n.written(), nil }

func (n Names) written() any {
	if n.List || len(n.All) != 1 {
		return append([]string{}, n.All...)
	}
	return n.All[0]
}

// apiKeyProvider is the provider that gives a role to automations.
const apiKeyProvider = "apiKey"

// ForAutomations tells that the role is held by a key of the workspace and not by people.
func (r RoleSpec) ForAutomations() bool {
	_, ok := r.Auth[apiKeyProvider]
	return ok
}

// RoleName is a role as the list of roles shows it.
type RoleName struct {
	Name        string `json:"name" doc:"The name of the role."`
	Description string `json:"description,omitempty" doc:"What the role is for."`
}

// RoleNames lists the roles that can be given to people: owner, editor, and those the document declares.
func (s Security) RoleNames() []RoleName {
	names := []RoleName{{Name: string(Owner)}, {Name: string(Editor)}}
	for _, name := range s.declared() {
		spec := s.Authorizations.Roles[name]
		switch {
		case spec.ForAutomations():
		case name == string(Editor):
			names[1].Description = spec.Description
		default:
			names = append(names, RoleName{Name: name, Description: spec.Description})
		}
	}
	return names
}

// declared lists the names of the declared roles in alphabetical order.
func (s Security) declared() []string {
	if s.Authorizations == nil {
		return nil
	}
	names := make([]string, 0, len(s.Authorizations.Roles))
	for name := range s.Authorizations.Roles {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s Security) rules() []Rule {
	if s.Authorizations == nil {
		return nil
	}
	return s.Authorizations.Rules
}

func (s Security) role(name string) (RoleSpec, bool) {
	if s.Authorizations == nil {
		return RoleSpec{}, false
	}
	spec, ok := s.Authorizations.Roles[name]
	return spec, ok
}

// ParseSecurity reads a security document from JSON or YAML and validates it. Unknown keys are refused, so that a misspelt
// restriction is not silently without effect.
func ParseSecurity(text []byte) (Security, error) {
	tree, err := readTree(text)
	if err != nil {
		return Security{}, err
	}
	d := &decoder{}
	sec := d.security(tree)
	if err := d.problems.err(); err != nil {
		return Security{}, err
	}
	return sec, Validate(sec)
}

// MarshalSecurity writes the document as YAML.
func MarshalSecurity(sec Security) ([]byte, error) {
	var b strings.Builder
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(sec); err != nil {
		return nil, err
	}
	return []byte(b.String()), enc.Close()
}
