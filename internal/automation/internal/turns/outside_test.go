package turns_test

import (
	"testing"
	"time"

	"atelier/internal/automation/internal/turns"
)

// What another process works is counted, in a turn and without one, also after the workspace has taken turns and is alone again.
func TestOutside(t *testing.T) {
	t.Parallel()
	f := open(t, 2)
	share := f.Of("code")
	outside := share.Outside()
	if !outside.Free() {
		t.Error("who has used little takes turns")
	}
	if outside.Worked(time.Second); !share.Heavy() || !outside.Free() {
		t.Errorf("heavy: %v; nobody else is there, yet it is not free", share.Heavy())
	}
	f.Of("light").Begin(t.Context()).End()
	if outside.Free() {
		t.Error("something light runs, and it takes no turns")
	}
	if outside.Take(t.Context()); f.Working() != 1 {
		t.Errorf("%d have a turn", f.Working())
	}
	f.clock.Advance(time.Millisecond)
	outside.Worked(time.Millisecond)
	if outside.Give(); f.Working() != 0 {
		t.Errorf("%d turns are not given back", f.Working())
	}
	f.clock.Advance(20 * time.Second) // all of it is forgotten
	if outside.Worked(time.Second); !share.Heavy() {
		t.Error("what it works without a turn is not counted any more")
	}
	share.Begin(t.Context()).End() // counts anew
	if !share.Heavy() {
		t.Error("a second of work is forgotten at once")
	}
}

// A workspace that is alone takes turns when it is many.
func TestCrowd(t *testing.T) {
	t.Parallel()
	f := open(t, 2)
	bomb := f.heavy("bomb", time.Hour)
	var all []*turns.Stint
	for range 256 {
		stint := bomb.Begin(t.Context())
		if all = append(all, stint); stint.Holds() {
			t.Fatalf("number %d takes a turn", len(all))
		}
	}
	last := bomb.Begin(t.Context())
	if !last.Holds() || f.Working() != 1 {
		t.Errorf("one more takes none; %d have one", f.Working())
	}
	last.End()
	for _, stint := range all {
		stint.End()
	}
	if f.Working() != 0 {
		t.Errorf("%d turns are not given back", f.Working())
	}
}
