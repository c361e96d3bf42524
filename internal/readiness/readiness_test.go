package readiness_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/readiness"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const ttl = 30 * time.Second

func manual() *clock.Manual { return clock.NewManual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)) }

func works(context.Context) error { return nil }

// F-RDY-01: each module that fails is named with its driver, and the others are still reported.
func TestReport(t *testing.T) {
	t.Parallel()
	clk := manual()
	var failing atomic.Bool
	checker := readiness.NewChecker(clk, ttl,
		readiness.Module{Name: "broker", Driver: "sql", Check: works},
		readiness.Module{Name: "database", Driver: "sqlite", Check: func(context.Context) error {
			if failing.Load() {
				return errs.New(errs.Database, "It is full.")
			}
			return nil
		}},
	)
	want := func(status readiness.Status, ready []readiness.ModuleReady, failed []readiness.ModuleError) {
		t.Helper()
		got, err := checker.Report(t.Context())
		if err != nil || !reflect.DeepEqual(got, readiness.Report{Status: status, ModulesReady: ready, Errors: failed}) {
			t.Errorf("%+v %v", got, err)
		}
	}
	broker, database := readiness.ModuleReady{Module: "broker", Driver: "sql"}, readiness.ModuleReady{Module: "database", Driver: "sqlite"}
	want(readiness.Ready, []readiness.ModuleReady{broker, database}, nil)
	failing.Store(true)
	clk.Advance(ttl - time.Millisecond)
	want(readiness.Ready, []readiness.ModuleReady{broker, database}, nil)
	clk.Advance(time.Millisecond)
	want(readiness.Failed, []readiness.ModuleReady{broker}, []readiness.ModuleError{
		{Error: "database_error", Module: "database", Driver: "sqlite", Message: "database_error: It is full."},
	})
}

// F-RDY-01: a thousand callers at once cost one probe, and get its result.
func TestOneProbeForThousandCallers(t *testing.T) {
	t.Parallel()
	clk := manual()
	var probes atomic.Int32
	arrived, release := make(chan struct{}, 1), make(chan struct{})
	checker := readiness.NewChecker(clk, ttl, readiness.Module{Name: "m", Driver: "d", Check: func(context.Context) error {
		probes.Add(1)
		arrived <- struct{}{}
		<-release
		return nil
	}})
	for round := range int32(3) {
		var wait sync.WaitGroup
		for range 1000 {
			wait.Go(func() {
				if report, err := checker.Report(t.Context()); err != nil || report.Status != readiness.Ready {
					t.Errorf("%+v %v", report, err)
				}
			})
		}
		<-arrived
		release <- struct{}{}
		wait.Wait()
		if got := probes.Load(); got != round+1 {
			t.Errorf("%d probes after %d rounds", got, round+1)
		}
		clk.Advance(ttl)
	}
}

// The probe belongs to everybody: the caller that began it may leave, and one that waits may leave too.
func TestCallersMayLeave(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	checker := readiness.NewChecker(manual(), ttl, readiness.Module{Name: "m", Driver: "d", Check: func(ctx context.Context) error {
		close(begun)
		<-release
		return ctx.Err()
	}})
	first, leave := context.WithCancel(t.Context())
	var wait sync.WaitGroup
	wait.Go(func() {
		if report, err := checker.Report(first); err != nil || report.Status != readiness.Ready {
			t.Errorf("%+v %v", report, err)
		}
	})
	<-begun
	leave()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := checker.Report(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	close(release)
	wait.Wait()
}

// A module that panics is one that fails.
func TestPanickingModule(t *testing.T) {
	t.Parallel()
	checker := readiness.NewChecker(manual(), ttl,
		readiness.Module{Name: "good", Driver: "d", Check: works},
		readiness.Module{Name: "bad", Driver: "d", Check: func(context.Context) error { panic("a bug") }}, //nolint:forbidigo // what the test is about
	)
	report, err := checker.Report(t.Context())
	if err != nil || report.Status != readiness.Failed || len(report.ModulesReady) != 1 || !strings.Contains(report.Errors[0].Message, "a bug") {
		t.Errorf("%+v %v", report, err)
	}
}

// A module that neither answers nor looks at its context does not hold up the report.
func TestHangingModule(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	checker := readiness.NewChecker(manual(), ttl,
		readiness.Module{Name: "good", Driver: "d", Check: works},
		readiness.Module{Name: "stuck", Driver: "d", Check: func(context.Context) error { <-release; return nil }},
	)
	report, err := checker.Report(t.Context()) // two seconds
	close(release)
	if err != nil || report.Status != readiness.Failed || report.Errors[0].Error != "gateway_timeout" || report.Errors[0].Module != "stuck" {
		t.Errorf("%+v %v", report, err)
	}
}

// A value whose making panics is made again by the next caller; nobody waits for it for ever.
func TestCachedPanic(t *testing.T) {
	t.Parallel()
	calls := 0
	cached := readiness.NewCached(manual(), ttl, func(context.Context) int {
		if calls++; calls == 1 {
			panic("a bug") //nolint:forbidigo // what the test is about
		}
		return calls
	})
	func() {
		defer func() { _ = recover() }()
		_, _ = cached.Get(t.Context())
		t.Error("it did not panic")
	}()
	if got, err := cached.Get(t.Context()); got != 2 || err != nil {
		t.Errorf("%d %v", got, err)
	}
}

// Without a time to live every caller gets a new value.
func TestNoCache(t *testing.T) {
	t.Parallel()
	calls := 0
	cached := readiness.NewCached(manual(), 0, func(context.Context) int { calls++; return calls })
	for want := range 3 {
		if got, _ := cached.Get(t.Context()); got != want+1 {
			t.Errorf("%d, want %d", got, want+1)
		}
	}
}
