package config

import (
	"io/fs"
	"reflect"
)

// Sources is where settings may come from, beside their built-in defaults.
type Sources struct {
	Environ  []string                          // NAME=value, as os.Environ gives them
	Flags    map[string]string                 // flag name without dashes to value, only those that were given
	ReadFile func(path string) ([]byte, error) // as os.ReadFile; without it no file can be read
	Targets  []string                          // the services that TARGET may name, beside all
}

// Loaded is a configuration that passed every check.
type Loaded struct {
	Config Config
	Values []Value // in the order of Config
	File   string  // the configuration file that was read, as the operator wrote it; empty when there is none
}

// Value is one setting as an operator may see it.
type Value struct {
	Name   string
	Value  string // *** for a secret that is set
	Origin string // default, file PATH, environment NAME, environment NAME_FILE or flag --name
	Secret bool
	Group  string // the section of the reference
	Doc    string
}

// Load reads every setting: built-in default, then the file, then the environment, then flags; the later wins. Each value
// that was given is checked, also one that a later source overrides. The error is always a *Problems and names them all.
func Load(src Sources) (*Loaded, error) {
	if src.ReadFile == nil {
		src.ReadFile = func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	}
	l := &loader{src: src, table: readTable(), origins: map[string]entry{}, failed: map[string]bool{}}
	l.apply(l.defaults())
	path := l.configPath()
	l.apply(l.fromFile(path))
	l.apply(l.fromEnviron())
	l.apply(l.fromFlags())
	l.checkTogether()
	if err := l.problems.err(); err != nil {
		return nil, err
	}
	return &Loaded{Config: l.config, Values: l.values(), File: path.text}, nil
}

// loader holds what one Load has gathered so far.
type loader struct {
	src      Sources
	table    table
	config   Config
	origins  map[string]entry // by the name of the setting: the value in effect
	failed   map[string]bool  // settings without a usable value: checks of several settings pass over them
	problems Problems
}

// apply lets the values of a layer take the place of earlier ones.
func (l *loader) apply(given layer) {
	for _, s := range l.table {
		chosen, found := l.choose(s, given)
		if !found {
			continue
		}
		if problem := s.assign(l.field(s), chosen.text, l.src.ReadFile); problem != "" {
			l.fail(s, problem, chosen.where)
			continue
		}
		l.origins[s.name] = chosen
	}
}

func (l *loader) field(s setting) reflect.Value {
	return reflect.ValueOf(&l.config).Elem().Field(s.field)
}

// fail notes that a setting has no usable value.
func (l *loader) fail(s setting, problem, where string) {
	l.failed[s.name] = true
	l.problems.add(s.name, problem, where)
}

func (l *loader) values() []Value {
	values := make([]Value, 0, len(l.table))
	for _, s := range l.table {
		values = append(values, Value{
			Name:   s.name,
			Value:  s.show(l.field(s)),
			Origin: l.origins[s.name].origin,
			Secret: s.secret(),
			Group:  s.group,
			Doc:    s.doc,
		})
	}
	return values
}
