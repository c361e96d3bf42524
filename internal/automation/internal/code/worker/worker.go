// Package worker is the inside of a worker process: it gives away all that a process can do, and then runs the code of one
// workspace that it is sent, call by call.
package worker

import (
	"errors"
	"io"
	"runtime"
	"runtime/debug"
	"time"

	"atelier/internal/automation/internal/code/js"
	"atelier/internal/automation/internal/code/wire"
	"atelier/internal/clock"
)

// How a worker ends.
const (
	exitOK     = 0
	exitFailed = 1
)

// setupLimit is how long the first frame may be.
const setupLimit = 4096

// Pipes are how a worker is spoken to. They are read and written without anything in between: what a runtime does to wait for
// files is more than a worker is allowed to.
type Pipes struct {
	In  io.Reader
	Out io.Writer
}

// Run serves until the other side has gone, and gives the exit code. It locks the process up for good before any code runs, so
// nothing but a process that was started for it may call this.
func Run(pipes Pipes, exit func(code int)) int {
	var setup wire.Setup
	if _, err := wire.Read(pipes.In, setupLimit, &setup); err != nil || setup.Version != wire.Version {
		return exitFailed
	}
	stepBack()            // getting ready is work, too
	runtime.GOMAXPROCS(2) // one for the code, one that hears when it must end
	debug.SetMemoryLimit(setup.Heap + goRoom)
	compiled, err := js.Compile()
	if err != nil {
		return exitFailed
	}
	s := &server{setup: setup, clock: clock.System{}, compiled: compiled, out: pipes.Out}
	shields := Lock(setup)
	if err := s.warm(); err != nil {
		return exitFailed
	}
	if err := wire.Write(pipes.Out, wire.Ready{Version: wire.Version, Shields: shields}, nil); err != nil {
		return exitFailed
	}
	requests := make(chan call)
	go func() {
		err := receive(pipes.In, setup.Request, requests)
		if errors.Is(err, io.EOF) {
			exit(exitOK) // whoever started the process is gone, or does not need it any more: at once, whatever runs
		}
		exit(exitFailed)
	}()
	for one := range requests {
		if err := s.serve(one); err != nil {
			return exitFailed
		}
	}
	return exitOK
}

// call is a request and its body.
type call struct {
	request    wire.Request
	parameters []byte
}

// receive reads requests until there are no more.
func receive(in io.Reader, limit int, requests chan<- call) error {
	for {
		var request wire.Request
		body, err := wire.Read(in, limit, &request)
		if err != nil {
			return err
		}
		requests <- call{request: request, parameters: body}
	}
}

// server runs the calls.
type server struct {
	setup    wire.Setup
	clock    clock.Clock
	compiled *js.Compiled
	out      io.Writer
	// vm lives as long as it can, and the cache with it; functions are those that it has.
	vm        *js.VM
	functions []wire.Function
}

func (s *server) new() (*js.VM, error) {
	vm, err := js.New(s.compiled, s.clock, js.Limits{Heap: s.setup.Heap, Output: s.setup.Output})
	if err != nil {
		return nil, err
	}
	return vm, vm.Replace(s.functions)
}

// warm makes the virtual machine before it is needed.
func (s *server) warm() (err error) {
	s.vm, err = s.new()
	return err
}

// serve does one call. Code that has no name gets a machine of its own, so that it finds nothing that others left and leaves
// nothing behind.
func (s *server) serve(one call) error {
	began := s.clock.Now()
	if one.request.Replace {
		s.functions = one.request.Functions
		if err := s.vm.Replace(s.functions); err != nil {
			return err
		}
	}
	vm := s.vm
	if one.request.Function == "" {
		fresh, err := s.new()
		if err != nil {
			return err
		}
		vm = fresh
	}
	var outcome js.Outcome
	var broken bool
	var cleaned error
	s.aside(one.request.Low, func() {
		outcome = vm.Run(js.Call{
			Function: one.request.Function, Code: one.request.Code, Parameters: one.parameters,
			Now: one.request.Now, Limit: time.Duration(one.request.Limit) * time.Millisecond,
		})
		if broken = vm.Broken(); broken {
			cleaned = s.clean(vm) // this takes long, so it is part of the call
		}
	})
	response := wire.Response{
		ID: one.request.ID, Error: outcome.Err, Logs: outcome.Logs,
		Duration: float64(s.clock.Now().Sub(began).Microseconds()) / 1000,
	}
	if err := errors.Join(cleaned, wire.Write(s.out, response, outcome.Result)); err != nil || broken {
		return err
	}
	return s.clean(vm)
}

// clean makes room after a call: what is broken or was for one call only is closed.
func (s *server) clean(vm *js.VM) error {
	if vm != s.vm {
		return vm.Close()
	}
	if !vm.Broken() {
		return nil
	}
	if err := vm.Close(); err != nil {
		return err
	}
	return s.warm()
}
