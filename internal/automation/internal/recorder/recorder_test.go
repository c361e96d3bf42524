package recorder_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/automation/internal/recorder"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/sqldb/sqldbtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow is a log that takes nothing while its gate is closed.
type slow struct {
	bus.Log
	gate chan struct{}
	came atomic.Int64 // how often it was asked

	mu      sync.Mutex
	batches [][]bus.Record
	refuse  func([]bus.Record) error
}

func (s *slow) Append(ctx context.Context, records ...bus.Record) ([]bus.Event, error) {
	s.came.Add(1)
	select {
	case <-s.gate:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil {
		if err := s.refuse(records); err != nil {
			return nil, err
		}
	}
	s.batches = append(s.batches, records)
	return make([]bus.Event, len(records)), nil
}

func (s *slow) written() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, batch := range s.batches {
		n += len(batch)
	}
	return n
}

func record(workspaceID string, size int) bus.Record {
	text, _ := json.Marshal(make([]byte, size))
	return bus.Record{WorkspaceID: workspaceID, Type: "t", Body: text}
}

// running runs a recorder; the result stops it and gives its error.
func running(t *testing.T, log bus.Log, settings recorder.Settings) (r *recorder.Recorder, stop func() error) {
	t.Helper()
	return runningAt(t, clock.System{}, log, settings)
}

func runningAt(t *testing.T, clk clock.Clock, log bus.Log, settings recorder.Settings) (r *recorder.Recorder, stop func() error) {
	t.Helper()
	r = recorder.New(log, clk, slog.New(slog.DiscardHandler), settings)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { _ = stop() })
	return r, stop
}

// A workspace that records more than can be written waits, and others do not.
func TestShares(t *testing.T) {
	t.Parallel()
	log := &slow{gate: make(chan struct{})}
	r, stop := running(t, log, recorder.Settings{Bytes: 80_000, Share: 10_000})
	var flooded atomic.Int64
	var flood sync.WaitGroup
	flood.Go(func() {
		for range 100 {
			if err := r.Record(context.Background(), record("flood", 1000)); err != nil {
				t.Error(err)
			}
			flooded.Add(1)
		}
	})
	for range 5 {
		for ws := range 5 {
			if err := r.Record(t.Context(), record(fmt.Sprint("calm", ws), 1000)); err != nil {
				t.Fatal(err)
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	for ctx.Err() == nil {
		_ = r.Record(ctx, record("flood too", 1000))
	}
	if n := flooded.Load(); n > 10 {
		t.Errorf("%d records of one workspace wait, though its share is full", n)
	}
	close(log.gate)
	flood.Wait()
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := log.written(); n < 125 {
		t.Errorf("%d are written", n)
	}
	if n := len(log.batches); n > 100 {
		t.Errorf("%d commits for %d records", n, log.written())
	}
}

// What waits is written at the end, and what comes after it too. A record that is larger than everything is not stuck.
func TestStop(t *testing.T) {
	t.Parallel()
	log := &slow{gate: make(chan struct{})}
	r, stop := running(t, log, recorder.Settings{Bytes: 5_000})
	if err := r.Record(t.Context(), record("w", 10_000)); err != nil {
		t.Fatal(err)
	}
	close(log.gate)
	for range 20 {
		if err := r.Record(t.Context(), record("w", 100)); err != nil {
			t.Fatal(err)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := r.Record(t.Context(), record("w", 100)); err != nil {
		t.Fatal(err)
	}
	if n := log.written(); n != 22 {
		t.Errorf("%d are written", n)
	}
}

// A log that does not answer is asked again; a record that cannot be stored is left out, and only that one.
func TestTrouble(t *testing.T) {
	t.Parallel()
	log := &slow{gate: make(chan struct{})}
	var asked atomic.Int64
	log.refuse = func(records []bus.Record) error {
		if asked.Add(1) == 1 {
			return errs.New(errs.Unavailable, "not now")
		}
		for _, one := range records {
			if one.WorkspaceID == "bad" {
				return errors.New("cannot be stored")
			}
		}
		return nil
	}
	r, stop := running(t, log, recorder.Settings{})
	if err := r.Record(t.Context(), record("a", 1), record("bad", 1), record("b", 1)); err != nil {
		t.Fatal(err)
	}
	close(log.gate)
	for log.written() < 2 {
		<-time.After(time.Millisecond)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := log.written(); n != 2 {
		t.Errorf("%d are written", n)
	}
}

// Nothing is recorded of a run that goes on elsewhere.
func TestWhile(t *testing.T) {
	t.Parallel()
	log := &slow{gate: make(chan struct{})}
	close(log.gate)
	r, stop := running(t, log, recorder.Settings{})
	var over atomic.Bool
	ctx := recorder.While(t.Context(), func() bool { return !over.Load() })
	for range 3 {
		if err := r.Record(ctx, record("w", 1)); err != nil {
			t.Fatal(err)
		}
		over.Store(true)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if n := log.written(); n != 1 {
		t.Errorf("%d are written", n)
	}
}

// BenchmarkRecord measures what it costs a run to hand over an event of a thousand characters, the writing of it included.
func BenchmarkRecord(b *testing.B) {
	db := sqldbtest.SQLite(b, sqlbus.Migrations())
	log, err := sqlbus.Open(db, clock.System{}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	r := recorder.New(log, clock.System{}, slog.New(slog.DiscardHandler), recorder.Settings{})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	one := record("w", 750)
	for b.Loop() {
		if err := r.Record(ctx, one); err != nil {
			b.Fatal(err)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		b.Error(err)
	}
}
