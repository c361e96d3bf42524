// Package schemas checks what automations are called with: their arguments, or the schemas that replace them. It also finds
// what in a payload is marked as secret, or is to be left out of technical events.
package schemas

import (
	"iter"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/expr/value"
)

// Compile reads what a definition says of the payload of its automation; nil when it says nothing. The schemas themselves are
// compiled when a payload is first checked.
func Compile(definition *yaml.Node) machine.Arguments {
	validate := assembly.Value(assembly.At(definition, "validateArguments")) == true
	arguments := fields(assembly.Value(assembly.At(definition, "arguments")))
	branches := branchesOf(assembly.Value(assembly.At(definition, "schemas")))
	if arguments == nil && len(branches) == 0 {
		return nil
	}
	c := &checked{validate: validate, branches: branches, common: marksOf(arguments)}
	if len(branches) == 0 {
		c.branches = []*branch{{payload: newSchema(arguments)}}
	}
	c.marked = c.common.any() || anyMarked(c.branches)
	return c
}

// checked is what an automation says of its payload. It is immutable, and safe for concurrent use.
type checked struct {
	validate bool
	// branches are tried in their order; the first that matches holds.
	branches []*branch
	// common are the marks of the arguments, which hold in every branch.
	common marks
	marked bool
}

// branch is what holds for the payloads that fulfil its conditions.
type branch struct {
	conditions []condition
	// never tells that a condition cannot be fulfilled.
	never   bool
	payload *schema
	// in and out are the marks of the payload and of the output.
	in, out marks
}

func branchesOf(said any) (all []*branch) {
	list, _ := said.([]any)
	for _, item := range list {
		of, ok := item.(*value.Object)
		if !ok {
			continue
		}
		b := &branch{in: marksOf(fields(of.Get("payload"))), out: marksOf(fields(of.Get("output")))}
		b.conditions, b.never = conditionsOf(of.Get("conditions"))
		if payload := fields(of.Get("payload")); payload != nil {
			b.payload = newSchema(payload)
		}
		all = append(all, b)
	}
	return all
}

// fields makes one typed argument of type object of what says which fields there are: that already, or a map of typed
// arguments. It is nil when nothing is said.
func fields(said any) *value.Object {
	of, ok := said.(*value.Object)
	if !ok {
		return nil
	}
	if _, typed := of.Get("type").(string); typed {
		return of
	}
	whole := value.NewObject(2)
	whole.Set("type", "object")
	whole.Set("properties", of)
	return whole
}

// Check implements machine.Arguments.
func (c *checked) Check(payload *value.Object) error {
	if !c.validate {
		return nil
	}
	b := c.active(payload)
	if b == nil {
		return machine.Fail(machine.InvalidArguments, "Invalid arguments: the payload fulfils the conditions of no schema").With([]any{map[string]any{
			"instancePath": "", "schemaPath": "#/schemas", "keyword": "conditions", "params": map[string]any{}, "message": "must fulfil the conditions of one of the schemas",
		}})
	}
	if b.payload == nil {
		return nil
	}
	return b.payload.check(payload)
}

// active is the branch that holds for a payload; nil when none does.
func (c *checked) active(payload *value.Object) *branch {
	for _, b := range c.branches {
		if b.matches(payload) {
			return b
		}
	}
	return nil
}

// Secrets implements machine.Arguments.
func (c *checked) Secrets(payload *value.Object) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !c.marked || payload == nil {
			return
		}
		give := func(v any) bool {
			text, isText := v.(string)
			text = strings.TrimSpace(text)
			return !isText || text == "" || yield(text)
		}
		if !c.common.each(secretMark, payload, give) {
			return
		}
		if b := c.active(payload); b != nil {
			b.in.each(secretMark, payload, give)
		}
	}
}

// Redact implements machine.Arguments.
func (c *checked) Redact(payload, output any) (any, any) {
	if !c.marked {
		return payload, output
	}
	object, _ := payload.(*value.Object)
	var b *branch
	if object != nil {
		b = c.active(object)
	}
	payload = c.common.without(payload)
	if b == nil {
		return payload, output
	}
	return b.in.without(payload), b.out.without(output)
}

func anyMarked(branches []*branch) bool {
	for _, b := range branches {
		if b.in.any() || b.out.any() {
			return true
		}
	}
	return false
}
