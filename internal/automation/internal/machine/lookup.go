package machine

import (
	"crypto/rand"
	"encoding/binary"
	"time"

	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
)

// The variables that a branch has for itself, so that loops beside each other do not take each other's items.
const (
	Item  = "item"
	Index = "$index"
	Error = "$error"
)

// What is read from the home of an automation.
const (
	secretRoot    = "secret"
	workspaceRoot = "$workspace"
	configRoot    = "config"
)

func isApart(root string) bool { return root == Item || root == Index || root == Error }

// Lookup gives a variable by its first name, undefined without one.
func (f *Frame) Lookup(root string) any { return f.at(root, nil) }

// Get gives what a variable holds at some keys, undefined where nothing is. Large variables are better asked this way than
// taken whole.
func (f *Frame) Get(root string, keys ...string) any { return f.at(root, keys) }

func (f *Frame) at(root string, keys []string) any {
	switch root {
	case secretRoot:
		return follow(f.automation.Home.Secrets, keys)
	case workspaceRoot:
		return follow(f.automation.Home.Definition, keys)
	}
	if scopes := f.run.Scopes; scopes != nil && scopes.Has(root) {
		v, err := scopes.Get(f, root)
		if err != nil {
			f.failed = err
			return value.Undefined{}
		}
		return walk(v, keys)
	}
	if root == configRoot {
		return follow(f.automation.Home.Config, keys)
	}
	return f.variables(root).get(root, keys)
}

// variables gives those that a local variable belongs to.
func (f *Frame) variables(root string) *variables {
	if f.apart != nil && isApart(root) {
		return f.apart
	}
	return f.locals
}

func follow(o *value.Object, keys []string) any {
	if o == nil {
		return value.Undefined{}
	}
	return walk(o, keys)
}

func walk(v any, keys []string) any {
	for _, key := range keys {
		v = value.Get(v, key)
	}
	return v
}

// trouble gives the error that reading a context ended with, once. Expressions cannot fail by looking something up, so it is
// kept until they are done.
func (f *Frame) trouble() error {
	err := f.failed
	f.failed = nil
	return err
}

// environment is what expressions of the frame see.
func (f *Frame) environment() *expr.Env {
	if f.env == nil {
		env := f.machine.environment()
		env.Lookup, env.Path = f.Lookup, f.at
		env.Large = func(bytes int) { f.stint.Large(f.ctx, int64(bytes)) }
		f.env = &env
	}
	return f.env
}

// environment is what the expressions of all frames see; it is made once.
func (m *Machine) environment() expr.Env {
	known := m.env.Load()
	if known == nil {
		known = &expr.Env{Now: m.Clock.Now, Random: random, Locale: m.Locale, Zone: m.Zone, Zones: m.zone}
		m.env.Store(known)
	}
	return *known
}

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	return binary.LittleEndian.Uint64(b[:])
}

// zone finds a time zone, and remembers it: the system's files are read once.
func (m *Machine) zone(name string) (*time.Location, error) {
	if known, ok := m.zones.Load(name); ok {
		if location, ok := known.(*time.Location); ok {
			return location, nil
		}
	}
	location, err := time.LoadLocation(name)
	if err == nil {
		m.zones.Store(name, location)
	}
	return location, err
}
