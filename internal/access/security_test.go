package access_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"atelier/internal/access"
	"atelier/internal/errs"
)

// Every mistake is refused, and named with its exact place.
func TestSecurityMistakes(t *testing.T) {
	t.Parallel()
	rule := func(text string) string { return "authorizations: {roles: {a: {}}, rules: [" + text + "]}" }
	for document, place := range map[string]string{
		"authorisations: {}": "authorisations",
		"[]":                 "security",
		"a: [":               "security",
		"{\"authorizations\": {}, \"authorizations\": {}}": "security",
		"{} {}":                                "security",
		"a: 1\na: 2":                           "security",
		"a: 1\n---\nb: 2":                      "security",
		"1: 2":                                 "security",
		"a: \"\\0\"":                           "security",
		"a: .nan":                              "security",
		"authorizations: {roles: []}":          "authorizations.roles",
		"authorizations: {rules: {}}":          "authorizations.rules",
		"authorizations: {roles: {owner: {}}}": "authorizations.roles.owner",
		"authorizations: {roles: {superadmin: {}}}":                                             "authorizations.roles.superadmin",
		"authorizations: {roles: {Owner: {}}}":                                                  "authorizations.roles.Owner",
		"authorizations: {roles: {DEFAULT: {}}}":                                                "authorizations.roles.DEFAULT",
		"authorizations: {roles: {SuperAdmin: {}}}":                                             "authorizations.roles.SuperAdmin",
		"authorizations: {roles: {'owner ': {}}}":                                               "authorizations.roles.owner ",
		"authorizations: {roles: {'a ': {}}}":                                                   "authorizations.roles.a ",
		"authorizations: {roles: {' a': {}}}":                                                   "authorizations.roles. a",
		"authorizations: {roles: {'a/b': {}}}":                                                  "authorizations.roles.a/b",
		"authorizations: {roles: {a: {desc: x}}}":                                               "authorizations.roles.a.desc",
		"authorizations: {roles: {a: {auth: {basic: {}}}}}":                                     "authorizations.roles.a.auth.basic",
		"authorizations: {roles: {a: {auth: {svc: {x: 1}}}}}":                                   "authorizations.roles.a.auth.svc.x",
		"authorizations: {roles: {a: {auth: {apiKey: {}, svc: {}}}}}":                           "authorizations.roles.a.auth.apiKey",
		"authorizations: {roles: {a: {auth: {svc: {conditions: {email: x}}}}}}":                 "authorizations.roles.a.auth.svc.conditions.email",
		"authorizations: {roles: {a: {auth: {svc: {conditions: {authData.e: '${user.id}'}}}}}}": "authorizations.roles.a.auth.svc.conditions",
		"authentication: {clientid: x}":                                                         "authentication.clientid",
		rule("{subject: pages}"):                                                                "authorizations.rules[0].action",
		rule("{action: [], subject: pages}"):                                                    "authorizations.rules[0].action",
		rule("{action: read}"):                                                                  "authorizations.rules[0].subject",
		rule("{action: read, subject: all}"):                                                    "authorizations.rules[0].subject",
		rule("{action: read, subject: [pages, page]}"):                                          "authorizations.rules[0].subject[1]",
		rule("{action: '*', subject: pages}"):                                                   "authorizations.rules[0].action",
		rule("{action: raed, subject: pages}"):                                                  "authorizations.rules[0].action",
		rule("{action: 'a b', subject: automations}"):                                           "authorizations.rules[0].action",
		rule("{role: owner, action: read, subject: pages}"):                                     "authorizations.rules[0].role",
		rule("{role: [a, b], action: read, subject: pages}"):                                    "authorizations.rules[0].role[1]",
		rule("{role: [a, a], action: read, subject: pages}"):                                    "authorizations.rules[0].role[1]",
		rule("{action: [read, update, read], subject: pages}"):                                  "authorizations.rules[0].action[2]",
		rule("{action: read, subject: [pages, files, pages]}"):                                  "authorizations.rules[0].subject[2]",
		rule("{role: [], action: read, subject: pages}"):                                        "authorizations.rules[0].role",
		rule("{role: 1, action: read, subject: pages}"):                                         "authorizations.rules[0].role",
		rule("{action: read, subject: pages, inverted: yes}"):                                   "authorizations.rules[0].inverted",
		rule("{action: read, subject: pages, priority: x}"):                                     "authorizations.rules[0].priority",
		rule("{action: read, subject: pages, fields: [1]}"):                                     "authorizations.rules[0].fields[0]",
		rule("{action: read, subject: pages, reason: " + strings.Repeat("x", 501) + "}"):        "authorizations.rules[0].reason",
		rule("{action: read, subject: pages, conditions: {colour: x}}"):                         "authorizations.rules[0].conditions.colour",
		rule("{action: read, subject: pages, conditions: {name: {$foo: x}}}"):                   "authorizations.rules[0].conditions.name.$foo",
		rule("{action: read, subject: pages, conditions: {name: {a: x}}}"):                      "authorizations.rules[0].conditions.name.a",
		rule("{action: read, subject: pages, conditions: {name: {}}}"):                          "authorizations.rules[0].conditions.name",
		rule("{action: read, subject: pages, conditions: {name: [a]}}"):                         "authorizations.rules[0].conditions.name",
		rule("{action: read, subject: pages, conditions: {$or: []}}"):                           "authorizations.rules[0].conditions.$or",
		rule("{action: read, subject: pages, conditions: {name: {$in: a}}}"):                    "authorizations.rules[0].conditions.name.$in",
		rule("{action: read, subject: pages, conditions: {name: {$in: [[a]]}}}"):                "authorizations.rules[0].conditions.name.$in[0]",
		rule("{action: read, subject: pages, conditions: {name: {$lt: true}}}"):                 "authorizations.rules[0].conditions.name.$lt",
		rule("{action: read, subject: pages, conditions: {name: {$size: -1}}}"):                 "authorizations.rules[0].conditions.name.$size",
		rule("{action: read, subject: pages, conditions: {name: {$exists: 1}}}"):                "authorizations.rules[0].conditions.name.$exists",
		rule("{action: read, subject: pages, conditions: {name: {$regex: '('}}}"):               "authorizations.rules[0].conditions.name.$regex",
		rule("{action: read, subject: pages, conditions: {name: {$regex: 'a{256}'}}}"):          "authorizations.rules[0].conditions.name.$regex",
		rule("{action: read, subject: pages, conditions: {name: '${user.email}'}}"):             "authorizations.rules[0].conditions.name",
		rule("{action: read, subject: pages, conditions: {'name.\"': x}}"):                      "authorizations.rules[0].conditions.name.\"",
		rule("{action: read, subject: files, conditions: {metadata: {$elemMatch: {$elemMatch: {$elemMatch: {$elemMatch: {$exists: true}}}}}}}"): "authorizations.rules[0].conditions.metadata.$elemMatch.$elemMatch.$elemMatch",
		rule("{action: read, subject: secure_secrets, conditions: {name: 'a-${user.id}'}}"):                                                     "authorizations.rules[0].action",
		rule("{action: create, subject: secure_secrets}"):                                                                                       "authorizations.rules[0].conditions.name",
		rule("{action: create, subject: secure_secrets, conditions: {name: {$regex: '^(${user.id})?.*$'}}}"):                                    "authorizations.rules[0].conditions.name",
		rule(strings.Repeat("{action: read, subject: pages},", 1001)):                                                                           "authorizations.rules",
	} {
		_, err := access.ParseSecurity([]byte(document))
		if errs.CodeOf(err) != errs.ValidationFailed {
			t.Errorf("%.200s: accepted: %v", document, err)
			continue
		}
		if fields := errs.From(err).Fields; fields[0].Field != place {
			t.Errorf("%.200s: %+v, want %s", document, fields, place)
		}
	}
	roles := map[string]any{}
	for i := range 101 {
		roles[fmt.Sprint("r", i)] = map[string]any{}
	}
	text, _ := json.Marshal(map[string]any{"authorizations": map[string]any{"roles": roles}})
	if _, err := access.ParseSecurity(text); err == nil {
		t.Error("101 roles are accepted")
	}
}

func TestLookAheadIsExplained(t *testing.T) {
	t.Parallel()
	_, err := access.ParseSecurity([]byte("authorizations: {rules: [{action: read, subject: pages, conditions: {name: {$regex: '^(?!a)'}}}]}"))
	if fields := errs.From(err).Fields; len(fields) != 1 || !strings.Contains(fields[0].Message, "look-ahead") {
		t.Errorf("%+v", fields)
	}
}

// A YAML bomb is refused without being unfolded.
func TestAliasBomb(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for i, name := range strings.Split("bcdefghij", "") {
		before := string(rune('a' + i))
		fmt.Fprintf(&text, "%s: &%s [%s]\n", name, name, strings.TrimSuffix(strings.Repeat("*"+before+",", 10), ","))
	}
	if _, err := access.ParseSecurity([]byte(text.String())); errs.CodeOf(err) != errs.ValidationFailed {
		t.Error(err)
	}
}

// What is written is what is answered: the order of rules, one name or a list of names.
func TestSecurityRoundTrip(t *testing.T) {
	t.Parallel()
	text := `{"authorizations":{"roles":{"b":{"description":"d","auth":{"svc":{"conditions":{"authData.email":{"$regex":"@x$"}}}}},"k":{"auth":{"apiKey":{}}}},` +
		`"rules":[{"role":["b"],"action":"read","subject":["pages"],"conditions":{"name":{"$in":["x",1,9007199254740993,1.5,null,true]}},"inverted":true,"reason":"No.","fields":["name"],"priority":3},` +
		`{"action":["custom"],"subject":"automations"}]},"authentication":{"clientId":"c"}}`
	sec, err := access.ParseSecurity([]byte(text))
	if err != nil {
		t.Fatal(errs.From(err).Fields)
	}
	if out, _ := json.Marshal(sec); string(out) != text {
		t.Errorf("\n%s\n%s", out, text)
	}
	asYAML, err := access.MarshalSecurity(sec)
	if err != nil {
		t.Fatal(err)
	}
	again, err := access.ParseSecurity(asYAML)
	if err != nil {
		t.Fatal(err)
	}
	if out, _ := json.Marshal(again); string(out) != text {
		t.Errorf("through YAML:\n%s\n%s", out, text)
	}
	if names := sec.RoleNames(); len(names) != 3 || names[2].Name != "b" || names[2].Description != "d" {
		t.Errorf("%+v", names)
	}
	for _, empty := range []string{"", "# nothing", "{}", "authorizations:\n", "authorizations: {}"} {
		if sec, err := access.ParseSecurity([]byte(empty)); err != nil || sec.Authorizations != nil && sec.Authorizations.Rules != nil {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

// The default file is valid, and so is it when the comments that offer more are made part of it.
func TestDefaultSecurity(t *testing.T) {
	t.Parallel()
	text := string(access.DefaultSecurity())
	sec, err := access.ParseSecurity([]byte(text))
	if err != nil {
		t.Fatal(errs.From(err).Fields)
	}
	for _, r := range sec.Authorizations.Rules {
		if len(r.Role.All) == 0 {
			t.Errorf("by default everyone may %v %v", r.Action.All, r.Subject.All)
		}
	}
	var lines []string
	for line := range strings.SplitSeq(text, "\n") {
		if before, after, found := strings.Cut(line, "# "); found && strings.HasPrefix(before, "    ") && !strings.HasSuffix(after, ":") || strings.HasPrefix(after, " ") ||
			strings.HasPrefix(after, "- ") || after == "user:" {
			line = before + after
		}
		lines = append(lines, line)
	}
	opened, err := access.ParseSecurity([]byte(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err, errs.From(err).Fields, strings.Join(lines, "\n"))
	}
	if got, want := len(opened.Authorizations.Rules), len(sec.Authorizations.Rules)+3; got != want || len(opened.Authorizations.Roles) != 2 {
		t.Errorf("%d rules, want %d; %d roles\n%s", got, want, len(opened.Authorizations.Roles), strings.Join(lines, "\n"))
	}
}

// Whatever is sent as a document, it is accepted or refused, and what is accepted stays accepted when it is written again.
func FuzzSecurity(f *testing.F) {
	f.Add(access.DefaultSecurity())
	f.Add([]byte(`{"authorizations":{"rules":[{"action":"read","subject":"events","conditions":{"payload.a":{"$elemMatch":{"b":{"$gt":1}}}}}]}}`))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("? [a]\n: b"))
	f.Fuzz(func(t *testing.T, text []byte) {
		sec, err := access.ParseSecurity(text)
		if err != nil {
			if errs.CodeOf(err) != errs.ValidationFailed {
				t.Fatal(err)
			}
			return
		}
		out, err := yaml.Marshal(sec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := access.ParseSecurity(out); err != nil {
			t.Errorf("%s\n%s\n%v", text, out, errs.From(err).Fields)
		}
	})
}
