package access

import (
	"fmt"
	"strings"
)

// Explanation says how a decision came about: which rule decided, and why the others did not.
type Explanation struct {
	Allowed    bool            `json:"allowed" doc:"Whether it is allowed."`
	Decided    *RuleRef        `json:"decided,omitempty" doc:"The rule that decided; none when no rule allows it."`
	Reason     string          `json:"reason,omitempty" doc:"The reason that the rule gives."`
	Roles      []string        `json:"roles" doc:"The roles of the caller in the workspace."`
	Considered []Consideration `json:"considered" doc:"The rules about the subject, the strongest first. The first that matches decides. At most 200 are told."`
	More       int             `json:"more,omitempty" doc:"How many weaker rules were considered besides those told."`
}

// Consideration is one rule and what became of it.
type Consideration struct {
	Rule     RuleRef  `json:"rule"`
	Roles    []string `json:"roles,omitempty" doc:"The roles that the rule is for; none when it is for everyone."`
	Action   []string `json:"action" doc:"The actions that the rule is about."`
	Inverted bool     `json:"inverted,omitempty" doc:"Whether the rule denies."`
	Matched  bool     `json:"matched" doc:"Whether the rule applies to the caller, the action and the object."`
	Why      string   `json:"why" doc:"What became of the rule, in words."`
}

// maxConsidered is how many rules an explanation tells of.
const maxConsidered = 200

// Explain decides as Decide does, and tells about every rule on the way.
func (a *Ability) Explain(action, subject string, object Object) Explanation {
	q := query{action: action, subject: subject}
	m := memo{object: a.known(subject, object)}
	out := Explanation{Roles: a.Roles(), Considered: []Consideration{}}
	if out.Roles == nil {
		out.Roles = []string{}
	}
	for c := range a.candidates(subject, true) {
		verdict, failed := a.judge(&c, &q, &m)
		entry := Consideration{
			Rule: c.rule.ref, Roles: c.rule.roleNames, Action: c.rule.actions, Inverted: c.rule.inverted, Matched: verdict == matched,
		}
		switch {
		case verdict == matched && out.Decided == nil:
			out.Allowed, out.Decided, out.Reason = !c.rule.inverted, &c.rule.ref, c.rule.reason
			entry.Why = "It decides."
		case verdict == matched:
			entry.Why = "It matches, but a stronger rule has decided."
		default:
			entry.Why = why(verdict, &c, failed)
		}
		if len(out.Considered) < maxConsidered {
			out.Considered = append(out.Considered, entry)
		} else {
			out.More++
		}
	}
	return out
}

func why(v verdict, c *candidate, failed *fieldTest) string {
	switch v {
	case otherRole:
		return "The caller does not have the role " + strings.Join(c.rule.roleNames, " or ") + "."
	case otherAction:
		return "It is about other actions."
	case otherField:
		return "It is about single fields only."
	case undefined:
		return "A placeholder has no value for this caller, so the rule does not apply."
	default:
		return fmt.Sprintf("Its condition on %s is not fulfilled.", failed.path)
	}
}
