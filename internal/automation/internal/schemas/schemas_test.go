package schemas_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/schemas"
	"atelier/internal/dsul"
	"atelier/internal/dsul/expr/value"
)

// arguments compiles what an automation says of its payload.
func arguments(t *testing.T, text string) machine.Arguments {
	t.Helper()
	doc, problems := dsul.Parse(dsul.Automation, "a", []byte(text))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return schemas.Compile(doc.Root)
}

func object(t *testing.T, text string) *value.Object {
	t.Helper()
	v, err := value.Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	return v.(*value.Object)
}

// wrong gives the details of a failure as JSON lines: keyword, instancePath, schemaPath, params and message.
func wrong(t *testing.T, err error) []string {
	t.Helper()
	if err == nil {
		return nil
	}
	failure, ok := errors.AsType[*machine.Failure](err)
	if !ok || failure.Name != machine.InvalidArguments {
		t.Fatalf("%v is no InvalidArgumentsError", err)
	}
	var lines []string
	details, _ := failure.Details.([]any)
	for _, one := range details {
		d := one.(map[string]any)
		params, _ := json.Marshal(d["params"])
		lines = append(lines, strings.Join([]string{d["keyword"].(string), d["instancePath"].(string), d["schemaPath"].(string), string(params), d["message"].(string)}, " | "))
	}
	if lines == nil {
		lines = []string{failure.Message}
	}
	return lines
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const all = "validateArguments: true\ndo: []\narguments:\n"
	for name, test := range map[string]struct {
		definition, payload string
		want                []string
	}{
		"right":                         {all + "  n: {type: number}", `{"n": 3}`, nil},
		"no coercion":                   {all + "  n: {type: number}", `{"n": "3"}`, []string{`type | /n | #/properties/n/type | {"type":"number"} | must be number`}},
		"arguments are never required":  {all + "  n: {type: number, required: true}", `{}`, nil},
		"extra fields are allowed":      {all + "  n: {type: number}", `{"other": [1]}`, nil},
		"integers may be written as so": {all + "  n: {type: integer}", `{"n": 3.0}`, nil},
		"half is no integer":            {all + "  n: {type: integer}", `{"n": 3.5}`, []string{`type | /n | #/properties/n/type | {"type":"integer"} | must be integer`}},
		"nested required": {all + "  o: {type: object, required: [a], properties: {a: {type: string}}}", `{"o": {}}`, []string{
			`required | /o | #/properties/o/required | {"missingProperty":"a"} | must have required property 'a'`,
		}},
		"additional": {all + "  o: {type: object, additionalProperties: false, properties: {a: {}}}", `{"o": {"a": 1, "b~/": 2}}`, []string{
			`additionalProperties | /o | #/properties/o/additionalProperties | {"additionalProperty":"b~/"} | must NOT have additional properties`,
		}},
		"unknown keywords": {all + "  s: {type: string, secret: true, 'ui:widget': text, event: true, extends: {a: 1}}", `{"s": "x"}`, nil},
		"localized text":   {all + "  s: {type: 'localized:string'}", `{"s": {"en": "x", "fr": "y"}}`, nil},
		"localized single": {all + "  s: {type: 'localized:string'}", `{"s": "x"}`, nil},
		"localized wrong": {all + "  s: {type: 'localized:boolean'}", `{"s": 1}`, []string{
			`anyOf | /s | #/properties/s/allOf/0/anyOf | {} | must match a schema in anyOf`,
			`type | /s | #/properties/s/allOf/0/anyOf/0/type | {"type":"boolean"} | must be boolean`,
			`type | /s | #/properties/s/allOf/0/anyOf/1/type | {"type":"object"} | must be object`,
		}},
		"unknown type":             {all + "  s: {type: date}", `{"s": 1}`, nil},
		"nullable":                 {all + "  s: {type: string, nullable: true}", `{"s": null}`, nil},
		"null":                     {all + "  s: {type: string}", `{"s": null}`, []string{`type | /s | #/properties/s/type | {"type":"string"} | must be string`}},
		"enum":                     {all + "  s: {enum: [a, b]}", `{"s": "c"}`, []string{`enum | /s | #/properties/s/enum | {"allowedValues":["a","b"]} | must be equal to one of the allowed values`}},
		"enum from text":           {all + "  s: {enum: '{{config.x}}'}", `{"s": "c"}`, nil},
		"pattern":                  {all + "  s: {pattern: '^a+$'}", `{"s": "b"}`, []string{`pattern | /s | #/properties/s/pattern | {"pattern":"^a+$"} | must match pattern "^a+$"`}},
		"pattern with a backslash": {all + "  s: {pattern: '\\d'}", `{"s": "b"}`, []string{`pattern | /s | #/properties/s/pattern | {"pattern":"\\d"} | must match pattern "\d"`}},
		"length":                   {all + "  s: {minLength: 2, maxLength: 3}", `{"s": "a"}`, []string{`minLength | /s | #/properties/s/minLength | {"limit":2} | must NOT have fewer than 2 characters`}},
		"minimum":                  {all + "  n: {minimum: 1.5}", `{"n": 1}`, []string{`minimum | /n | #/properties/n/minimum | {"comparison":"\u003e=","limit":1.5} | must be >= 1.5`}},
		"items":                    {all + "  l: {type: array, items: {type: string}, minItems: 3}", `{"l": ["a", 2]}`, []string{`minItems | /l | #/properties/l/minItems | {"limit":3} | must NOT have fewer than 3 items`, `type | /l/1 | #/properties/l/items/type | {"type":"string"} | must be string`}},
		"tuple":                    {all + "  l: {items: [{type: string}, {type: number}]}", `{"l": ["a", "b"]}`, []string{`type | /l/1 | #/properties/l/items/1/type | {"type":"number"} | must be number`}},
		"one of values":            {all + "  s: {oneOf: [a, b]}", `{"s": "b"}`, nil},
		"a file is not read": {all + "  s: {$ref: 'file:///etc/passwd'}", `{"s": "b"}`, []string{
			"Invalid arguments schema: a schema of the automation cannot be used; correct its patterns and references",
		}},
		"an id leads nowhere": {all + "  s: {$id: 'http://example.test/x', $schema: 'http://example.test/y', type: string}", `{"s": "b"}`, nil},
		"a pattern that is not linear": {all + "  s: {pattern: '(?=a)'}", `{}`, []string{
			"Invalid arguments schema: a schema of the automation cannot be used; correct its patterns and references",
		}},
		"workspaceId":    {all + "  s: {format: workspaceId}", `{"s": "a_b-123"}`, nil},
		"no workspaceId": {all + "  s: {format: workspaceId}", `{"s": "abc"}`, []string{`format | /s | #/properties/s/format | {"format":"workspaceId"} | must match format "workspaceId"`}},
		"no objectId":    {all + "  s: {format: objectId}", `{"s": "507f1f77bcf86cd79943901z"}`, []string{`format | /s | #/properties/s/format | {"format":"objectId"} | must match format "objectId"`}},
		"identifier":     {all + "  s: {format: identifier}", `{"s": "an identifier"}`, nil},
		"name":           {all + "  s: {format: name}", `{"s": "Jean-Luc O'Neil"}`, nil},
		"a day by form":  {all + "  s: {format: date}", `{"s": "2026-02-31"}`, nil},
		"no day":         {all + "  s: {format: date}", `{"s": "tomorrow"}`, []string{`format | /s | #/properties/s/format | {"format":"date"} | must match format "date"`}},
		"no email":       {all + "  s: {format: email}", `{"s": "a@"}`, []string{`format | /s | #/properties/s/format | {"format":"email"} | must match format "email"`}},
		"unknown format": {all + "  s: {format: colour}", `{"s": "red"}`, nil},
		"not validated":  {"do: []\narguments: {n: {type: number}}", `{"n": "3"}`, nil},
		"validated: no":  {"do: []\nvalidateArguments: false\narguments: {n: {type: number}}", `{"n": "3"}`, nil},
		"schemas win":    {all + "  n: {type: number}\nschemas: [{payload: {s: {type: string}}}]", `{"n": "3", "s": "x"}`, nil},
		"schemas validate": {all + "  n: {type: number}\nschemas: [{payload: {type: object, required: [s]}}]", `{"n": 3}`, []string{
			`required |  | #/required | {"missingProperty":"s"} | must have required property 's'`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := wrong(t, arguments(t, test.definition).Check(object(t, test.payload)))
			if !slices.Equal(got, test.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

func TestBranches(t *testing.T) {
	t.Parallel()
	of := arguments(t, `
validateArguments: true
schemas:
  - conditions: {method: post, body.kind: 1}
    payload: {body: {type: object, required: [a]}}
  - conditions: {query.version: 'true'}
    payload: {query: {type: object, required: [b]}}
  - conditions: {method: {}}
    payload: {type: object, required: [never]}
  - conditions: {method: null}
    payload: {type: object, required: [never]}
  - conditions: {method: GET}
do: []
`)
	for payload, want := range map[string]string{
		`{"method": "POST", "body": {"kind": "1"}}`:     "a",
		`{"method": "post", "body": {"kind": 1}}`:       "a",
		`{"method": "GET", "query": {"version": true}}`: "b",
		`{"method": "get"}`:                             "",
		`{"method": "PUT"}`:                             "conditions",
		`{"method": "POST", "body": {"kind": "x"}}`:     "conditions",
		`{}`: "conditions",
	} {
		got := strings.Join(wrong(t, of.Check(object(t, payload))), "\n")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", payload, got, want)
		}
	}
}

func TestNothingIsSaid(t *testing.T) {
	t.Parallel()
	if of := arguments(t, "do: []\nvalidateArguments: true"); of != nil {
		t.Errorf("%v", of)
	}
}

const marked = `
arguments:
  token: {type: string, secret: true}
  deep: {type: object, properties: {key: {type: string, secret: true}, gone: {redact: true}}}
  list: {type: array, items: {type: object, properties: {x: {redact: true, secret: true}}}}
schemas:
  - conditions: {kind: a}
    payload: {password: {type: string, secret: true, redact: true}}
    output: {type: object, properties: {result: {type: object, properties: {pin: {redact: true}}}}}
  - payload: {}
do: []
`

func TestSecrets(t *testing.T) {
	t.Parallel()
	of := arguments(t, marked)
	for payload, want := range map[string][]string{
		`{"kind": "a", "token": " t1 ", "password": "p", "deep": {"key": "k"}}`: {"t1", "k", "p"},
		`{"kind": "b", "token": "t1", "password": "p", "deep": "text"}`:         {"t1"},
		`{"token": 5, "deep": {"key": ""}, "list": [{"x": "no"}]}`:              nil,
	} {
		if got := slices.Collect(of.Secrets(object(t, payload))); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", payload, got, want)
		}
	}
	for range of.Secrets(object(t, `{"token": "a", "deep": {"key": "b"}}`)) {
		break // whoever has enough may stop
	}
}

func TestRedact(t *testing.T) {
	t.Parallel()
	of := arguments(t, marked)
	for _, test := range []struct{ payload, output, wantPayload, wantOutput string }{
		{
			`{"kind":"a","password":"p","deep":{"gone":1,"key":"k"},"list":[{"x":1}]}`, `{"result":{"pin":1,"n":2}}`,
			`{"kind":"a","deep":{"key":"k"},"list":[{"x":1}]}`, `{"result":{"n":2}}`,
		},
		{`{"kind":"b","password":"p"}`, `{"result":{"pin":1}}`, `{"kind":"b","password":"p"}`, `{"result":{"pin":1}}`},
	} {
		before := object(t, test.payload)
		payload, output := of.Redact(before, object(t, test.output))
		if got, _ := value.JSON(payload, "", 1000); got != test.wantPayload {
			t.Errorf("payload: %s, want %s", got, test.wantPayload)
		}
		if got, _ := value.JSON(output, "", 1000); got != test.wantOutput {
			t.Errorf("output: %s, want %s", got, test.wantOutput)
		}
		if kept, _ := value.JSON(before, "", 1000); kept != test.payload {
			t.Errorf("the payload itself was changed: %s", kept)
		}
	}
	if payload, output := of.Redact("text", nil); payload != "text" || output != nil {
		t.Errorf("%v %v", payload, output)
	}
}

// What is not a value of JSON, such as the stream of an answer, is nothing to a schema.
func TestStrangers(t *testing.T) {
	t.Parallel()
	of := arguments(t, "validateArguments: true\ndo: []\nschemas: [{payload: {type: object, additionalProperties: false, properties: {a: {}}}}]")
	payload := machine.Payload("a", 1.0, "$http", make(chan int), "none", value.Undefined{})
	if err := of.Check(payload); err != nil {
		t.Errorf("%v", err)
	}
}

func TestConcurrentChecks(t *testing.T) {
	t.Parallel()
	of := arguments(t, "validateArguments: true\ndo: []\narguments: {n: {type: number}}")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 50 {
				if of.Check(machine.Payload("n", "x")) == nil || of.Check(machine.Payload("n", 1.0)) != nil {
					t.Error("the check is wrong")
				}
			}
		})
	}
	group.Wait()
}

// Hostile payloads and schemas cost what they are long.
func TestManyMistakes(t *testing.T) {
	t.Parallel()
	of := arguments(t, "validateArguments: true\ndo: []\narguments: {l: {type: array, items: {type: number}}}")
	list := make([]any, 10_000)
	for i := range list {
		list[i] = "x"
	}
	if got := wrong(t, of.Check(machine.Payload("l", list))); len(got) != 100 {
		t.Errorf("%d mistakes are told", len(got))
	}
}
