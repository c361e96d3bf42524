package recorder_test

import (
	"context"
	"testing"
	"time"

	"atelier/internal/automation/internal/recorder"
	"atelier/internal/clock"
)

// While records come fast a commit waits for more of them, but not for ever, not when nobody may bring more, and not at the end.
func TestLinger(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings recorder.Settings
		// then is what ends the wait for more than the hundred that came during the first commit.
		then func(r *recorder.Recorder, log *slow, clk *clock.Manual, stop func() error)
		want []int
	}{
		"as many as one commit takes": {recorder.Settings{}, func(r *recorder.Recorder, _ *slow, _ *clock.Manual, _ func() error) {
			for range 1024 - 100 {
				_ = r.Record(context.Background(), record("w", 1))
			}
		}, []int{1, 1024}},
		"some time": {recorder.Settings{}, func(_ *recorder.Recorder, log *slow, clk *clock.Manual, _ func() error) {
			for log.written() == 1 {
				clk.Advance(time.Millisecond)
			}
		}, []int{1, 100}},
		"no room": {recorder.Settings{Share: 101 * 300}, func(r *recorder.Recorder, _ *slow, _ *clock.Manual, _ func() error) {
			_ = r.Record(context.Background(), record("w", 3000))
		}, []int{1, 100, 1}},
		"the end": {recorder.Settings{}, func(_ *recorder.Recorder, _ *slow, _ *clock.Manual, stop func() error) { _ = stop() }, []int{1, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log, clk := &slow{gate: make(chan struct{})}, clock.NewManual(time.UnixMilli(0))
			r, stop := runningAt(t, clk, log, c.settings)
			total := 0
			for _, n := range c.want {
				total += n
			}
			_ = r.Record(t.Context(), record("w", 1))
			for log.came.Load() == 0 {
				<-time.After(time.Millisecond)
			}
			for range 100 {
				_ = r.Record(t.Context(), record("w", 1))
			}
			close(log.gate)
			for log.written() < 1 {
				<-time.After(time.Millisecond)
			}
			c.then(r, log, clk, stop)
			for log.written() < total {
				<-time.After(time.Millisecond)
			}
			if err := stop(); err != nil {
				t.Error(err)
			}
			for i, batch := range log.batches {
				if len(log.batches) != len(c.want) || len(batch) != c.want[i] {
					t.Fatalf("%d commits, one of them of %d", len(log.batches), len(batch))
				}
			}
		})
	}
}

// What is not much is written at once.
func TestFewDoNotWait(t *testing.T) {
	t.Parallel()
	log := &slow{gate: make(chan struct{})}
	r, _ := runningAt(t, clock.NewManual(time.UnixMilli(0)), log, recorder.Settings{})
	close(log.gate)
	for n := range 200 {
		_ = r.Record(t.Context(), record("w", 1))
		for log.written() <= n {
			<-time.After(10 * time.Microsecond)
		}
	}
}
