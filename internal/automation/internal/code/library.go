package code

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"atelier/internal/automation/internal/code/wire"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// library is the functions of an owner as a worker knows them.
type library struct {
	// from is what they were made of: as long as it is the same object, nothing has changed.
	from      *value.Object
	functions []wire.Function
	sum       [sha256.Size]byte
	size      int // bytes on the wire
}

// newLibrary reads definitions of functions. Those in a language that is not available are left out: calling one says so.
func newLibrary(from *value.Object) (*library, error) {
	l := &library{from: from, functions: []wire.Function{}}
	if from != nil {
		for name, definition := range from.All() {
			f, ok := definition.(*value.Object)
			if !ok || checkLanguage(f.Get("language")) != nil {
				continue
			}
			l.functions = append(l.functions, wire.Function{Name: name, Parameters: parameterNames(f.Get("parameters")), Code: codeOf(f)})
		}
	}
	text, err := json.Marshal(l.functions)
	if err != nil {
		return nil, fmt.Errorf("write functions: %w", err)
	}
	l.sum, l.size = sha256.Sum256(text), len(text)
	return l, nil
}

// find checks that there is a function of this name which can be called.
func find(functions *value.Object, name string) error {
	var definition any = value.Undefined{}
	if functions != nil {
		definition = functions.Get(name)
	}
	f, ok := definition.(*value.Object)
	if !ok {
		return machine.Fail(machine.ObjectNotFound, fmt.Sprintf("There is no function %q: define it in the configuration of the app, under functions.", name)).
			With(map[string]any{"path": "/run/" + name, "function": name})
	}
	return checkLanguage(f.Get("language"))
}

// parameterNames are the keys of the parameters, in their order. A list of names will do too.
func parameterNames(parameters any) []string {
	names := []string{}
	switch p := parameters.(type) {
	case *value.Object:
		for name := range p.All() {
			names = append(names, name)
		}
	case []any:
		for _, one := range p {
			if name, ok := one.(string); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

func codeOf(f *value.Object) string {
	text, _ := f.Get("code").(string)
	return text
}

// checkLanguage refuses what cannot be run here.
func checkLanguage(language any) error {
	if !value.Exists(language) {
		return nil
	}
	switch name := strings.ToLower(value.String(language)); name {
	case "", "nodejs", "node", "javascript", "js":
		return nil
	default:
		return machine.Fail(machine.Configuration, fmt.Sprintf("Custom code in %s is not available here: write the function in nodejs.", name)).
			With(map[string]any{"language": name, "available": []string{"nodejs"}})
	}
}
