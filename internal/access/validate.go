package access

import (
	"regexp"
	"slices"
	"strings"
)

// The bounds of a document.
const (
	maxRules    = 1_000
	maxRoles    = 100
	maxReason   = 500
	maxNames    = 50
	maxFields   = 100
	maxOperands = 5_000
	// maxPatterns bounds the regular expressions that are compiled anew for every caller.
	maxPatterns = 50
	// maxProgram and maxTranslation bound the regular expressions of a document together.
	maxProgram     = 20_000
	maxTranslation = 256 << 10
)

var (
	roleName   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 _.-]{0,59}$`)    //nolint:gochecknoglobals // compiled once
	actionName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:/-]{0,63}$`)      //nolint:gochecknoglobals // compiled once
	provider   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,59}$`)     //nolint:gochecknoglobals // compiled once
	fieldName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.:/@-]{0,99}$`) //nolint:gochecknoglobals // compiled once
)

// Validate tells everything that is wrong with a document, each with its exact place. What passes can be decided and can
// be pushed into queries.
func Validate(sec Security) error {
	v := &validator{sec: sec}
	if sec.Authentication != nil && len(sec.Authentication.ClientID) > 200 {
		v.problems.add("authentication.clientId", "at most 200 characters are allowed")
	}
	if sec.Authorizations != nil {
		v.roles("authorizations.roles")
		v.rules("authorizations.rules")
		v.readable("authorizations.rules")
	}
	return v.problems.err()
}

type validator struct {
	sec      Security
	problems problems
	spent    spent
	// reading and signIn are the instructions of what lists of workspaces look at: the rules about reading, and the conditions
	// of roles.
	reading, signIn int
}

func (v *validator) roles(path string) {
	roles := v.sec.Authorizations.Roles
	if len(roles) > maxRoles {
		v.problems.add(path, "at most %d roles can be declared", maxRoles)
		return
	}
	for _, name := range sortedKeys(roles) {
		where := under(path, shorten(name))
		switch {
		case reserved(name):
			v.problems.add(where, "the name is reserved: the role is built in and cannot be declared")
		case !roleName.MatchString(name) || strings.HasSuffix(name, " "):
			v.problems.add(where, "a role is named with 1 to 60 letters, digits, spaces and _ . -, beginning with a letter or digit and not ending with a space")
		}
		v.role(roles[name], name, where)
	}
}

// reserved tells that a name is that of a built-in role, or could be taken for it.
func reserved(name string) bool {
	return slices.ContainsFunc([]string{string(Owner), RoleSuperAdmin, RoleEveryone}, func(taken string) bool {
		return strings.EqualFold(strings.TrimSpace(name), taken)
	})
}

func (v *validator) role(role RoleSpec, name, path string) {
	if tooLong(role.Description, maxReason) {
		v.problems.add(under(path, "description"), "at most %d characters are allowed", maxReason)
	}
	if role.ForAutomations() && (len(role.Auth) > 1 || name == string(Editor)) {
		v.problems.add(under(path, "auth.apiKey"), "a role for automations has no other providers and is not editor")
	}
	for _, slug := range sortedKeys(role.Auth) {
		where := under(under(path, "auth"), shorten(slug))
		switch {
		case slug == "basic":
			v.problems.add(where, "basic authentication is not supported; use the name of a sign-in provider, or apiKey")
		case !provider.MatchString(slug):
			v.problems.add(where, "the name of a sign-in provider is expected")
		}
		v.assignment(role.Auth[slug].Conditions, under(where, "conditions"))
	}
}

// assignment checks conditions on the caller: they look at authData, and know no placeholders.
func (v *validator) assignment(written map[string]any, path string) {
	before := v.spent.instructions
	c := v.compile(written, path, 1)
	v.signIn += v.spent.instructions - before
	if c.dynamic {
		v.problems.add(path, "placeholders have no meaning here")
	}
	for _, key := range sortedKeys(written) {
		if !strings.HasPrefix(key, "authData.") {
			v.problems.add(under(path, shorten(key)), "these conditions look at authData, for instance authData.email")
		}
	}
}

func (v *validator) compile(written map[string]any, path string, parts int) *compiler {
	c := &compiler{spent: v.spent, parts: parts}
	c.compile(written, path, 1)
	v.problems.fields = append(v.problems.fields, c.problems.fields...)
	v.spent = c.spent
	return c
}

func (v *validator) rules(path string) {
	rules := v.sec.Authorizations.Rules
	if len(rules) > maxRules {
		v.problems.add(path, "at most %d rules are possible", maxRules)
		return
	}
	for i := range rules {
		v.rule(&rules[i], at(path, i))
		if len(v.problems.fields) >= enough {
			return
		}
	}
}

func (v *validator) rule(r *Rule, path string) {
	v.ruleRoles(r.Role, under(path, "role"))
	v.subjects(r.Subject, under(path, "subject"))
	v.actions(r, under(path, "action"))
	if tooLong(r.Reason, maxReason) {
		v.problems.add(under(path, "reason"), "at most %d characters are allowed", maxReason)
	}
	if len(r.Fields) > maxFields {
		v.problems.add(under(path, "fields"), "at most %d fields are allowed", maxFields)
	}
	for i, name := range r.Fields {
		if !fieldName.MatchString(name) {
			v.problems.add(at(under(path, "fields"), i), "the name of a field is expected")
		}
	}
	before := v.spent.instructions
	v.compile(r.Conditions, under(path, "conditions"), len(parts(r.Action.All, r.Subject.All, "")))
	if r.reads() {
		v.reading += v.spent.instructions - before
	}
	v.conditionFields(r, under(path, "conditions"))
	if slices.Contains(r.Subject.All, SubjectSecureSecrets) {
		v.secureSecrets(r, path)
	}
}

func (v *validator) ruleRoles(names Names, path string) {
	if names.List && len(names.All) == 0 {
		v.problems.add(path, "an empty list names nobody; leave role out for everyone")
	}
	v.count(names, path)
	for i, name := range names.All {
		where := item(names, path, i)
		_, declared := v.sec.role(name)
		switch {
		case name == string(Owner):
			v.problems.add(where, "owner cannot be restricted or extended by rules")
		case name != string(Editor) && !declared:
			v.problems.add(where, "the role %q is not declared in authorizations.roles", shorten(name))
		}
	}
}

func (v *validator) subjects(names Names, path string) {
	if len(names.All) == 0 {
		v.problems.add(path, "a subject is required; allowed are %s", strings.Join(Subjects(), ", "))
	}
	v.count(names, path)
	for i, name := range names.All {
		if !slices.Contains(Subjects(), name) {
			v.problems.add(item(names, path, i), "unknown subject; allowed are %s", strings.Join(Subjects(), ", "))
		}
	}
}

func (v *validator) actions(r *Rule, path string) {
	if len(r.Action.All) == 0 {
		v.problems.add(path, "an action is required, for instance read; manage stands for all")
	}
	v.count(r.Action, path)
	custom := slices.Contains(r.Subject.All, SubjectAutomations)
	for i, name := range r.Action.All {
		if why := badAction(name, custom); why != "" {
			v.problems.add(item(r.Action, path, i), "%s", why)
		}
	}
}

// badAction tells what is wrong with the name of an action; only automations have actions of their own.
func badAction(name string, custom bool) string {
	switch {
	case slices.Contains(Actions(), name):
		return ""
	case name == "*":
		return "* is not an action; manage stands for all"
	case !custom:
		return "unknown action; allowed are " + strings.Join(Actions(), ", ")
	case !actionName.MatchString(name):
		return "an action is named with up to 64 letters, digits and _ . : / -"
	default:
		return ""
	}
}

// conditionFields refuses conditions on fields that a subject does not have: they would silently never match.
func (v *validator) conditionFields(r *Rule, path string) {
	for _, key := range sortedKeys(r.Conditions) {
		for _, subject := range r.Subject.All {
			if allowed := ConditionFields(subject); allowed != nil && !knownField(subject, key) {
				v.problems.add(under(path, shorten(key)), "%s have no such field; conditions may look at %s", subject, strings.Join(allowed, ", "))
			}
		}
	}
}

// secureSecrets keeps everybody to secrets of their own: a rule lets people write what is named after them, nothing else.
func (v *validator) secureSecrets(r *Rule, path string) {
	for i, name := range r.Action.All {
		if name != ActionCreate && name != ActionUpdate {
			v.problems.add(item(r.Action, under(path, "action"), i), "secure_secrets can be created and updated only")
		}
	}
	if r.Inverted {
		v.problems.add(under(path, "inverted"), "a rule on secure_secrets cannot be inverted")
	}
	if !confined(r.Conditions["name"]) {
		v.problems.add(under(path, "conditions.name"), "the name must be confined to ${user.id}: a text, or a $regex from ^ to $, that contains it")
	}
}

func confined(written any) bool {
	if text, ok := written.(string); ok {
		return slices.Contains(placeholders(text), "user.id")
	}
	ops, _ := written.(map[string]any)
	pattern, ok := ops[regexOperator].(string)
	if !ok || !slices.Contains(placeholders(pattern), "user.id") {
		return false
	}
	rest := placeholder.ReplaceAllString(pattern, "\x00")
	optional := strings.ContainsAny(rest, "()|") || strings.Contains(rest, "\x00?") || strings.Contains(rest, "\x00*") || strings.Contains(rest, "\x00{")
	return !optional && strings.HasPrefix(rest, "^") && strings.HasSuffix(rest, "$")
}

func (v *validator) count(names Names, path string) {
	if len(names.All) > maxNames {
		v.problems.add(path, "at most %d names are allowed", maxNames)
		return
	}
	v.problems.twice(names, path)
}

// twice refuses names that are repeated: each would be compiled again.
func (p *problems) twice(names Names, path string) {
	for i, name := range names.All {
		if slices.Contains(names.All[:i], name) {
			p.add(item(names, path, i), "the name is there twice")
		}
	}
}

// item is the place of one name: of the list's element, or of the name itself.
func item(names Names, path string, i int) string {
	if names.List {
		return at(path, i)
	}
	return path
}

func tooLong(text string, most int) bool { return len(text) > most && len([]rune(text)) > most }
