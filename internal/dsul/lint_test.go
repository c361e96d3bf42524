package dsul_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"atelier/internal/dsul"
)

// workspace makes documents of texts by their paths.
func workspace(t *testing.T, texts map[string]string) []*dsul.Document {
	t.Helper()
	var all []*dsul.Document
	for path, text := range texts {
		kind, slug, ok := dsul.SplitPath(path)
		if !ok {
			t.Fatal(path)
		}
		d, problems := dsul.Parse(kind, slug, []byte(text))
		if len(problems) > 0 {
			t.Fatal(path, problems)
		}
		all = append(all, d)
	}
	return all
}

func apps(slug, version string) (*dsul.AppFacts, bool) {
	if slug != "Mailer" || version == "9" {
		return nil, false
	}
	return &dsul.AppFacts{Automations: map[string]bool{"send": false, "inner": true}, Blocks: []string{"Inbox"}}, true
}

func TestReferences(t *testing.T) {
	t.Parallel()
	base := map[string]string{
		"index":                "name: W\nblocks:\n  Mine: {blocks: [{slug: RichText}]}\nconfig: {value: {a: '{{secret.known}}'}}\n",
		"automations/hello":    "name: Hello\ndo: []\nwhen: {endpoint: true, events: [orders.made]}\n",
		"automations/off":      "name: Off\ndo: []\ndisabled: true\nwhen: {endpoint: true, schedules: ['* * * * *']}\n",
		"automations/renamed":  "slug: real\nname: R\ndo:\n- emit: {event: orders.made}\nwhen: {endpoint: 'a/:id/*rest'}\n",
		"imports/mail":         "appSlug: Mailer\n",
		"imports/unpublished":  "appSlug: Other\n",
		"imports/old":          "appSlug: Mailer\ndisabled: true\n",
		"pages/home":           "name: Home\nblocks: [{slug: Mine}, {slug: RichText, automation: hello}, {slug: mail.Inbox}, {slug: 'https://x/y.js'}]\n",
		"security":             "anything: goes\n",
		"automations/folder/a": "name: A\ndo: []\n",
	}
	quiet := "imports/unpublished appSlug unknown_app warning"
	for name, test := range map[string]struct{ path, text, want string }{
		"nothing":                  {"automations/x", "name: X\ndo:\n- hello: {}\n- real: {}\n- folder/a: {}\n- mail.send: {}\n- runWorkflow: {workflow: hello}\n", ""},
		"unknown":                  {"automations/x", "name: X\ndo:\n- helo: {}\n- Hello: {}\n- renamed: {}\n", "do[0].helo unknown_automation error; do[1].Hello unknown_automation error; do[2].renamed unknown_automation error"},
		"anywhere":                 {"automations/x", "name: X\ndo:\n- conditions:\n    'true': [{repeat: {on: [1], do: [{try: {do: [], catch: [{nix: {}}]}}]}}]\n    default: [{all: [{nix: {}}, {all: {do: [{nix: {}}]}}]}]\n", "do[0].conditions.true[0].repeat.do[0].try.catch[0].nix unknown_automation error; do[0].conditions.default[0].all[0].nix unknown_automation error; do[0].conditions.default[0].all[1].all.do[0].nix unknown_automation error"},
		"workflows":                {"automations/x", "name: X\ndo:\n- runWorkflow: {workflow: nix}\n- runWorkflow: {workflow: '{{y}}'}\n", "do[0].runWorkflow.workflow unknown_automation error"},
		"disabled":                 {"automations/x", "name: X\ndo:\n- off: {}\n", "do[0].off disabled_automation warning"},
		"unknown instance":         {"automations/x", "name: X\ndo:\n- mial.send: {}\n", "do[0][\"mial.send\"] unknown_app_instance error"},
		"unknown in an instance":   {"automations/x", "name: X\ndo:\n- mail.sent: {}\n", "do[0][\"mail.sent\"] unknown_automation error"},
		"private in an instance":   {"automations/x", "name: X\ndo:\n- mail.inner: {}\n", "do[0][\"mail.inner\"] private_automation error"},
		"deep in an instance":      {"automations/x", "name: X\ndo:\n- mail.sub.send: {}\n", "do[0][\"mail.sub.send\"] nested_call error"},
		"an app nobody knows":      {"automations/x", "name: X\ndo:\n- unpublished.anything: {}\n", ""},
		"a disabled instance":      {"automations/x", "name: X\ndo:\n- old.send: {}\n", "do[0][\"old.send\"] disabled_app_instance warning"},
		"an unknown version":       {"imports/x", "appSlug: Mailer\nappVersion: '9'\n", "appSlug unknown_app warning"},
		"secrets":                  {"automations/x", "name: X\ndo:\n- set: {name: a, value: ['{{secret.known}}', '{{secret.nix}}', '{% {{secret[\"nox\"]}} %}']}\n- conditions: {'{{secret.nux}} == 1': []}\n", "do[0].set.value[1] unknown_secret warning; do[0].set.value[2] unknown_secret warning; do[1].conditions[\"{{secret.nux}} == 1\"] unknown_secret warning"},
		"secrets of an instance":   {"imports/x", "appSlug: Mailer\nconfig: {key: '{{secret.nix}}'}\n", "config.key unknown_secret warning"},
		"the same endpoint":        {"automations/x", "name: X\ndo: []\nwhen: {endpoint: hello}\n", "when.endpoint duplicate_endpoint warning"},
		"the same pattern":         {"automations/x", "name: X\ndo: []\nwhen: {endpoint: 'a/:other/*way'}\n", "when.endpoint duplicate_endpoint warning"},
		"the same as a disabled":   {"automations/x", "name: X\ndo: []\nwhen: {endpoint: 'off'}\n", ""},
		"schedules":                {"automations/x", "name: X\ndo: []\nwhen: {schedules: ['*/15 * * * *', '* * * * *', '0,50 * * * *', '0,5 3 1 1 *', '0 0 29 2 *', '55,5 23,0 * * *']}\n", "when.schedules[1] frequent_schedule warning; when.schedules[2] frequent_schedule warning; when.schedules[3] frequent_schedule warning; when.schedules[5] frequent_schedule warning"},
		"capitals":                 {"automations/x", "name: X\ndo:\n- wait: {oneOf: [{event: Orders.Made}]}\nwhen: {events: [orders.MADE, from.outside]}\n", "do[0].wait.oneOf[0].event event_case warning; when.events[0] event_case warning"},
		"capitals on a page":       {"pages/x", "name: X\nupdateOn: Orders.made\n", "updateOn event_case warning"},
		"blocks":                   {"pages/x", "name: X\nblocks: [{slug: Nix, content: {blocks: [{slug: nix.Block}, {slug: mail.Nix}, {slug: '{{x}}'}]}}]\n", "blocks[0].slug unknown_block warning; blocks[0].content.blocks[0].slug unknown_app_instance error; blocks[0].content.blocks[1].slug unknown_block warning"},
		"endpoints of pages":       {"pages/x", "name: X\nautomation: {slug: nix}\nblocks: [{slug: Hero, automation: a/1/b/c}, {slug: Hero, automation: a/1}, {slug: Hero, automation: real}, {slug: Hero, automation: mail.x}, {slug: Hero, automation: nix.x}]\n", "automation.slug unknown_endpoint warning; blocks[1].automation unknown_endpoint warning; blocks[2].automation unknown_endpoint warning; blocks[4].automation unknown_app_instance error"},
		"the same slug":            {"automations/x", "slug: hello\nname: X\ndo: []\n", "slug duplicate_slug error"},
		"the same instance":        {"imports/x", "slug: mail\nappSlug: Mailer\n", "slug duplicate_slug error"},
		"checks":                   {"automations/x", "name: X\ndo: [{set: {}}]\nwhat: 1\n", "do[0].set.name missing_key error; what unknown_key warning"},
		"expressions that are bad": {"automations/x", "name: X\ndo: [{set: {name: a, value: '{{secret.}} {% {{secret.nix}} + %}'}}]\n", "do[0].set.value bad_expression error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			texts := maps.Clone(base)
			texts[test.path] = test.text
			documents := workspace(t, texts)
			slices.SortFunc(documents, func(a, b *dsul.Document) int { return strings.Compare(a.Path(), b.Path()) })
			w := dsul.Workspace{Documents: documents, Secrets: map[string]bool{"known": true}, Apps: apps}
			var got []string
			for _, p := range w.Lint() {
				got = append(got, fmt.Sprintf("%s %s %s %s", p.Document, p.Path, p.Code, p.Severity))
			}
			want := []string{quiet}
			for _, line := range lines(test.want) {
				want = append(want, test.path+" "+line)
			}
			if !same2(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		})
	}
}

// What is not known is not complained about.
func TestLintWithoutKnowledge(t *testing.T) {
	t.Parallel()
	w := dsul.Workspace{Documents: workspace(t, map[string]string{
		"automations/a": "name: A\ndo:\n- app.anything: {a: '{{secret.x}}'}\n",
		"imports/app":   "appSlug: Nobody\n",
	})}
	if problems := w.Lint(); len(problems) > 0 {
		t.Error(problems)
	}
}

func TestLintIsSortedAndSuggests(t *testing.T) {
	t.Parallel()
	w := dsul.Workspace{Documents: workspace(t, map[string]string{
		"automations/b":        "name: B\ndo:\n- sendMial: {}\n- repaet: {}\n",
		"automations/a":        "name: A\nwhne: {}\ndo:\n- nothing like it: {}\n",
		"automations/sendMail": "name: S\ndo: []\n",
	})}
	var got []string
	for _, p := range w.Lint() {
		got = append(got, fmt.Sprintf("%s:%d:%d %s", p.Document, p.Line, p.Column, p.Message))
	}
	want := []string{
		`automations/a:2:1 there is no key "whne" here; did you mean when?`,
		`automations/a:4:3 there is no instruction and no automation "nothing like it"`,
		`automations/b:3:3 there is no instruction and no automation "sendMial"; did you mean sendMail?`,
		`automations/b:4:3 there is no instruction and no automation "repaet"; did you mean repeat?`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

// A workspace that is wrong everywhere is answered in proportion, too.
func TestLintIsBounded(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"pages/p": "name: P\nblocks:\n" + strings.Repeat("- {slug: Nix, automation: a/b/c}\n", 5000)}
	for i := range 50 {
		texts[fmt.Sprintf("automations/a%d", i)] = fmt.Sprintf("name: A\nwhen: {endpoint: '*a%d/b/*c/:d/*e'}\ndo:\n", i) + strings.Repeat("- unknown: {}\n- app.unknown: {}\n", 300)
	}
	w := dsul.Workspace{Documents: workspace(t, texts), Secrets: map[string]bool{}, Apps: apps}
	if n := len(w.Lint()); n == 0 || n > 51*1000 {
		t.Errorf("%d problems", n)
	}
}
