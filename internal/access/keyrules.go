package access

import (
	"encoding/json"
	"slices"
	"strings"
)

// KeyRequestRule is a rule of an API key as it is asked for: actions on subjects. Conditions are made by the service.
type KeyRequestRule struct {
	Action  Names `json:"action"`
	Subject Names `json:"subject"`
}

// KeyRule is a rule of an API key as the API shows it: about one subject, with the conditions that bind it to the workspace.
type KeyRule struct {
	Action     []string       `json:"action" doc:"The actions that the key may do."`
	Subject    string         `json:"subject" doc:"What the key may do them with."`
	Conditions map[string]any `json:"conditions" doc:"Made by the service: they bind the key to its workspace."`
}

// ParseKeyRules reads the rules of a request body, already decoded from JSON. Conditions and other keys are refused.
func ParseKeyRules(rules []map[string]any) ([]KeyRequestRule, error) {
	d := &decoder{}
	out := make([]KeyRequestRule, 0, len(rules))
	for i, written := range rules {
		path := at("rules", i)
		if _, ok := written["conditions"]; ok {
			d.problems.add(under(path, "conditions"), "conditions are made by the service; leave them out")
			delete(written, "conditions")
		}
		o := d.object(written, path, "action", "subject")
		out = append(out, KeyRequestRule{Action: d.names(o, path, "action"), Subject: d.names(o, path, "subject")})
	}
	if err := d.problems.err(); err != nil {
		return nil, err
	}
	return out, nil
}

// shownRules gives the rules with the conditions that hold for the workspace, one for each subject.
func shownRules(rules []KeyRequestRule, workspaceID string) []KeyRule {
	var out []KeyRule
	for _, r := range rules {
		for _, p := range parts(r.Action.All, r.Subject.All, workspaceID) {
			out = append(out, KeyRule{Action: slices.Clone(p.actions), Subject: p.subject, Conditions: p.forced})
		}
	}
	return out
}

func (p *problems) keyRules(rules []KeyRequestRule) {
	const most = 100
	if len(rules) == 0 {
		p.add("rules", "a key needs a rule, for instance {\"action\": \"read\", \"subject\": \"workspaces\"}")
	}
	if len(rules) > most {
		p.add("rules", "at most %d rules are possible", most)
		return
	}
	for i, r := range rules {
		p.keyRule(r, at("rules", i))
	}
}

func (p *problems) keyRule(r KeyRequestRule, path string) {
	if len(r.Action.All) == 0 {
		p.add(under(path, "action"), "an action is required, for instance read")
	}
	if len(r.Subject.All) == 0 {
		p.add(under(path, "subject"), "a subject is required; allowed are %s", strings.Join(Subjects(), ", "))
	}
	if len(r.Action.All) > maxNames || len(r.Subject.All) > maxNames {
		p.add(path, "at most %d names are allowed", maxNames)
		return
	}
	p.twice(r.Action, under(path, "action"))
	p.twice(r.Subject, under(path, "subject"))
	for i, name := range r.Subject.All {
		if name == SubjectSecureSecrets { // see validator.secureSecrets
			p.add(item(r.Subject, under(path, "subject"), i), "secure_secrets are open to people only, each to their own")
		}
		if !slices.Contains(Subjects(), name) {
			p.add(item(r.Subject, under(path, "subject"), i), "unknown subject; allowed are %s", strings.Join(Subjects(), ", "))
		}
	}
	custom := slices.Contains(r.Subject.All, SubjectAutomations)
	for i, name := range r.Action.All {
		if why := badAction(name, custom); why != "" {
			p.add(item(r.Action, under(path, "action"), i), "%s", why)
		}
	}
}

// storeRules and readRules are how the table keeps the rules of a key.
func storeRules(rules []KeyRequestRule) (string, error) {
	text, err := json.Marshal(rules)
	return string(text), err
}

func readRules(text string) ([]KeyRequestRule, error) {
	var written []map[string]any
	if err := json.Unmarshal([]byte(text), &written); err != nil {
		return nil, err
	}
	return ParseKeyRules(written)
}
