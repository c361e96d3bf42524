package machine

import (
	"errors"
	"fmt"
	"strings"

	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
)

// Target is the name of a variable that is set: its path.
type Target struct {
	name string
	path []string // at least one
	push bool     // it ended with []
}

// Name is the name as it is written.
func (t Target) Name() string { return t.name }

// ParseTarget reads the name of a variable: a, a.b, a[0], a["x.y"], a[] to append.
func ParseTarget(name string) (Target, error) {
	if path, ok := plainPath(name); ok {
		return Target{name: name, path: path}, nil
	}
	steps, push, err := expr.ParseTarget(name)
	if err != nil {
		return Target{}, unreadable(err, name)
	}
	path := make([]string, len(steps))
	for i, step := range steps {
		path[i] = step.Key
	}
	return Target{name: name, path: path, push: push}, nil
}

// plainPath reads a name of words with dots between them, as most are.
func plainPath(name string) ([]string, bool) {
	begins := true
	for i := range len(name) {
		switch c := name[i]; {
		case c == '.' && begins, c == '0' && begins: // an empty word, or a number that may have to be written otherwise
			return nil, false
		case c == '.':
			begins = true
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '$', c == '-':
			begins = false
		default:
			return nil, false
		}
	}
	if begins || len(name) > longestPlain {
		return nil, false
	}
	return strings.Split(name, "."), true
}

// longestPlain keeps long names for who knows the limits of a path.
const longestPlain = 512

// Set sets a variable, as the instruction set does without a type.
func (f *Frame) Set(path string, v any) error {
	target, err := ParseTarget(path)
	if err != nil {
		return err
	}
	return f.Change(Replace, target, v)
}

// Change changes a variable by the rules of set and delete: kind is Replace, Merge, Push or Delete. A local variable is changed
// at once, one of a context when that is kept, and a stream gets the value.
func (f *Frame) Change(kind string, target Target, v any) error {
	root := target.path[0]
	if scopes := f.run.Scopes; scopes != nil && scopes.Has(root) {
		return f.changeScope(target.edit(kind, v), target)
	}
	e := target.edit(kind, v)
	vars := f.variables(root)
	e.frame, e.vars = f, vars
	err := vars.change(&e, target.path)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errSink) && kind != Delete:
		defer f.Away()() // who reads it may be slow
		return e.sink.Push(f, wrapped(e.rest, v))
	default:
		return blocked(err, target, v)
	}
}

// edit makes the change of a target: [] at its end pushes, but a list is merged item by item.
func (t Target) edit(kind string, v any) edit {
	e := edit{kind: kind, value: v}
	if _, list := v.([]any); t.push && kind != Delete {
		if e.each = kind == Merge && list; !e.each {
			e.kind = Push
		}
	}
	return e
}

func (f *Frame) changeScope(e edit, target Target) error {
	defer f.database()()
	return f.run.Scopes.Change(f, Change{
		Kind: e.kind, Root: target.path[0], Path: target.path[1:], Value: e.value,
		Apply: func(old any) (any, error) {
			made, err := e.apply(old, target.path[1:])
			if err != nil {
				return nil, blocked(err, target, e.value)
			}
			if _, ok := made.(*value.Object); !ok {
				return nil, blocked(errBlocked, target, e.value)
			}
			return made, nil
		},
	})
}

// wrapped puts a value at some keys of nothing: a key of a stream is a part of what it takes.
func wrapped(keys []string, v any) any {
	for i := len(keys) - 1; i >= 0; i-- {
		v = Payload(keys[i], v)
	}
	return v
}

// blocked says what was to be set where a value stands in the way.
func blocked(err error, target Target, v any) error {
	if !errors.Is(err, errBlocked) && !errors.Is(err, errSink) {
		return err
	}
	return Fail(InvalidInstruction, fmt.Sprintf("Invalid set instruction: %q leads through a value that has no keys; set that one first", target.name)).
		With(Payload("variable", target.name, "value", v))
}

// Output sets the variable that an instruction names for what it gives back. Undefined sets nothing. A name that cannot be used
// is reported, and the automation goes on.
func (f *Frame) Output(name, result any) error {
	if !value.Exists(name) || result == any(value.Undefined{}) {
		return nil
	}
	text, ok := name.(string)
	if !ok {
		return f.badOutput(name, "the name of a variable is a text")
	}
	if text == "" {
		return nil
	}
	err := f.Set(text, result)
	if failure, ok := errors.AsType[*Failure](err); ok && (failure.Name == InvalidVariable || failure.Name == InvalidInstruction) {
		return f.badOutput(name, failure.Message)
	}
	if err == nil && f.step != nil {
		f.traceOutput(Payload(text, result))
	}
	return err
}

func (f *Frame) badOutput(name any, reason string) error {
	f.Report(Fail(InvalidOutput, "Invalid output: "+reason).With(Payload("output", name)))
	return nil
}
