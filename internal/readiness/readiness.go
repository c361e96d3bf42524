// Package readiness answers whether a service can do its work, by doing a little of it: every module is tried with a real
// round trip, and the report is kept for a while so that probes cost nothing.
package readiness

import (
	"context"
	"fmt"
	"sync"
	"time"

	"atelier/internal/clock"
	"atelier/internal/errs"
)

// Status is ready or error.
type Status string

// The two statuses of specification 3.8.
const (
	Ready  Status = "ready"
	Failed Status = "error"
)

// Module is a part that a service needs.
type Module struct {
	Name   string
	Driver string
	Check  func(ctx context.Context) error
}

// ModuleReady names a module that works.
type ModuleReady struct {
	Module string `json:"module" doc:"What was tried."`
	Driver string `json:"driver" doc:"What provides it."`
}

// ModuleError says why a module does not work.
type ModuleError struct {
	Error   string `json:"error" doc:"The code of the error."`
	Module  string `json:"module" doc:"What was tried."`
	Driver  string `json:"driver" doc:"What provides it."`
	Message string `json:"message" doc:"What went wrong."`
}

// Report is the result of trying every module of a service.
type Report struct {
	Status       Status        `json:"status" enum:"ready,error" doc:"error when a module failed."`
	ModulesReady []ModuleReady `json:"modulesReady" nullable:"false" doc:"The modules that work."`
	Errors       []ModuleError `json:"errors,omitempty" nullable:"false" doc:"The modules that do not."`
}

// Checker tries the modules of one service.
type Checker struct {
	modules []Module
	reports *Cached[Report]
}

// moduleTimeout bounds one module's round trip: a probe gives up after three seconds or so.
const moduleTimeout = 2 * time.Second

// NewChecker returns a checker whose reports are kept for ttl.
func NewChecker(clk clock.Clock, ttl time.Duration, modules ...Module) *Checker {
	c := &Checker{modules: modules}
	c.reports = NewCached(clk, ttl, c.try)
	return c
}

// Report gives the current report; an error only when ctx ends while waiting for it.
func (c *Checker) Report(ctx context.Context) (Report, error) { return c.reports.Get(ctx) }

// try runs every check at once.
func (c *Checker) try(ctx context.Context) Report {
	results := make([]error, len(c.modules))
	var wait sync.WaitGroup
	for i, module := range c.modules {
		wait.Go(func() { results[i] = roundTrip(ctx, module) })
	}
	wait.Wait()
	report := Report{Status: Ready, ModulesReady: []ModuleReady{}}
	for i, module := range c.modules {
		if results[i] == nil {
			report.ModulesReady = append(report.ModulesReady, ModuleReady{Module: module.Name, Driver: module.Driver})
			continue
		}
		report.Status = Failed
		report.Errors = append(report.Errors, ModuleError{
			Error: string(errs.CodeOf(results[i])), Module: module.Name, Driver: module.Driver, Message: results[i].Error(),
		})
	}
	return report
}

// roundTrip tries one module. It answers in time also when the module does not look at its context, and when it panics: the
// report about everything else must not hang or fail with it.
func roundTrip(ctx context.Context, module Module) error {
	ctx, cancel := context.WithTimeout(ctx, moduleTimeout)
	defer cancel()
	result := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				result <- fmt.Errorf("the check panicked: %v", p)
			}
		}()
		result <- module.Check(ctx)
	}()
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("no answer after %s: %w", moduleTimeout, ctx.Err())
	}
}
