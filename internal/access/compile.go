package access

import (
	"cmp"
	"slices"
)

// Source tells where a rule comes from.
type Source string

// The sources of rules.
const (
	FromSuperAdmin Source = "superadmin"
	FromFile       Source = "file"
	FromRole       Source = "role"
	FromGrant      Source = "grant"
	FromKey        Source = "apikey"
)

// RuleRef names the rule that decided. Index is the place of a rule of the file, or of the key, counted from zero.
type RuleRef struct {
	Source Source `json:"source" doc:"Where the rule comes from: superadmin, file, role (built in), grant (sharing) or apikey."`
	Role   string `json:"role,omitempty" doc:"The role that the rule is for; none when it is for everyone."`
	Index  *int   `json:"index,omitempty" doc:"The place of the rule in the file or in the key, counted from zero."`
}

// rule is one compiled part of a rule.
type rule struct {
	ref       RuleRef
	everyone  bool
	roles     roleSet
	roleNames []string
	part
	inverted bool
	reason   string
	fields   []string
	bounds   conditions     // the forced ones
	own      conditions     // what the writer asks for, when it does not depend on the caller
	written  map[string]any // what the writer asks for
	dynamic  int            // place among the rules that depend on the caller, counted from one
}

// covers tells whether the rule speaks about an action.
func (r *rule) covers(action string) bool {
	for _, a := range r.actions {
		if a == action || a == ActionManage && (!r.notCreate || action != ActionCreate) {
			return true
		}
	}
	return false
}

// unconditional tells that nothing but the forced conditions restricts the rule.
func (r *rule) unconditional() bool { return len(r.written) == 0 && len(r.fields) == 0 }

// roleSet is a set of the roles of a document. Bit 0 is editor, bit 1 is owner, the declared ones follow.
type roleSet [2]uint64

const (
	editorBit = iota
	ownerBit
	firstDeclaredBit
)

func (s *roleSet) add(bit int)             { s[bit>>6] |= 1 << (bit & 63) }
func (s roleSet) has(bit int) bool         { return s[bit>>6]&(1<<(bit&63)) != 0 }
func (s roleSet) meets(other roleSet) bool { return s[0]&other[0] != 0 || s[1]&other[1] != 0 }

// document is a compiled security document of one workspace, with the built-in rules of its roles.
type document struct {
	workspaceID string
	sec         Security
	bits        map[string]int
	assigned    []assigned
	rules       map[string][]*rule // by subject, in the order of the file
	dynamic     []*rule
	slots       slots
	spent       spent
	owner       map[string][]*rule
	editor      map[string][]*rule // the built-in template, or none when the file has rules for editors
}

// assigned is a role that a provider's users have.
type assigned struct {
	role       string
	bit        int
	provider   string
	conditions conditions
}

// compile prepares a valid document for decisions.
func compile(workspaceID string, sec Security) *document {
	d := &document{workspaceID: workspaceID, sec: sec, rules: map[string][]*rule{}}
	d.bits = map[string]int{string(Editor): editorBit, string(Owner): ownerBit}
	for _, name := range sec.declared() {
		if name != string(Editor) {
			d.bits[name] = firstDeclaredBit + len(d.bits) - 2
		}
	}
	for _, name := range sec.declared() {
		d.assign(name, sec.Authorizations.Roles[name])
	}
	hasEditor := false
	for i, written := range sec.rules() {
		hasEditor = hasEditor || slices.Contains(written.Role.All, string(Editor))
		d.add(i, written)
	}
	d.owner = d.builtin(Owner, ownerRules())
	if !hasEditor {
		d.editor = d.builtin(Editor, editorRules())
	}
	d.number()
	return d
}

// slots are the places where decisions remember the fields that the document asks for.
type slots map[string]int

// number gives the fields of the document their slots.
func (d *document) number() {
	d.slots = slots{}
	for _, group := range []map[string][]*rule{d.owner, d.editor, d.rules} {
		for _, rules := range group {
			for _, r := range rules {
				for _, conditions := range []conditions{r.bounds, r.own} {
					d.slots.add(conditions)
					d.slots.assign(conditions)
				}
			}
		}
	}
}

func (s slots) add(c conditions) {
	for i := range c {
		if _, known := s[c[i].path]; !known && len(s) < maxSlots {
			s[c[i].path] = len(s) + 1
		}
	}
}

// assign gives conditions the slots of their fields, and puts those that are compared fastest first.
func (s slots) assign(c conditions) {
	for i := range c {
		c[i].slot = s[c[i].path]
	}
	slices.SortStableFunc(c, func(a, b fieldTest) int { return cmp.Compare(a.cost(), b.cost()) })
}

// cost is lowest for what is tested fastest and fulfilled most rarely.
func (f *fieldTest) cost() int {
	if len(f.tests) != 1 {
		return 2
	}
	switch f.tests[0].op {
	case opEq:
		return 0
	case opIn:
		return 1
	default:
		return 2
	}
}

func (d *document) assign(name string, spec RoleSpec) {
	for _, slug := range sortedKeys(spec.Auth) {
		if slug == apiKeyProvider {
			continue
		}
		c := &compiler{}
		compiled := c.compile(spec.Auth[slug].Conditions, "", 1)
		d.paid(c)
		d.assigned = append(d.assigned, assigned{role: name, bit: d.bits[name], provider: slug, conditions: compiled})
	}
}

// add compiles one rule of the file, one part for each subject.
func (d *document) add(index int, written Rule) {
	ref := RuleRef{Source: FromFile, Index: &index}
	var roles roleSet
	for _, name := range written.Role.All {
		roles.add(d.bits[name])
	}
	if len(written.Role.All) == 1 {
		ref.Role = written.Role.All[0]
	}
	c := &compiler{}
	own := c.compile(written.Conditions, "", 1)
	d.paid(c)
	for _, p := range parts(written.Action.All, written.Subject.All, d.workspaceID) {
		r := &rule{
			ref: ref, everyone: written.Role.IsZero(), roles: roles, roleNames: written.Role.All, part: p, inverted: written.Inverted,
			reason: written.Reason, fields: written.Fields, bounds: compileForced(p.forced), own: own, written: written.Conditions,
		}
		if c.dynamic {
			d.dynamic = append(d.dynamic, r)
			r.dynamic = len(d.dynamic)
		}
		d.rules[p.subject] = append(d.rules[p.subject], r)
	}
}

// paid notes what conditions cost.
func (d *document) paid(c *compiler) {
	d.spent.operands += c.spent.operands
	d.spent.instructions += c.spent.instructions
	d.spent.translated += c.spent.translated
}

func compileForced(written map[string]any) conditions {
	c := &compiler{}
	return c.compile(written, "", 1)
}

// builtin compiles the rules that a role has without a file. Those that deny come after those that allow.
func (d *document) builtin(role Role, rules []Rule) map[string][]*rule {
	out := map[string][]*rule{}
	for _, written := range rules {
		c := &compiler{}
		own := c.compile(written.Conditions, "", 1)
		for _, p := range parts(written.Action.All, written.Subject.All, d.workspaceID) {
			out[p.subject] = append(out[p.subject], &rule{
				ref: RuleRef{Source: FromRole, Role: string(role)}, part: p, inverted: written.Inverted,
				bounds: compileForced(p.forced), own: own, written: written.Conditions,
			})
		}
	}
	return out
}

// ownerRules are what owners may do: everything, except that events are not changed and made only by emitting.
func ownerRules() []Rule {
	return []Rule{
		allow([]string{ActionManage}, SubjectWorkspaces, SubjectApps, SubjectPages, SubjectFiles, SubjectSecrets, SubjectAutomations),
		allow([]string{ActionCreate, ActionRead, ActionGetUsage, ActionAggregateSearch}, SubjectEvents),
	}
}

// editorRules are what editors may do as long as the file says nothing about them.
func editorRules() []Rule {
	return []Rule{
		allow([]string{ActionRead, ActionUpdate}, SubjectWorkspaces, SubjectPages),
		allow([]string{ActionRead, ActionUpdate, ActionReadAppDSUL}, SubjectApps),
		allow([]string{ActionManage}, SubjectFiles),
		allow([]string{ActionCreate, ActionRead}, SubjectEvents),
		allow([]string{ActionExecute, ActionTest}, SubjectAutomations),
		{
			Action: Names{All: []string{ActionRead}}, Subject: Names{All: []string{SubjectEvents}}, Inverted: true,
			Conditions: map[string]any{"type": map[string]any{regexOperator: `^apikeys\.`}},
		},
	}
}

func allow(actions []string, subjects ...string) Rule {
	return Rule{Action: Names{All: actions, List: true}, Subject: Names{All: subjects, List: true}}
}
