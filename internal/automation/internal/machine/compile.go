package machine

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/dsul/expr/value"
)

// Instruction compiles the value of an instruction's key.
type Instruction func(c *Compilation, n *yaml.Node) (Step, error)

// Instructions are the language, by name. Any other key is a call of an automation.
type Instructions map[string]Instruction

// Compilation compiles automations.
type Compilation struct {
	instructions Instructions
	// instruction is the key that is being compiled, for messages.
	instruction string
}

// Compile makes an automation of its definition: do and output, and the flags. Mistakes make it Broken, they are no error:
// the other automations of the workspace run. A mistake in one instruction is met when that instruction is reached, as it
// would be if it was read only then. The arguments are set by who knows schemas.
func Compile(instructions Instructions, home *Home, slug string, definition *yaml.Node) *Automation {
	c := &Compilation{instructions: instructions}
	a := &Automation{Slug: slug, Home: home}
	definition = through(definition)
	if definition == nil || definition.Kind != yaml.MappingNode {
		a.Broken = Fail(InvalidInstruction, "The automation "+slug+" cannot be read; its definition must be a map of keys and values")
		return a
	}
	a.Private, a.Disabled = isTrue(Child(definition, "private")), isTrue(Child(definition, "disabled"))
	if action := Child(Child(definition, "authorizations"), "action"); isText(action) {
		a.Action = action.Value
	}
	if a.Body, a.Broken = c.Steps(Child(definition, "do")); a.Broken != nil {
		return a
	}
	a.Output = c.output(Child(definition, "output"))
	return a
}

// output compiles what an automation gives back: nil when what is written is nothing, 0, "" or false.
func (c *Compilation) output(n *yaml.Node) Value {
	if n == nil {
		return nil
	}
	made, err := c.compile(n)
	if err != nil {
		return func(*Frame) (any, error) { return nil, err }
	}
	if made.constant() && !value.Truthy(made.value) {
		return nil
	}
	return made.program()
}

// Instruction is the key of the instruction that is being compiled.
func (c *Compilation) Instruction() string { return c.instruction }

// Invalid is the failure of an instruction whose parameters cannot be used.
func (c *Compilation) Invalid(reason string) *Failure {
	return Fail(InvalidInstruction, fmt.Sprintf("Invalid %s instruction: %s", c.instruction, reason))
}

func isNull(n *yaml.Node) bool {
	return n == nil || n.Kind == yaml.ScalarNode && dsul.Tag(n) == "!!null"
}

func isText(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && dsul.Tag(n) == "!!str"
}

func isTrue(n *yaml.Node) bool {
	return n != nil && n.Kind == yaml.ScalarNode && dsul.Tag(n) == "!!bool" && (n.Value[0] == 't' || n.Value[0] == 'T')
}
