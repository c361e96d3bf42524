package clock_test

import (
	"sync"
	"testing"
	"time"

	"atelier/internal/clock"
)

func fired(timer clock.Timer) bool {
	select {
	case <-timer.C():
		return true
	default:
		return false
	}
}

func TestManual(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clk := clock.NewManual(begin)
	early, late, never := clk.NewTimer(time.Second), clk.NewTimer(2*time.Second), clk.NewTimer(2*time.Second)
	for _, at := range []time.Duration{0, -time.Second} {
		if now := clk.NewTimer(at); !fired(now) || now.Stop() {
			t.Errorf("a timer of %s does not fire at once", at)
		}
	}
	if !never.Stop() || never.Stop() {
		t.Error("a timer is stopped once")
	}
	clk.Advance(999 * time.Millisecond)
	if fired(early) || !clk.Now().Equal(begin.Add(999*time.Millisecond)) {
		t.Errorf("too early, at %s", clk.Now())
	}
	clk.Advance(time.Millisecond)
	if !fired(early) || fired(late) || early.Stop() {
		t.Error("the first timer fires at its time, alone")
	}
	clk.Advance(time.Hour)
	if !fired(late) || fired(late) || fired(never) {
		t.Error("the second fires once, the stopped one never")
	}
}

// A clock is used from everywhere at once.
func TestManualIsShared(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.Unix(0, 0))
	var wait sync.WaitGroup
	for range 50 {
		wait.Go(func() {
			timer := clk.NewTimer(time.Second)
			clk.Advance(time.Second)
			<-timer.C()
			timer.Stop()
		})
	}
	wait.Wait()
	if want := time.Unix(50, 0); !clk.Now().Equal(want) {
		t.Errorf("%s, want %s", clk.Now(), want)
	}
}

func TestSystem(t *testing.T) {
	t.Parallel()
	var clk clock.System
	before := clk.Now()
	timer := clk.NewTimer(time.Millisecond)
	<-timer.C()
	if clk.Now().Sub(before) < time.Millisecond || timer.Stop() {
		t.Error("the machine's timer fired too early, or can be stopped after it has")
	}
	if !clk.NewTimer(time.Hour).Stop() {
		t.Error("a running timer cannot be stopped")
	}
}
