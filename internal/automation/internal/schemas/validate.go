package schemas

import (
	"errors"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// schema checks payloads. It is compiled once, when it is first needed.
type schema struct {
	compiled func() (*jsonschema.Schema, error)
}

// address is where the schema of an automation is for the validator: nowhere.
const address = "atelier:schema"

func newSchema(argument *value.Object) *schema {
	return &schema{compiled: sync.OnceValues(func() (*jsonschema.Schema, error) {
		compiler := jsonschema.NewCompiler()
		compiler.DefaultDraft(jsonschema.Draft7)
		compiler.UseLoader(nowhere{})
		for _, format := range formats() {
			compiler.RegisterFormat(format)
		}
		if err := compiler.AddResource(address, clean(argument)); err != nil {
			return nil, err
		}
		return compiler.Compile(address)
	})}
}

// nowhere keeps schemas from reading files.
type nowhere struct{}

// Load implements jsonschema.URLLoader.
func (nowhere) Load(string) (any, error) {
	return nil, errors.New("a schema can only refer to what is in itself")
}

// check tells what is wrong with a payload.
func (s *schema) check(payload *value.Object) error {
	compiled, err := s.compiled()
	if err != nil {
		return machine.Fail(machine.InvalidArguments, "Invalid arguments schema: a schema of the automation cannot be used; correct its patterns and references").Because(err)
	}
	if payload == nil {
		payload = value.NewObject(0)
	}
	err = compiled.Validate(plain(payload))
	if err == nil {
		return nil
	}
	failed, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return machine.Fail(machine.InvalidArguments, "Invalid arguments").Because(err)
	}
	return machine.Fail(machine.InvalidArguments, "Invalid arguments").With(detailsOf(failed))
}
