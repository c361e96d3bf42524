package access

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"atelier/internal/errs"
)

// mayReplace refuses a change of the rules by which somebody could gain what the caller does not have.
//
// Owners may write any rules: they may do everything of the workspace. For others: whatever a change of the document makes
// possible, it does through a rule that was added, removed or moved, or through a role that is assigned otherwise. So the
// caller must hold every action of those rules on every object of their subjects, and cannot give away more than that;
// and how roles are assigned, which also decides with whom things are shared, is left to owners. Nor can others write rules
// that deny anything to owners; public are the roles that everyone has, owners included.
func (a *Ability) mayReplace(before, after *document, public []string) error {
	if a.IsOwner() {
		return nil
	}
	if names := assignedOtherwise(before.sec, after.sec); len(names) > 0 {
		return errs.Newf(errs.PermissionDenied, "Only an owner can change to whom the role %q is assigned.", names[0]).With("role", names[0])
	}
	removed, added := changed(before.sec.rules(), after.sec.rules())
	if slices.ContainsFunc(added, func(r Rule) bool { return after.deniesOwners(r, public) }) {
		return errs.New(errs.PermissionDenied, "Only an owner can write inverted rules that also hold for owners; name roles that were given to people.")
	}
	if err := a.mayGiveAll(slices.Concat(removed, added)); err != nil {
		return err
	}
	if (before.editor == nil) != (after.editor == nil) {
		if err := a.mayGiveAll(editorRules()); err != nil {
			return err
		}
	}
	return nil
}

func (a *Ability) mayGiveAll(rules []Rule) error {
	for _, r := range rules {
		if err := a.mayGive(r); err != nil {
			return err
		}
	}
	return nil
}

// mayGive tells whether the caller holds everything that a rule speaks about.
func (a *Ability) mayGive(r Rule) error {
	for _, subject := range r.Subject.All {
		for _, action := range r.Action.All {
			if !a.holds(action, subject) {
				return notYours(action, subject)
			}
		}
	}
	return nil
}

func notYours(action, subject string) error {
	return errs.Newf(errs.PermissionDenied, "You cannot give what you do not have: %s on every one of the %s of this workspace.", shorten(action), subject).
		With("action", action).With("subjectType", subject)
}

// rulesOf lists the rules that may allow more to who is given a role: those for the role, the template when the file has
// none for editors, and those whose conditions look at the caller's role.
func (d *document) rulesOf(role string) []Rule {
	var rules []Rule
	for _, r := range d.sec.rules() {
		if slices.Contains(r.Role.All, role) || asksForRole(r.Conditions) {
			rules = append(rules, r)
		}
	}
	if role == string(Editor) && d.editor != nil {
		rules = append(rules, editorRules()...)
	}
	return rules
}

func asksForRole(conditions map[string]any) bool {
	text, err := json.Marshal(conditions)
	return err != nil || slices.Contains(placeholders(string(text)), "user.role")
}

// changed gives the rules between the common beginning and the common end of two lists, of each.
func changed(before, after []Rule) (removed, added []Rule) {
	first := 0
	for first < len(before) && first < len(after) && sameRule(before[first], after[first]) {
		first++
	}
	before, after = before[first:], after[first:]
	for len(before) > 0 && len(after) > 0 && sameRule(before[len(before)-1], after[len(after)-1]) {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return before, after
}

func sameRule(a, b Rule) bool { return sameJSON(a, b) }

func sameJSON(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// assignedOtherwise lists the roles that the two documents assign to different people.
func assignedOtherwise(before, after Security) []string {
	names := map[string]bool{}
	for _, name := range slices.Concat(before.declared(), after.declared()) {
		a, _ := before.role(name)
		b, _ := after.role(name)
		if len(a.Auth)+len(b.Auth) > 0 && !sameJSON(a.Auth, b.Auth) {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
