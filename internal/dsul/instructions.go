package dsul

import (
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/expr"
)

// instructionTable is the language: one line an instruction, with its parameters. Any other key is a call of an automation.
func instructionTable() map[string]rule {
	return map[string]rule{
		"set":             shape(fields{"name!": target, "value": value, "type": choiceOf("replace", "merge", "push"), "clone": toggle, "interface": text, "lifespan": number}),
		"delete":          shape(fields{"name!": target}),
		"conditions":      conditions,
		"repeat":          shape(fields{"on": value, "until": value, "do!": steps, "batch": or(shape(fields{"size": number, "interval": number}))}),
		"all":             either(steps, shape(fields{"do!": steps})),
		"try":             shape(fields{"do!": steps, "catch": steps, "finally": steps}),
		"break":           shape(fields{"scope": choiceOf("automation", "all", "repeat"), "payload": value}),
		"emit":            shape(fields{"event!": emitted, "payload": payload, "target": eventTarget(), "options": eventOptions(), "private": toggle, "autocomplete": free, "output": target}),
		"wait":            shape(fields{"oneOf": or(list(or(shape(fields{"event!": emitted, "filters": record(), "cancelTriggers": toggle})))), "timeout": number, "output": target}),
		"fetch":           shape(fetchFields()),
		"run":             shape(fields{"module!": text, "function!": text, "parameters": value, "onError": choiceOf("break", "emit", "continue"), "output": target}),
		"runWorkflow":     shape(fields{"workflow!": text, "parameters": value, "wait": toggle, "output": target}),
		"rateLimit":       shape(fields{"name!": text, "consumer": text, "window?": number, "limit?": number, "consume": number, "break": toggle, "output": target}),
		"auth":            shape(fields{"workspace": toggle, "service": value, "with": value, "output": target}),
		"createUserTopic": shape(fields{"topic!": text, "userIds": value, "output": target}),
		"joinUserTopic":   shape(fields{"topic!": text, "userIds": value, "create": toggle, "output": target}),
		"comment":         free,
	}
}

func eventTarget() rule {
	return or(shape(fields{"userId": text, "sessionId": text, "userTopic": text, "currentSocket": toggle}))
}

func eventOptions() rule {
	return or(shape(fields{"persist": toggle, "aggPayload": value, "async": toggle}))
}

func fetchFields() fields {
	stream := fields{
		"event!": emitted, "payload": value, "endChunk": value, "target": eventTarget(), "options": eventOptions(),
		"concatenate": or(shape(fields{"path": text, "throttle": number})),
	}
	auth := fields{
		"svc":    or(shape(fields{"forwardWorkspaceAuth": toggle})),
		"awsv4":  or(shape(fields{"accessKeyId!": text, "secretAccessKey!": text, "sessionToken": text, "service": text, "region": text})),
		"basic":  or(shape(fields{"user": text, "password": text})),
		"oauth2": value,
	}
	part := fields{"fieldname!": text, "value": value, "filename": text, "contentType": text}
	return fields{
		"url!": text, "method": text, "headers": record(), "query": record(), "body": value, "multipart": or(list(or(shape(part)))),
		"emitErrors": toggle, "stream": or(shape(stream)), "outputMode": choiceOf("body", "detailed_response", "data_url", "base64"),
		"output": target, "svcApiKey": or(shape(fields{"name": text})), "allowSelfSignedCert": toggle, "auth": or(shape(auth)),
	}
}

// steps is the rule of a list of instructions.
func steps(c *checker, at *where, n *yaml.Node) {
	if c.commands == nil {
		c.commands = instructionTable()
	}
	if isNull(n) {
		return // a branch without instructions
	}
	if n.Kind != yaml.SequenceNode {
		c.fail(at, n, "wrong_type", "this must be a list of instructions")
		return
	}
	for i, item := range n.Content {
		c.step(at.item(i), through(item))
	}
}

// step checks one instruction: a map with one key. The empty map does nothing.
func (c *checker) step(at *where, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		c.fail(at, n, "wrong_type", "an instruction is a map with one key, such as \"set:\"")
		return
	}
	all := entries(n)
	if len(all) == 0 {
		return
	}
	for _, e := range all[1:] {
		c.mind(at.at(e.key), e.at, "two_instructions", fmt.Sprintf("an instruction has one key; %s would be ignored: put it in an item of its own", shorten(e.key)))
	}
	first := all[0]
	inside := at.at(first.key)
	if isNull(first.value) {
		if first.key != "comment" {
			c.fail(inside, first.at, "missing_value", fmt.Sprintf("%s has no parameters; write %s: {} when it needs none", shorten(first.key), shorten(first.key)))
		}
		return
	}
	if command, ok := c.commands[first.key]; ok {
		command(c, inside, first.value)
		return
	}
	c.call(inside, first)
}

// call checks the call of an automation, as far as that can be done without knowing it.
func (c *checker) call(at *where, e entry) {
	instance, slug, nested := strings.Cut(e.key, ".")
	if !nested {
		slug = instance
	}
	if !ValidSlug(instance) || !ValidSlug(strings.ReplaceAll(slug, ".", "/")) {
		c.mind(at, e.at, "bad_call", fmt.Sprintf("%q is neither an instruction nor the slug of an automation", shorten(e.key)))
	}
	if e.value.Kind != yaml.MappingNode && !dynamic(e.value) {
		c.fail(at, e.value, "wrong_type", "the arguments of an automation are a map of keys and values")
		return
	}
	for _, argument := range entries(e.value) {
		if argument.key == "output" && isText(argument.value) {
			target(c, at.at(argument.key), argument.value)
		} else {
			value(c, at.at(argument.key), argument.value)
		}
	}
	c.template(at, e.value)
}

// conditions is the rule of branches: expressions and what to do when they hold.
func conditions(c *checker, at *where, n *yaml.Node) {
	if !c.isMap(at, n) {
		return
	}
	for _, e := range entries(n) {
		if e.key != "default" {
			c.condition(at.at(e.key), e)
		}
		steps(c, at.at(e.key), e.value)
	}
}

func (c *checker) condition(at *where, e entry) {
	_, err := expr.Parse(e.key)
	if err == nil {
		return
	}
	message := err.Error()
	if broken, ok := errors.AsType[*expr.SyntaxError](err); ok {
		message = fmt.Sprintf("%s (at character %d)", broken.Message, broken.Offset+1)
	}
	c.fail(at, e.at, "bad_expression", fmt.Sprintf("the condition %q cannot be read: %s", shorten(e.key), message))
}
