package dsul_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"atelier/internal/dsul"
)

// found writes problems as "path code", errors and warnings apart.
func found(problems dsul.Problems) (wrong, warned []string) {
	for _, p := range problems {
		line := p.Path + " " + p.Code
		if p.Severity == dsul.SeverityError {
			wrong = append(wrong, line)
		} else {
			warned = append(warned, line)
		}
	}
	return wrong, warned
}

// checks is a table: a text, and what is found in it. What an API write refuses and an import only mentions is in soft, what
// both refuse in hard.
type checks []struct{ name, text, soft, hard string }

func (cs checks) run(t *testing.T, kind dsul.Kind, around string) {
	t.Helper()
	for _, test := range cs {
		t.Run(test.name, func(t *testing.T) {
			t.Helper()
			d, problems := dsul.Parse(kind, "x", fmt.Appendf(nil, around, test.text))
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			soft, hard := lines(test.soft), lines(test.hard)
			wrong, warned := found(d.Check(dsul.Lenient))
			if !same2(wrong, hard) || !same2(warned, soft) {
				t.Errorf("lenient: errors %q, warnings %q", wrong, warned)
			}
			wrong, warned = found(d.Check(dsul.Strict))
			if !same2(wrong, append(soft, hard...)) || len(warned) > 0 {
				t.Errorf("strict: errors %q, warnings %q", wrong, warned)
			}
			for _, p := range d.Check(dsul.Strict) {
				if p.Line == 0 || p.Column == 0 && p.Code != "bad_expression" || p.Document != d.Path() || p.Message == "" {
					t.Errorf("%+v", p)
				}
			}
		})
	}
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "; ")
}

func same2(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

func TestAutomationKeys(t *testing.T) {
	t.Parallel()
	checks{
		{"least", "name: x\ndo: []", "", ""},
		{"everything", strings.TrimSpace(`
slug: a/b c
name: {en: Hello, fr: Bonjour, pt-BR: Olá}
description: text
labels: [ab, "a:b", a.b_c-d]
when: {events: [a, "b c", d.e_f-g], endpoint: true, schedules: ["0 8 * * 1-5"]}
arguments:
  a: {type: string, title: A, description: {en: x}, secret: true, redact: false, event: true, pattern: "^x", enum: [a], enumNames: [b], default: a}
  b: {type: object, properties: {c: {type: array, items: {type: "localized:string"}}}, required: [c], additionalProperties: false}
  d: {oneOf: [{type: number}, {type: "null"}], "ui:widget": textarea, "ui:options": {rows: 3}, format: date}
schemas:
  - conditions: {method: POST, body.kind: x}
    payload: {type: object, properties: {body: {type: object}}}
    output: {a: {type: string, redact: true}}
  - payload: {a: {type: string}}
validateArguments: true
do: []
output: "{{a}}"
private: false
disabled: true
authorizations: {action: run}`), "", ""},
		{"nothing where a key may be absent", "name: x\ndo: []\nwhen:\ndescription:\narguments: ~\noutput:", "", ""},
		{"missing", "description: x", "name missing_key", "do missing_key"},
		{"null", "name:\ndo:", "name missing_key", "do missing_key"},
		{"blank name", "name: ' '\ndo: []", "name bad_name", ""},
		{"empty translations", "name: {}\ndo: []", "name bad_name", ""},
		{"unknown", "name: x\ndo: []\nDo: []\nwhat: 1", "Do unknown_key; what unknown_key", ""},
		{"numbers for texts", "name: 2024\ndescription: 1.10\ndo: []\nlabels: [12]", "name wrong_type; description wrong_type; labels[0] wrong_type", ""},
		{"words that only look like it", "name: no\ndescription: 012\ndo: []\nlabels: [off]", "", ""},
		{"lists for texts", "name: [x]\ndo: []", "", "name wrong_type"},
		{"flags", "name: x\ndo: []\nprivate: 'true'\ndisabled: 1\nvalidateArguments: [x]", "private wrong_type; disabled wrong_type; validateArguments wrong_type", ""},
		{"language", "name: {english language: x}\ndo: []", `name["english language"] bad_language`, ""},
		{"labels", "name: x\ndo: []\nlabels: [a, 'a b', 'é!']", "labels[0] bad_label; labels[1] bad_label; labels[2] bad_label", ""},
		{"labels as a text", "name: x\ndo: []\nlabels: ab", "", "labels wrong_type"},
		{"slug with a dot", "slug: a.b\nname: x\ndo: []", "", "slug bad_slug"},
		{"slug that climbs", "slug: ../b\nname: x\ndo: []", "", "slug bad_slug"},
		{"do as a map", "name: x\ndo: {set: {}}", "", "do wrong_type"},
		{"do as a text", "name: x\ndo: 'x'", "", "do wrong_type"},
		{"output", "name: x\ndo: []\noutput: {a: ['{% 1 + %}']}", "", "output.a[0] bad_expression"},
		{"authorizations", "name: x\ndo: []\nauthorizations: {actions: x}", "authorizations.actions unknown_key", ""},
		{"authorizations as a text", "name: x\ndo: []\nauthorizations: x", "", "authorizations wrong_type"},
	}.run(t, dsul.Automation, "%s\n")
}

func TestTriggers(t *testing.T) {
	t.Parallel()
	checks{
		{"good paths", "endpoint: a/b-c/:id/d/*rest", "", ""},
		{"a literal colon", "endpoint: message:stream", "", ""},
		{"false", "endpoint: false", "", ""},
		{"dotted", "endpoint: .well-known/x", "", ""},
		{"with a space", "endpoint: my hook", "", ""},
		{"empty", "endpoint: ''", "when.endpoint bad_endpoint", ""},
		{"long", "endpoint: " + strings.Repeat("x", 301), "when.endpoint bad_endpoint", ""},
		{"leading slash", "endpoint: /a", "when.endpoint bad_endpoint", ""},
		{"double slash", "endpoint: a//b", "when.endpoint bad_endpoint", ""},
		{"climbing", "endpoint: a/../b", "when.endpoint bad_endpoint", ""},
		{"nameless parameter", "endpoint: 'a/:'", "when.endpoint bad_endpoint", ""},
		{"nameless rest", "endpoint: 'a/*'", "when.endpoint bad_endpoint", ""},
		{"bad parameter", "endpoint: 'a/:b-c'", "when.endpoint bad_endpoint", ""},
		{"parameter twice", "endpoint: 'a/:b/*b'", "when.endpoint bad_endpoint", ""},
		{"a query", "endpoint: 'a?b=c'", "when.endpoint bad_endpoint", ""},
		{"a number", "endpoint: 12", "when.endpoint wrong_type", ""},
		{"a map", "endpoint: {}", "", "when.endpoint wrong_type"},
		{"schedules", "schedules: ['*/15 * * * *', '0 0 1 1 *']", "", ""},
		{
			"no schedule", "schedules: ['every day', '61 * * * *', '* * * *', 5]", "when.schedules[3] wrong_type",
			"when.schedules[0] bad_cron; when.schedules[1] bad_cron; when.schedules[2] bad_cron; when.schedules[3] bad_cron",
		},
		{"a date", "schedules: ['2021-12-25T00:00']", "", "when.schedules[0] bad_cron"},
		{"schedule as a text", "schedules: '* * * * *'", "", "when.schedules wrong_type"},
		{"events", "events: ['a*', 'a/b', '', 'é']", "when.events[0] bad_event; when.events[1] bad_event; when.events[2] bad_event; when.events[3] bad_event", ""},
		{"an unknown trigger", "webhook: true", "when.webhook unknown_key", ""},
	}.run(t, dsul.Automation, "name: x\ndo: []\nwhen: {%s}\n")
}

func TestArguments(t *testing.T) {
	t.Parallel()
	checks{
		{"nothing said", "a:", "", ""},
		{"type", "a: {type: text}", "arguments.a.type bad_value", ""},
		{"types", "a: {type: [string, 'null']}", "", ""},
		{"wrong types", "a: {type: [string, x]}", "arguments.a.type[1] bad_value", ""},
		{"not a map", "a: string", "", "arguments.a wrong_type"},
		{"unknown", "a: {type: string, typo: 1, sekret: true}", "arguments.a.typo unknown_key; arguments.a.sekret unknown_key", ""},
		{"deep", "a: {properties: {b: {items: {properties: {c: {type: x}}}}}}", "arguments.a.properties.b.items.properties.c.type bad_value", ""},
		{"pattern", "a: {pattern: '('}", "arguments.a.pattern bad_pattern", ""},
		{"look-ahead", "a: {pattern: '(?!x)'}", "arguments.a.pattern bad_pattern", ""},
		{"huge pattern", "a: {pattern: '" + strings.Repeat("x", 2000) + "'}", "arguments.a.pattern bad_pattern", ""},
		{"required", "a: {required: true}\n  b: {required: [x, 1]}\n  c: {required: 'x'}", "arguments.b.required[1] wrong_type; arguments.c.required wrong_type", ""},
		{"enum", "a: {enum: '{{config.x}}'}\n  b: {enum: 3}\n  c: {enum: {}}", "arguments.b.enum wrong_type; arguments.c.enum wrong_type", ""},
		{"choices", "a: {oneOf: [x, {type: y}]}", "arguments.a.oneOf[1].type bad_value", ""},
		{"additional", "a: {additionalProperties: {type: z}}\n  b: {additionalProperties: x}", "arguments.a.additionalProperties.type bad_value; arguments.b.additionalProperties wrong_type", ""},
		{"places", "a: {items: [{type: string}, {type: z}]}", "arguments.a.items[1].type bad_value", ""},
		{"markers", "a: {secret: x, redact: 1, event: ''}", "arguments.a.secret wrong_type; arguments.a.redact wrong_type; arguments.a.event wrong_type", ""},
	}.run(t, dsul.Automation, "name: x\ndo: []\narguments:\n  %s\n")
}

func TestSchemas(t *testing.T) {
	t.Parallel()
	checks{
		{"unknown", "[{when: x}]", "schemas[0].when unknown_key", ""},
		{"deep", "[{payload: {type: object, properties: {a: {type: x}}}, output: {b: {type: y}}}]", "schemas[0].payload.properties.a.type bad_value; schemas[0].output.b.type bad_value", ""},
		{"not a list", "{payload: {}}", "", "schemas wrong_type"},
		{"not a map", "[x]", "", "schemas[0] wrong_type"},
	}.run(t, dsul.Automation, "name: x\ndo: []\nschemas: %s\n")
}

func TestInstructions(t *testing.T) {
	t.Parallel()
	checks{
		{"empty", "{}", "", ""},
		{"not a map", "x", "", "do[0] wrong_type"},
		{"two", "{set: {name: a}, emit: {event: b}}", "do[0].emit two_instructions", ""},
		{"null", "{set: }", "", "do[0].set missing_value"},
		{"null break", "{break: ~}", "", "do[0].break missing_value"},
		{"comments", "{comment: 'an open {{ and {% 1 + %}'}", "", ""},
		{"no comment", "{comment: }", "", ""},

		{"set", "{set: {name: 'a.b[0].c', value: {d: [1, '{{e}}']}, type: merge, clone: true, interface: x, lifespan: 3}}", "", ""},
		{"set computed", "{set: {name: 'a[{{k}}]', value: '{% {{n}} + 1 %}', type: '{{t}}', clone: '{{c}}'}}", "", ""},
		{"set push", "{set: {name: 'a[]', value: x}}", "", ""},
		{"set with a dash and a dollar", "{set: {name: $http.x-y, value: x}}", "", ""},
		{"set nothing", "{set: {value: x}}", "", "do[0].set.name missing_key"},
		{"set a list", "{set: {name: [a], value: x}}", "", "do[0].set.name wrong_type"},
		{"set a number", "{set: {name: 12, value: x}}", "do[0].set.name wrong_type", ""},
		{"set bad paths", "{set: {name: 'a..b'}}", "do[0].set.name bad_variable", ""},
		{"set trailing dot", "{set: {name: 'a.'}}", "do[0].set.name bad_variable", ""},
		{"set leading bracket", "{set: {name: '[0]'}}", "do[0].set.name bad_variable", ""},
		{"set type", "{set: {name: a, type: deep}}", "do[0].set.type bad_value", ""},
		{"set typo", "{set: {name: a, vaule: 1}}", "do[0].set.vaule unknown_key", ""},
		{"set bad expression", "{set: {name: a, value: {b: ['{% 1 == %}']}}}", "", "do[0].set.value.b[0] bad_expression"},
		{"set bad variable", "{set: {name: a, value: 'x {{}} y'}}", "", "do[0].set.value bad_expression"},
		{"unknown function", "{set: {name: a, value: '{% now() %}'}}", "", "do[0].set.value bad_expression"},
		{"open braces are text", "{set: {name: a, value: 'x {{ y {% z'}}", "", ""},
		{"set as a text", "{set: x}", "", "do[0].set wrong_type"},
		{"delete", "{delete: {name: a.b}}", "", ""},
		{"delete nothing", "{delete: {}}", "", "do[0].delete.name missing_key"},

		{"conditions", `{conditions: {'{{a}} == "b"': [{set: {name: c}}], '{% {{d}} %}': [], 1: [], '{{e}} in "x,y"': , default: [{break: {}}]}}`, "", ""},
		{"bad condition", `{conditions: {'{{a}} ==': [], '1==1': []}}`, "", `do[0].conditions["{{a}} =="] bad_expression; do[0].conditions["1==1"] bad_expression`},
		{"bad branch", `{conditions: {'true': {set: {name: a}}, default: [x]}}`, "", "do[0].conditions.true wrong_type; do[0].conditions.default[0] wrong_type"},
		{"deep in a branch", `{conditions: {'true': [{conditions: {default: [{set: {}}]}}]}}`, "", "do[0].conditions.true[0].conditions.default[0].set.name missing_key"},
		{"conditions as a list", `{conditions: []}`, "", "do[0].conditions wrong_type"},

		{"repeat", "{repeat: {on: '{{list}}', until: 3, batch: {size: 2, interval: '{{i}}'}, do: [{set: {name: a}}]}}", "", ""},
		{"repeat until", "{repeat: {until: '5', do: []}}", "", ""},
		{"repeat nothing", "{repeat: {on: '{{list}}'}}", "", "do[0].repeat.do missing_key"},
		{"repeat bad inside", "{repeat: {on: [1], do: [{set: {}}], batch: {size: x, count: 1}}}", "do[0].repeat.batch.size wrong_type; do[0].repeat.batch.count unknown_key", "do[0].repeat.do[0].set.name missing_key"},
		{"all", "{all: [{set: {name: a}}]}", "", ""},
		{"all as a map", "{all: {do: [{set: {}}]}}", "", "do[0].all.do[0].set.name missing_key"},
		{"all bad", "{all: x}", "", "do[0].all wrong_type"},
		{"try", "{try: {do: [{set: {name: a}}], catch: [{delete: {}}], finally: [x]}}", "", "do[0].try.catch[0].delete.name missing_key; do[0].try.finally[0] wrong_type"},
		{"try nothing", "{try: {catch: []}}", "", "do[0].try.do missing_key"},
		{"break", "{break: {scope: all, payload: {a: '{{b}}'}}}", "", ""},
		{"break scope", "{break: {scope: loop}}", "do[0].break.scope bad_value", ""},

		{"emit", "{emit: {event: 'a b.c', payload: {x: '{{y}}'}, target: {userId: '{{u}}', sessionId: s, userTopic: t, currentSocket: false}, options: {persist: true, aggPayload: false, async: true}, private: true, autocomplete: {x: {from: config, path: a}}, output: e}}", "", ""},
		{"emit computed", "{emit: {event: 'a {{b}}', payload: '{{c}}', target: '{{t}}'}}", "", ""},
		{"emit nothing", "{emit: {payload: {}}}", "", "do[0].emit.event missing_key"},
		{"emit a bad name", "{emit: {event: 'a/b'}}", "", "do[0].emit.event bad_event"},
		{"emit a list", "{emit: {event: a, payload: [1]}}", "do[0].emit.payload wrong_type", ""},
		{"emit typos", "{emit: {event: a, target: {user: x}, options: {persit: true}, output: 'a.'}}", "do[0].emit.target.user unknown_key; do[0].emit.options.persit unknown_key; do[0].emit.output bad_variable", ""},
		{"wait", "{wait: {oneOf: [{event: a, filters: {payload.id: '{{x}}', b: {$gt: 3}}, cancelTriggers: true}], timeout: 3, output: e}}", "", ""},
		{"wait as sleep", "{wait: {timeout: '{{t}}'}}", "", ""},
		{"wait badly", "{wait: {oneOf: [{filters: {}}, x], timeout: soon}}", "do[0].wait.timeout wrong_type", "do[0].wait.oneOf[0].event missing_key; do[0].wait.oneOf[1] wrong_type"},

		{"fetch", "{fetch: {url: 'https://x/{{y}}', method: post, headers: {a: '{{b}}', n: 1}, query: '{{q}}', body: {c: d}, emitErrors: false, outputMode: detailed_response, output: r, svcApiKey: {name: k}, allowSelfSignedCert: false}}", "", ""},
		{"fetch more", "{fetch: {url: x, multipart: [{fieldname: f, value: v, filename: n, contentType: t}], stream: {event: e, payload: {}, endChunk: {}, concatenate: {path: p, throttle: 3}, target: {}, options: {}}, auth: {svc: {forwardWorkspaceAuth: true}, awsv4: {accessKeyId: a, secretAccessKey: '{{secret.s}}'}, basic: {user: u, password: p}, oauth2: {a: b}}}}", "", ""},
		{"fetch nothing", "{fetch: {}}", "", "do[0].fetch.url missing_key"},
		{
			"fetch badly", "{fetch: {url: x, headers: [a], outputMode: all, multipart: [{value: v}], stream: {payload: {}}, auth: {awsv4: {}}, timeout: 3}}",
			"do[0].fetch.outputMode bad_value; do[0].fetch.timeout unknown_key",
			"do[0].fetch.headers wrong_type; do[0].fetch.multipart[0].fieldname missing_key; do[0].fetch.stream.event missing_key; do[0].fetch.auth.awsv4.accessKeyId missing_key; do[0].fetch.auth.awsv4.secretAccessKey missing_key",
		},

		{"run", "{run: {module: collections, function: find, parameters: {a: '{{b}}'}, onError: continue, output: r}}", "", ""},
		{"run badly", "{run: {module: x, onError: throw}}", "do[0].run.onError bad_value", "do[0].run.function missing_key"},
		{"runWorkflow", "{runWorkflow: {workflow: x, parameters: {}, wait: false, output: y}}", "", ""},
		{"runWorkflow nothing", "{runWorkflow: {}}", "", "do[0].runWorkflow.workflow missing_key"},
		{"rateLimit", "{rateLimit: {name: a, consumer: '{{user.id}}', window: 60, limit: '{{n}}', consume: 2, break: false, output: r}}", "", ""},
		{"rateLimit badly", "{rateLimit: {window: x}}", "do[0].rateLimit.window wrong_type; do[0].rateLimit.limit missing_key", "do[0].rateLimit.name missing_key"},
		{"auth", "{auth: {workspace: true, output: a}}", "", ""},
		{"topics", "{createUserTopic: {topic: '{{t}}', userIds: [a]}}", "", ""},
		{"topics badly", "{joinUserTopic: {userIds: [a], create: maybe}}", "do[0].joinUserTopic.create wrong_type", "do[0].joinUserTopic.topic missing_key"},

		{"call", "{other: {a: '{{b}}', output: c.d}}", "", ""},
		{"call of an app", "{My App.do it: {a: 1}}", "", ""},
		{"call in a folder", "{folder/sub one: {}}", "", ""},
		{"call with a variable", "{other: '{{payload}}'}", "", ""},
		{"call with a text", "{other: x}", "", "do[0].other wrong_type"},
		{"call without anything", "{other: }", "", "do[0].other missing_value"},
		{"call with a bad output", "{other: {output: 'a.'}}", "do[0].other.output bad_variable", ""},
		{"call with a bad expression", "{other: {a: [{b: '{% ( %}'}]}}", "", "do[0].other.a[0].b bad_expression"},
		{"no call at all", "{'{{name}}': {}}", `do[0]["{{name}}"] bad_call`, ""},
	}.run(t, dsul.Automation, "name: x\ndo:\n  - %s\n")
}

func TestPages(t *testing.T) {
	t.Parallel()
	checks{
		{"least", "name: x", "", ""},
		{"everything", "name: {en: x}\nslug: a/b\ndescription: d\nlabels: [ab]\nstyles: |\n  a {}\nonInit: {event: e, payload: {a: 1}}\nupdateOn: u\nnotifyOn: [n]\n" +
			"automation: {slug: s, payload: {}}\ncolorScheme: dark\nfavicon: f\ncustomDomains: [a.example]\nblocks: []", "", ""},
		{"what older editors wrote", "name: x\naccessControl: {a: 1}\nlanguage: en\nseoSettings: []\nblocks: [{slug: A, config: {b: c}}]", "", ""},
		{"blocks", "name: x\nblocks:\n- {slug: RichText, content: '{{v|date:\"LL\"}}', anything: [1]}\n- {slug: A, if: '!{{x}}', repeat: '{{list}}', item: one, onInit: e, automation: a}\n" +
			"- {slug: B, template.if: '{{x}}', template.repeat: {on: '{{l}}', as: i}, template: {if: '{{y}}'}}", "", ""},
		{"children", "name: x\nblocks: [{slug: L, blocks: [{slug: M, css: [1]}, {block: {slug: N}}, 3]}]", "", "blocks[0].blocks[0].css wrong_type"},
		{"missing", "description: x", "name missing_key", ""},
		{"no slug", "name: x\nblocks: [{content: c}]", "blocks[0].slug missing_key", ""},
		{"bad blocks", "name: x\nblocks: [a, {slug: [b]}]", "blocks[1].slug missing_key", "blocks[0] wrong_type; blocks[1].slug wrong_type"},
		{"blocks as a map", "name: x\nblocks: {a: b}", "", "blocks wrong_type"},
		{"scheme", "name: x\ncolorScheme: pink", "colorScheme bad_value", ""},
		{"events", "name: x\nonInit: a/b\nupdateOn: ['{{x}}', 'c/d']\nnotifyOn: {a: b}", "onInit bad_event; updateOn[1] bad_event", "notifyOn wrong_type"},
		{"init without event", "name: x\nonInit: {payload: {}}\nautomation: {payload: {}}", "", "onInit.event missing_key; automation.slug missing_key"},
		{"templates", "name: x\nblocks: [{slug: A, if: [x], repeat: {as: y}, template: {when: z}}]", "blocks[0].if wrong_type; blocks[0].template.when unknown_key", "blocks[0].repeat.on missing_key"},
		{"unknown", "name: x\nblock: []", "block unknown_key", ""},
	}.run(t, dsul.Page, "%s\n")
}

func TestImports(t *testing.T) {
	t.Parallel()
	checks{
		{"least", "appSlug: a", "", ""},
		{"everything", "appSlug: Custom Code\nappName: Custom Code\nappVersion: '1.10'\nslug: My Code\ndisabled: false\nlabels: [ab]\nconfig: {a: ['{{config.x}}', '{% y']}", "", ""},
		{"a generated version", "appSlug: a\nappVersion: 5-13-2024.1-1715594400000", "", ""},
		{"missing", "slug: a", "", "appSlug missing_key"},
		{"bad", "appSlug: a.b\nslug: c.d\nappVersion: 1.10\nlabels: [x]\ndisabled: 'no'", "appVersion wrong_type; labels[0] bad_label; disabled wrong_type", "appSlug bad_slug; slug bad_slug"},
		{"bad version", "appSlug: a\nappVersion: v 1", "appVersion bad_version", ""},
		{"unknown", "appSlug: a\nconfiguration: {}", "configuration unknown_key", ""},
	}.run(t, dsul.Import, "%s\n")
}

func TestIndex(t *testing.T) {
	t.Parallel()
	checks{
		{"least", "name: x", "", ""},
		{"everything", strings.TrimSpace(`
name: Été d'ici, 2.0
slug: my-workspace
description: {en: x}
photo: https://example.org/a.png
labels: [ab]
config: {schema: {a: {type: string, secret: true}}, block: https://x/y.js, value: {a: '{{secret.x}}', b: '{% {{y}} %}'}}
blocks:
  My Block: {name: {en: x}, description: y, photo: /a.png, url: z, edit: w, block: B, config: {}, automation: a, blocks: [{slug: C}], css: d, schema: {type: object, properties: {e: {type: string}}}}
  Other: {schema: {f: {type: number}}}
registerWorkspace: true
secrets: {schema: {x: {type: string}}}
events: {types: {usage: {schema: {a: {type: number}}}}, mapping: {b: c}}`), "", ""},
		{"missing", "slug: x", "name missing_key", ""},
		{"name", "name: 'a<b>'", "name bad_name", ""},
		{"long name", "name: " + strings.Repeat("x", 61), "name bad_name", ""},
		{"slug", "name: x\nslug: A_b", "slug bad_slug", ""},
		{"photo", "name: x\nphoto: 'javascript:alert(1)'", "photo bad_url", ""},
		{"config", "name: x\nconfig: {values: {}, schema: {a: {type: x}, b: 3}}", "config.values unknown_key; config.schema.a.type bad_value", "config.schema.b wrong_type"},
		{"blocks", "name: x\nblocks: {a.b: {}, '': {}, c: {code: 1, blocks: [{}]}, d: , e: 3}", `blocks["a.b"] bad_slug; blocks[""] bad_slug; blocks.c.code unknown_key; blocks.c.blocks[0].slug missing_key`, "blocks.e wrong_type"},
		{"blocks as a list", "name: x\nblocks: []", "", "blocks wrong_type"},
		{"secrets", "name: x\nsecrets: {a: b, schema: {c: {type: d}}}", "secrets.a unknown_key; secrets.schema.c.type bad_value", ""},
		{"events", "name: x\nevents: {types: {a/b: {schema: {c: {type: d}}}, e: {fields: 1}}, mapping: 3}", `events.types["a/b"] bad_event; events.types["a/b"].schema.c.type bad_value; events.types.e.fields unknown_key`, "events.mapping wrong_type"},
		{"register", "name: x\nregisterWorkspace: maybe", "registerWorkspace wrong_type", ""},
		{"unknown", "name: x\nautomation: {}", "automation unknown_key", ""},
		{
			"repositories", "name: x\nrepositories: {main: {name: M, type: git, mode: write-only, config: {url: u, branch: b, dirpath: d, hostKey: k, " +
				"auth: {user: u, password: p, sshkey: s}}, pull: {exclude: [{path: index}]}}, my repo.2: {name: A, type: archive}, b: {name: B, config: , pull: }}", "", "",
		},
		{
			"repositories with mistakes", "name: x\nrepositories: {-a: {name: x}, b: {name: ' ', type: filesystem, mode: none, config: {token: 1, url: 7, auth: {password: 12345, token: t}}, pull: {include: []}}, " +
				"c: , d: {config: [], pull: {exclude: [{}, index]}}}",
			"repositories.-a bad_id; repositories.b.name bad_name; repositories.b.type bad_value; repositories.b.mode bad_value; repositories.b.config.token unknown_key; " +
				"repositories.b.config.url wrong_type; repositories.b.config.auth.password wrong_type; repositories.b.config.auth.token unknown_key; repositories.b.pull.include unknown_key; " +
				"repositories.c wrong_type; repositories.d.config wrong_type; repositories.d.pull.exclude[0].path missing_key; repositories.d.pull.exclude[1] wrong_type; repositories.d.name missing_key", "",
		},
		{"repositories as a list", "name: x\nrepositories: [a]", "repositories wrong_type", ""},
	}.run(t, dsul.Index, "%s\n")
}

// Keys that the service sets are kept on imports and refused on API writes.
func TestKeysOfTheService(t *testing.T) {
	t.Parallel()
	for kind, test := range map[dsul.Kind]struct{ text, owned, unknown string }{
		dsul.Automation: {"name: x\ndo: []", "id workspaceId events checksum createdAt createdBy updatedAt updatedBy", ""},
		dsul.Page:       {"name: x", "id workspaceId workspaceSlug permissions events checksum createdAt createdBy updatedAt updatedBy", ""},
		dsul.Import:     {"appSlug: x", "id workspaceId automations events blocks photo checksum createdAt createdBy updatedAt updatedBy", ""},
		dsul.Index: {
			"name: x", "checksum createdAt createdBy updatedAt updatedBy",
			"id writeLock platformRepositories customDomains automations pages imports",
		},
	} {
		for code, keys := range map[string]string{"server_owned": test.owned, "unknown_key": test.unknown} {
			for key := range strings.FieldsSeq(keys) {
				for _, value := range []string{"x", "{a: b}", "null"} {
					d, _ := dsul.Parse(kind, "x", fmt.Appendf(nil, "%s\n%s: %s\n", test.text, key, value))
					if problems := d.Check(dsul.Lenient); len(problems) > 0 {
						t.Errorf("%s %s: %v", kind, key, problems)
					}
					if wrong, _ := found(d.Check(dsul.Strict)); !slices.Equal(wrong, []string{key + " " + code}) {
						t.Errorf("%s %s: %v", kind, key, wrong)
					}
				}
			}
		}
	}
	d, _ := dsul.Parse(dsul.Security, "", []byte("anything: goes\n"))
	if problems := d.Check(dsul.Strict); len(problems) > 0 {
		t.Errorf("the security document belongs to package access: %v", problems)
	}
}

// What the service says of a repository is known to imports, and not for a caller to say; a password is never repeated.
func TestRepositoriesKeepSecrets(t *testing.T) {
	t.Parallel()
	d, _ := dsul.Parse(dsul.Index, "", []byte("name: x\nrepositories: {a: {name: A, groups: [base], config: {auth: {password: 42424242, sshkey: [x]}}}}\n"))
	if wrong, _ := found(d.Check(dsul.Lenient)); len(wrong) > 0 {
		t.Errorf("an import: %v", wrong)
	}
	problems := d.Check(dsul.Strict)
	if wrong, _ := found(problems); !slices.Contains(wrong, "repositories.a.groups server_owned") {
		t.Errorf("an edit: %v", wrong)
	}
	if text := fmt.Sprint(problems); strings.Contains(text, "4242") {
		t.Errorf("the password is repeated: %s", text)
	}
}

func TestMessagesSayWhereAndWhat(t *testing.T) {
	t.Parallel()
	d := parse(t, `name: x
whne: {}
do:
  - set:
      name: a
      valeu: 1
  - set:
      name: b
      value: |
        first line
        {% 1 + %} here
`)
	problems := d.Check(dsul.Strict)
	for i, want := range []struct {
		line, column int
		message      string
	}{
		{2, 1, `there is no key "whne" here; did you mean when?`},
		{6, 7, `there is no key "valeu" here; did you mean value?`},
		{11, 0, `the expression " 1 + " cannot be read`},
	} {
		if i >= len(problems) {
			t.Fatalf("%v", problems)
		}
		if p := problems[i]; p.Line != want.line || p.Column != want.column || !strings.HasPrefix(p.Message, want.message) {
			t.Errorf("%+v", p)
		}
	}
	err := problems.Err()
	if err == nil || !strings.Contains(err.Error(), "validation_failed") {
		t.Error(err)
	}
}

// However much is wrong, the answer stays small.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	d := parse(t, "name: x\ndo:\n"+strings.Repeat("  - {set: {nam: a, valu: b}}\n", 5000))
	if problems := d.Check(dsul.Strict); len(problems) > 1000 {
		t.Errorf("%d problems", len(problems))
	}
}
