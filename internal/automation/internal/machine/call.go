package machine

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul/expr/value"
)

// call is the instruction of every key that is none: it calls the automation of that name.
func call(slug string) Instruction {
	return func(c *Compilation, n *yaml.Node) (Step, error) {
		compute, err := c.Parameters(n)
		if err != nil {
			return nil, err
		}
		return func(f *Frame) error {
			arguments, err := compute(f)
			if err != nil {
				return err
			}
			automation, err := f.Find(slug)
			if err != nil {
				return err
			}
			result, err := f.Call(automation, arguments)
			if err != nil {
				return err
			}
			return f.Output(arguments.Get("output"), result)
		}, nil
	}
}

// Find gives the automation that a name means in this frame: one of the same home, or instance.slug of an app in it.
func (f *Frame) Find(name string) (*Automation, error) {
	home, slug, inside := f.automation.Home, name, false
	if instance, rest, ok := strings.Cut(name, "."); ok {
		if home = home.Instances[instance]; home == nil {
			return nil, unknown(name)
		}
		slug, inside = rest, true
	}
	automation, ok := home.Automations[slug]
	if !ok || automation.Disabled || inside && automation.Private {
		return nil, unknown(name)
	}
	return automation, nil
}

func unknown(name string) *Failure {
	return Fail(ObjectNotFound, "Automation not found").With(Payload("automation", name))
}

// Call runs another automation, one in the other.
func (f *Frame) Call(automation *Automation, payload *value.Object) (any, error) {
	if err := f.settle(); err != nil { // a run that is over begins nothing
		return value.Undefined{}, err
	}
	if payload == nil {
		payload = value.NewObject(0)
	}
	place := append(slices.Clone(f.place), int32(f.calls)) //nolint:gosec // bounded by the steps of a run
	f.calls++
	callee := &Frame{place: place, step: f.step, stint: f.stint, invocation: &invocation{
		machine: f.machine, run: f.run, root: f.root, automation: automation, payload: payload, ctx: f.ctx, depth: f.depth + 1, nested: true,
		trigger: trigger{kind: "automation", value: f.automation.FullSlug()},
	}}
	result := callee.execute()
	return result.Output, result.Err
}
