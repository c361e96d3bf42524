// Package js runs JavaScript that users wrote, in QuickJS. It belongs into a process of its own that has nothing to lose: the
// engine is C that was translated to Go, and not everything in it can be interrupted.
package js

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"modernc.org/quickjs"

	"atelier/internal/automation/internal/code/wire"
	"atelier/internal/clock"
)

//go:embed source/*.js
var sources embed.FS

// Limits bound a virtual machine.
type Limits struct {
	// Heap is how many bytes values may take, Output how many a result.
	Heap   int64
	Output int
}

// How much the lines of a call may be that are logged.
const (
	mostLines = 1000
	mostLog   = 256 << 10 // bytes
)

// Compiled is what every virtual machine begins with, compiled once.
type Compiled struct{ bytecode []byte }

// Compile compiles it.
func Compile() (*Compiled, error) {
	text, err := sources.ReadFile("source/prelude.js")
	if err != nil {
		return nil, err
	}
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	bytecode, err := vm.Compile(string(text), quickjs.EvalGlobal)
	return &Compiled{bytecode: bytecode}, errors.Join(err, vm.Close())
}

// VM is a virtual machine. It runs one call at a time.
type VM struct {
	vm        *quickjs.VM
	drive     quickjs.Value
	clock     clock.Clock
	limits    Limits
	started   time.Time
	functions map[string]hostFunc
	logs      []string
	logged    int
	// broken is a machine that must not be used again: its memory is full, or something in it still runs.
	broken bool
}

// New makes a virtual machine without functions.
func New(compiled *Compiled, clk clock.Clock, limits Limits) (*VM, error) {
	engine, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	m := &VM{vm: engine, clock: clk, limits: limits, started: clk.Now(), functions: hostFuncs()}
	engine.SetMemoryLimit(uintptr(limits.Heap)) //nolint:gosec // a limit is not negative
	engine.SetCanBlock(false)
	engine.SetModuleLoader(m.importModule, func(_ *quickjs.VM, _, name string) (string, error) { return name, nil })
	if err := engine.RegisterHostFunc("__host", m.host); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	if m.drive, err = engine.EvalBytecodeValue(compiled.bytecode); err != nil {
		return nil, errors.Join(err, engine.Close())
	}
	return m, nil
}

// importModule makes import() give what require does.
func (m *VM) importModule(_ *quickjs.VM, name string) (string, error) {
	quoted, err := json.Marshal(name)
	if err != nil {
		return "", err
	}
	return "export default require(" + string(quoted) + ");", nil
}

// Close gives up what the machine holds.
func (m *VM) Close() error {
	m.drive.Free()
	return m.vm.Close()
}

// Broken tells that the machine must not be used again.
func (m *VM) Broken() bool { return m.broken }

// Replace gives the machine other functions. What is in its cache stays.
func (m *VM) Replace(functions []wire.Function) error {
	if functions == nil {
		functions = []wire.Function{}
	}
	text, err := json.Marshal(functions)
	if err != nil {
		return err
	}
	_, err = m.do("replace", string(text))
	return err
}

// Call is what is to be done.
type Call struct {
	// Function is called; without one Code is run.
	Function, Code string
	// Parameters are a JSON object.
	Parameters []byte
	Now        int64
	Limit      time.Duration
}

// Outcome is what became of a call.
type Outcome struct {
	Result []byte // JSON; nothing is undefined
	Logs   []string
	Err    *wire.Error
}

// Run does a call, and ends it when its time is up.
func (m *VM) Run(call Call) Outcome {
	m.logs, m.logged = nil, 0
	stop := m.interruptAfter(call.Limit)
	text, err := m.run(call)
	late := stop()
	if _, ended := m.do("end"); ended != nil {
		m.broken = true
	}
	out := Outcome{Logs: m.logs}
	switch {
	case late:
		m.broken = true
		out.Err = &wire.Error{Kind: wire.KindTimeout, Message: "it took too long"}
	case err != nil:
		m.broken = true
		out.Err = failed(err)
	case text[0] == 'v' && len(text)-1 > m.limits.Output:
		out.Err = &wire.Error{Kind: wire.KindOutput, Message: "the result is too large"}
	case text[0] == 'v':
		out.Result = []byte(text[1:])
	case text[0] == 'e':
		out.Err = thrown(text[1:])
	}
	if out.Err != nil && out.Err.Kind == wire.KindMemory {
		m.broken = true
	}
	return out
}

// run starts a call, and drives it until it has an outcome.
func (m *VM) run(call Call) (outcome string, err error) {
	operation, what := "call", call.Function
	if call.Function == "" {
		operation, what = "run", call.Code
	}
	if _, err := m.do(operation, what, string(call.Parameters), float64(call.Now)); err != nil {
		return "", err
	}
	for {
		if _, err := m.vm.ExecutePendingJobs(); err != nil && !isThrown(err) {
			m.broken = true // jobs are left over, which must not run in a later call
			return "", err
		}
		text, err := m.do("poll")
		if err != nil {
			return "", err
		}
		if text == "" {
			return `e{"kind":"stuck","message":"it waits for something that never happens"}`, nil
		}
		if text[0] != 't' {
			return text, nil
		}
		m.wait(text[1:])
	}
}

// isThrown tells an exception that a job has thrown, which is its own matter, from the end of all jobs.
func isThrown(err error) bool {
	exception, ok := errors.AsType[*quickjs.Error](err)
	return ok && exception.Message != "interrupted"
}

// wait waits for the next timer, a little at most: the time of the call may be up before.
func (m *VM) wait(milliseconds string) {
	const most = 10
	n, err := strconv.ParseFloat(milliseconds, 64)
	if err != nil || n <= 0 {
		return
	}
	timer := m.clock.NewTimer(time.Duration(math.Ceil(min(n, most)*1000)) * time.Microsecond)
	<-timer.C()
}

// interruptAfter interrupts the machine after a time. What it gives back ends that, and tells whether it happened.
func (m *VM) interruptAfter(limit time.Duration) (stop func() (late bool)) {
	timer := m.clock.NewTimer(limit)
	ended, done := make(chan struct{}), make(chan bool, 1)
	go func() {
		select {
		case <-timer.C():
			m.vm.Interrupt()
			done <- true
		case <-ended:
			done <- false
		}
	}()
	return func() bool {
		timer.Stop()
		close(ended)
		return <-done
	}
}

// do asks the JavaScript side for an operation.
func (m *VM) do(operation string, arguments ...any) (string, error) {
	result, err := m.drive.Call(quickjs.UndefinedValue, append([]any{operation}, arguments...)...)
	if err != nil {
		return "", err
	}
	text, ok := result.(string)
	if !ok {
		return "", fmt.Errorf("%s gave no text", operation)
	}
	return text, nil
}

// failed is the error of a call that the engine ended.
func failed(err error) *wire.Error {
	exception, ok := errors.AsType[*quickjs.Error](err)
	switch {
	case ok && exception.Message == "out of memory":
		return &wire.Error{Kind: wire.KindMemory, Message: exception.Message}
	case ok:
		return &wire.Error{Kind: wire.KindThrown, Name: exception.Name, Message: exception.Message}
	default:
		return &wire.Error{Kind: wire.KindTimeout, Message: "it never comes to an end"}
	}
}

func thrown(text string) *wire.Error {
	var e wire.Error
	if err := json.NewDecoder(bytes.NewReader([]byte(text))).Decode(&e); err != nil {
		return &wire.Error{Kind: wire.KindThrown, Message: "it failed in a way that cannot be shown"}
	}
	e.Stack = ownFrames(e.Stack)
	return &e
}

// ownFrames leaves out of a stack what called the code.
func ownFrames(stack string) string {
	var kept []string
	for line := range strings.Lines(stack) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.Contains(line, "callNamed") && !strings.Contains(line, "(native)") {
			kept = append(kept, line)
		}
	}
	return strings.Join(kept[:min(len(kept), 10)], "\n")
}
