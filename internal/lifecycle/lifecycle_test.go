package lifecycle_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/lifecycle"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal notes what happens to parts.
type journal struct{ lines []string }

func (j *journal) part(name string, start, stop error) lifecycle.Part {
	return lifecycle.Part{
		Name:  name,
		Start: func(context.Context) error { j.lines = append(j.lines, "start "+name); return start },
		Stop:  func(context.Context) error { j.lines = append(j.lines, "stop "+name); return stop },
	}
}

func (j *journal) want(t *testing.T, lines ...string) {
	t.Helper()
	if !slices.Equal(j.lines, lines) {
		t.Errorf("%v, want %v", j.lines, lines)
	}
	j.lines = nil
}

func TestOrder(t *testing.T) {
	t.Parallel()
	var g lifecycle.Group
	var j journal
	g.Add(j.part("a", nil, nil), lifecycle.Part{Name: "nothing"}, j.part("b", nil, nil))
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.want(t, "start a", "start b")
	g.Add(j.part("c", nil, nil))
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.want(t, "start c")
	if err := g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.want(t, "stop c", "stop b", "stop a")
	if err := g.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	j.want(t) // once
}

// What was started before a part that fails is stopped again, the failed one is not; nothing after it starts.
func TestFailedStart(t *testing.T) {
	t.Parallel()
	var g lifecycle.Group
	var j journal
	failure := errors.New("no room")
	g.Add(j.part("a", nil, nil), j.part("b", failure, nil), j.part("c", nil, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := g.Start(ctx); !errors.Is(err, failure) || !strings.Contains(err.Error(), "start b") {
		t.Errorf("%v", err)
	}
	j.want(t, "start a", "start b", "stop a")
}

// Every part is stopped, also after one that fails to, and every failure is told.
func TestFailedStops(t *testing.T) {
	t.Parallel()
	var g lifecycle.Group
	var j journal
	one, two := errors.New("one"), errors.New("two")
	g.Add(j.part("a", nil, one), j.part("b", nil, nil), j.part("c", nil, two))
	_ = g.Start(t.Context())
	err := g.Stop(t.Context())
	if !errors.Is(err, one) || !errors.Is(err, two) || !strings.Contains(err.Error(), "stop c") {
		t.Errorf("%v", err)
	}
	j.want(t, "start a", "start b", "start c", "stop c", "stop b", "stop a")
}

// A worker lives until it is stopped, not until the context that started it ends.
func TestWorker(t *testing.T) {
	t.Parallel()
	failure := errors.New("it broke")
	for name, c := range map[string]struct{ ends, want error }{"well": {nil, nil}, "cancelled": {context.Canceled, nil}, "badly": {failure, failure}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			running := make(chan struct{})
			part := lifecycle.Worker("w", func(ctx context.Context) error {
				close(running)
				<-ctx.Done()
				return c.ends
			})
			ctx, cancel := context.WithCancel(t.Context())
			if err := part.Start(ctx); err != nil {
				t.Fatal(err)
			}
			cancel()
			<-running
			if err := part.Stop(t.Context()); !errors.Is(err, c.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// A worker that does not end does not keep the process from stopping.
func TestStuckWorker(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	part := lifecycle.Worker("w", func(context.Context) error {
		<-release
		return nil
	})
	_ = part.Start(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := part.Stop(ctx); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "still running") {
		t.Errorf("%v", err)
	}
	close(release)
}
