package js

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// errArguments is a function of the host that was called with what it cannot take.
var errArguments = errors.New("the arguments are not what is expected")

// hostFunc is what JavaScript may ask of Go. It gets its arguments as they come from code that nobody trusts.
type hostFunc func(m *VM, a arguments) (any, error)

// hostFuncs is the table of them.
func hostFuncs() map[string]hostFunc {
	return map[string]hostFunc{
		"log": func(m *VM, a arguments) (any, error) { m.log(a.text(0)); return nil, a.err() },
		"elapsed": func(m *VM, _ arguments) (any, error) {
			return float64(m.clock.Now().Sub(m.started).Microseconds()) / 1000, nil
		},
		"output": func(m *VM, _ arguments) (any, error) { return m.limits.Output, nil },
		"known":  func(_ *VM, a arguments) (any, error) { return isModule(a.text(0)), a.err() },
		"names":  func(*VM, arguments) (any, error) { return strings.Join(modules(), ", "), nil },
		"source": func(_ *VM, a arguments) (any, error) { return source(a.text(0)) },
		"utf8": func(_ *VM, a arguments) (any, error) {
			return strings.ToValidUTF8(string(a.bytes(0)), "\ufffd"), a.err()
		},
		"encode":   func(_ *VM, a arguments) (any, error) { return binary([]byte(a.text(0))), a.err() },
		"unbase64": bytesOfBase64,
		"unescape": unescape,
		"url":      parseURL,
		"hash":     hashOf,
		"hmac":     hmacOf,
		"pbkdf2":   pbkdf2Of,
		"random":   random,
		"equal":    equal,
		"pack":     pack,
		"unpack":   unpack,
	}
}

// host is the one function that JavaScript has of Go: the name of what is asked for, and its arguments.
func (m *VM) host(args []any) (any, error) {
	if len(args) == 0 {
		return nil, errArguments
	}
	name, _ := args[0].(string)
	function, ok := m.functions[name]
	if !ok {
		return nil, errArguments
	}
	return function(m, arguments{values: args[1:], wrong: new(bool)})
}

// modules are the names that require knows.
func modules() []string { return []string{"buffer", "crypto", "url", "util", "zlib"} }

func isModule(name string) bool { return slices.Contains(modules(), name) }

func source(name string) (any, error) {
	if !isModule(name) {
		return nil, fs.ErrNotExist
	}
	text, err := sources.ReadFile(path.Join("source", name+".js"))
	return string(text), err
}

// log keeps a line, as long as there is room.
func (m *VM) log(line string) {
	switch {
	case len(m.logs) > mostLines || m.logged > mostLog:
		return
	case len(m.logs) == mostLines || m.logged+len(line) > mostLog:
		m.logs, m.logged = append(m.logs, "... more lines were left out"), mostLog+1
	default:
		m.logs, m.logged = append(m.logs, line), m.logged+len(line)+1
	}
}

// arguments are what JavaScript has called a function with.
type arguments struct {
	values []any
	wrong  *bool
}

func (a arguments) err() error {
	if *a.wrong {
		return errArguments
	}
	return nil
}

func (a arguments) text(i int) string {
	if i < len(a.values) {
		if text, ok := a.values[i].(string); ok {
			return text
		}
	}
	*a.wrong = true
	return ""
}

// number gives a whole number up to a limit.
func (a arguments) number(i, limit int) int {
	if i < len(a.values) {
		switch n := a.values[i].(type) {
		case int:
			if n >= 0 && n <= limit {
				return n
			}
		case float64:
			if n >= 0 && n <= float64(limit) && n == float64(int(n)) {
				return int(n)
			}
		}
	}
	*a.wrong = true
	return 0
}

// bytes gives the bytes that a text holds in base64.
func (a arguments) bytes(i int) []byte {
	data, err := base64.StdEncoding.DecodeString(a.text(i))
	if err != nil {
		*a.wrong = true
		return nil
	}
	return data
}

// binary is a text that holds bytes, in base64.
func binary(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func unavailable(what, name string) error {
	return fmt.Errorf("the %s %q is not available", what, name)
}
