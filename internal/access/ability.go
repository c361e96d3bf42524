package access

import (
	"context"
	"iter"
	"slices"
	"strings"
)

// Ability is what one caller may do in one workspace, as it was when it was loaded. It does not change and may be used by
// several goroutines.
type Ability struct {
	workspaceID string
	caller      Principal
	topics      []string
	exists      bool
	global      bool
	doc         *document
	held        roleSet
	roles       []string
	onPages     []pageRole
	public      []string // the pages that are shared with everyone
	granted     map[string][]*rule
	key         map[string][]*rule
	refused     bool // a key that was deleted or disabled, or has expired
	keyOnly     bool // of a key's role: only the rules for the role, not those for everyone
	bound       []bound
}

// pageRole is a role that the caller has on some pages only.
type pageRole struct {
	bit    int
	within conditions
}

// bound are the conditions of a rule with the values of this caller; not ok when a placeholder has none.
type bound struct {
	conditions conditions
	ok         bool
}

// Principal is the caller.
func (a *Ability) Principal() Principal { return a.caller }

// WorkspaceID is the workspace.
func (a *Ability) WorkspaceID() string { return a.workspaceID }

// IsPublic tells whether a page is shared with everyone, for rules that ask for it.
func (a *Ability) IsPublic(pageID string) bool { return slices.Contains(a.public, pageID) }

// Roles lists the roles of the caller in the workspace: the one that was given, then those that its sign-in brings.
func (a *Ability) Roles() []string { return slices.Clone(a.roles) }

// Role is the first of the roles; empty when there is none.
func (a *Ability) Role() string {
	if len(a.roles) == 0 {
		return ""
	}
	return a.roles[0]
}

// IsOwner tells that the caller owns the workspace, which super admins do with every one.
func (a *Ability) IsOwner() bool { return a.caller.SuperAdmin || a.held.has(ownerBit) }

// candidate is a rule that may decide, with what it depends on.
type candidate struct {
	rule   *rule
	held   bool
	within conditions
}

// candidates gives the rules about a subject, the strongest first. With others, also the rules of the file for roles that
// the caller does not have.
func (a *Ability) candidates(subject string, others bool) iter.Seq[candidate] {
	return func(yield func(candidate) bool) {
		if a.caller.SuperAdmin && !yield(candidate{rule: superAdminRule, held: true}) {
			return
		}
		for _, r := range slices.Backward(a.key[subject]) {
			if !yield(candidate{rule: r, held: true}) {
				return
			}
		}
		if a.doc != nil && !a.fromFile(subject, others, yield) {
			return
		}
		if a.doc != nil && (!a.fromRoles(subject, true, yield) || !a.fromRoles(subject, false, yield)) {
			return
		}
		for _, r := range a.granted[subject] {
			if !yield(candidate{rule: r, held: true}) {
				return
			}
		}
		if subject == SubjectApps && a.caller.Kind != Internal {
			yield(candidate{rule: everyoneRule, held: true})
		}
	}
}

func (a *Ability) fromFile(subject string, others bool, yield func(candidate) bool) bool {
	for _, r := range slices.Backward(a.doc.rules[subject]) {
		if r.everyone && !a.keyOnly || r.roles.meets(a.held) {
			if !yield(candidate{rule: r, held: true}) {
				return false
			}
			continue
		}
		partly := false
		if subject == SubjectPages {
			for i := range a.onPages {
				if r.roles.has(a.onPages[i].bit) {
					partly = true
					if !yield(candidate{rule: r, held: true, within: a.onPages[i].within}) {
						return false
					}
				}
			}
		}
		if others && !partly && !yield(candidate{rule: r}) {
			return false
		}
	}
	return true
}

// fromRoles gives the built-in rules of the caller's roles, either those that deny or those that allow.
func (a *Ability) fromRoles(subject string, inverted bool, yield func(candidate) bool) bool {
	for _, template := range [...]struct {
		bit   int
		rules []*rule
	}{{ownerBit, a.doc.owner[subject]}, {editorBit, a.doc.editor[subject]}} {
		for _, r := range template.rules {
			if r.inverted != inverted || a.keyOnly {
				continue
			}
			if a.held.has(template.bit) {
				if !yield(candidate{rule: r, held: true}) {
					return false
				}
				continue
			}
			for i := range a.onPages {
				if subject == SubjectPages && a.onPages[i].bit == template.bit && !yield(candidate{rule: r, held: true, within: a.onPages[i].within}) {
					return false
				}
			}
		}
	}
	return true
}

// superAdminRule allows everything everywhere.
var superAdminRule = &rule{ //nolint:gochecknoglobals // never changed
	ref: RuleRef{Source: FromSuperAdmin, Role: RoleSuperAdmin}, part: part{actions: []string{ActionManage}},
}

// everyoneRule lets everyone read every app, unless the rules of its workspace say otherwise.
var everyoneRule = &rule{ //nolint:gochecknoglobals // never changed
	ref: RuleRef{Source: FromRole, Role: RoleEveryone}, part: part{actions: []string{ActionRead}, subject: SubjectApps},
}

// bind puts the caller's values into the conditions of the rules that depend on them.
func (a *Ability) bind() {
	if len(a.doc.dynamic) == 0 {
		return
	}
	a.bound = make([]bound, len(a.doc.dynamic))
	for i, r := range a.doc.dynamic {
		if !r.everyone && !r.roles.meets(a.held) && !a.mayHoldOnPages(r) {
			continue
		}
		c := &compiler{resolve: a.lookup}
		compiled := c.compile(r.written, "", 1)
		a.doc.slots.assign(compiled)
		a.bound[i] = bound{conditions: compiled, ok: len(c.problems.fields) == 0}
	}
}

func (a *Ability) mayHoldOnPages(r *rule) bool {
	return slices.ContainsFunc(a.onPages, func(p pageRole) bool { return r.roles.has(p.bit) })
}

// conditionsOf gives what the writer of a rule asks for; false when a placeholder has no value for this caller.
func (a *Ability) conditionsOf(r *rule) (conditions, bool) {
	if r.dynamic == 0 {
		return r.own, true
	}
	b := a.bound[r.dynamic-1]
	return b.conditions, b.ok
}

// lookup gives the values of placeholders.
func (a *Ability) lookup(name string) (any, bool) {
	switch name {
	case "user.id":
		return a.caller.UserID, a.caller.UserID != ""
	case "user.sessionId", "session.id":
		return a.caller.SessionID, a.caller.SessionID != ""
	case "user.role":
		return a.Role(), a.Role() != ""
	case "user.topics":
		return a.topics, a.topics != nil
	case "subject.id":
		return a.workspaceID, true
	}
	rest, ok := strings.CutPrefix(name, "user.authData.")
	if !ok {
		return nil, false
	}
	slug, path, deeper := strings.Cut(rest, ".")
	data, ok := a.caller.AuthData[slug]
	if !ok || !deeper {
		return nil, false
	}
	return walk(data, path)
}

type topicsKey struct{}

// WithTopics puts the topics that the caller has joined into the context, for rules that ask for user.topics.
func WithTopics(ctx context.Context, topics []string) context.Context {
	return context.WithValue(ctx, topicsKey{}, topics)
}

func topicsFrom(ctx context.Context) []string {
	topics, _ := ctx.Value(topicsKey{}).([]string)
	return topics
}
