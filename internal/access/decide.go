package access

import (
	"fmt"
	"slices"

	"atelier/internal/errs"
)

// Decision says whether something is allowed, and which rule said so. Without a rule, nothing allowed it.
type Decision struct {
	Allowed bool
	Rule    *RuleRef
	Reason  string
}

// Decide tells whether the caller may do something with an object. The last rule that matches decides. Without an object
// the question is about one of the workspace of which nothing is known.
func (a *Ability) Decide(action, subject string, object Object) Decision {
	return a.decide(query{action: action, subject: subject, object: object})
}

// DecideField is Decide about one field of the object, for rules that are limited to fields.
func (a *Ability) DecideField(action, subject, field string, object Object) Decision {
	return a.decide(query{action: action, subject: subject, field: field, object: object})
}

type query struct {
	action, subject, field string
	object                 Object
}

func (a *Ability) decide(q query) Decision {
	m := memo{object: a.known(q.subject, q.object)}
	for c := range a.candidates(q.subject, false) {
		if verdict, _ := a.judge(&c, &q, &m); verdict == matched {
			return Decision{Allowed: !c.rule.inverted, Rule: &c.rule.ref, Reason: c.rule.reason}
		}
	}
	return Decision{}
}

func (a *Ability) known(subject string, object Object) Object {
	switch {
	case object != nil:
		return object
	case subject == SubjectWorkspaces:
		return theWorkspace{a.workspaceID}
	default:
		return theObject{a.workspaceID}
	}
}

// verdict is why a rule does or does not decide.
type verdict uint8

const (
	matched verdict = iota
	otherRole
	otherAction
	otherField
	undefined
	unfulfilled
)

// judge tells whether a rule decides the question, or what stands against it. Decisions and explanations both ask it.
func (a *Ability) judge(c *candidate, q *query, m *memo) (verdict, *fieldTest) {
	r := c.rule
	switch {
	case !r.covers(q.action):
		return otherAction, nil
	case !c.held:
		return otherRole, nil
	case !r.speaksOf(q.field):
		return otherField, nil
	}
	own, ok := a.conditionsOf(r)
	if !ok {
		return undefined, nil
	}
	ok, failed := own.match(m)
	if ok && c.within != nil {
		ok, failed = c.within.match(m)
	}
	if ok { // last, because they nearly always hold
		ok, failed = r.bounds.match(m)
	}
	if !ok {
		return unfulfilled, failed
	}
	return matched, nil
}

// speaksOf tells whether a rule is about a field. Where no field is asked for, a rule that allows some fields counts, one
// that denies some does not.
func (r *rule) speaksOf(field string) bool {
	if len(r.fields) == 0 {
		return true
	}
	if field == "" {
		return !r.inverted
	}
	return slices.Contains(r.fields, field)
}

// Check is Decide as an error: nil when it is allowed; missing_token for nobody; workspace_access_denied, the same for a
// workspace that does not exist, for somebody who may not read the workspace at all; permission_denied otherwise.
func (a *Ability) Check(action, subject string, object Object) error {
	return a.answer(a.Decide(action, subject, object), query{action: action, subject: subject, object: object})
}

// CheckField is DecideField as an error.
func (a *Ability) CheckField(action, subject, field string, object Object) error {
	return a.answer(a.DecideField(action, subject, field, object), query{action: action, subject: subject, field: field, object: object})
}

func (a *Ability) answer(decision Decision, q query) error {
	if decision.Allowed {
		return a.missing()
	}
	if a.caller.Kind == Nobody {
		return MissingToken()
	}
	if err := a.CheckVisible(); err != nil {
		return err
	}
	return denied(decision, q, a.known(q.subject, q.object))
}

// missing tells a super admin, who may see everything, that there is no such workspace.
func (a *Ability) missing() error {
	if a.caller.SuperAdmin && !a.exists && !a.global {
		return errs.Missing(SubjectWorkspaces, a.workspaceID)
	}
	return nil
}

// CheckVisible is the answer to somebody who may not know of the workspace.
func (a *Ability) CheckVisible() error {
	switch {
	case a.caller.Kind == Nobody && !a.visible():
		return MissingToken()
	case a.caller.SuperAdmin:
		return a.missing()
	case a.global || a.visible():
		return nil
	case a.refused:
		return refusedKey()
	case a.caller.Kind == Key && a.caller.KeyWorkspace != a.workspaceID:
		return errs.New(errs.InvalidCredentials, "The API key is not one of this workspace.")
	default:
		return noAccess(a.workspaceID)
	}
}

func noAccess(workspaceID string) error {
	return errs.New(errs.WorkspaceAccessDenied, "You have no access to this workspace, or it does not exist.").
		With("workspaceId", workspaceID)
}

// visible tells whether the caller may read the workspace, whatever its fields are.
func (a *Ability) visible() bool {
	for c := range a.candidates(SubjectWorkspaces, false) {
		own, ok := a.conditionsOf(c.rule)
		if !ok || !c.rule.covers(ActionRead) || !c.rule.speaksOf("") {
			continue
		}
		if !c.rule.inverted {
			return true
		}
		if len(own) == 0 {
			return false
		}
	}
	return false
}

func denied(decision Decision, q query, object Object) error {
	message := fmt.Sprintf("Cannot execute %q on %q", q.action, q.subject)
	if decision.Reason != "" {
		message = decision.Reason
	}
	err := errs.New(errs.PermissionDenied, message).With("action", q.action).With("subjectType", q.subject)
	for _, key := range [...]string{"id", "slug"} {
		if v, ok := object.Field(key); ok {
			if text, ok := v.(string); ok {
				_ = err.With(key, text)
			}
		}
	}
	if id, ok := err.Details["id"].(string); ok {
		err.Message += " " + id
	}
	if q.field != "" {
		_ = err.With("field", q.field)
	}
	return err
}

// holds tells whether the caller may do something with every object of the workspace, and so may let others do it. Owners
// may let others do everything. A rule that denies any of it to the caller, whatever its conditions, is enough to say no.
func (a *Ability) holds(action, subject string) bool {
	return a.IsOwner() || a.has(action, subject)
}

// has is holds without the privilege of owners: what the rules say.
func (a *Ability) has(action, subject string) bool {
	switch {
	case action == ActionManage && subject == SubjectEvents: // creating events is a rule of its own
		return a.surely(action, subject) && a.surely(ActionCreate, subject)
	default:
		return a.surely(action, subject)
	}
}

func (a *Ability) surely(action, subject string) bool {
	for c := range a.candidates(subject, false) {
		if c.rule.inverted && (c.rule.covers(action) || action == ActionManage) {
			return false
		}
		if !c.rule.inverted && c.rule.covers(action) && c.rule.unconditional() && c.within == nil {
			return true
		}
	}
	return false
}
