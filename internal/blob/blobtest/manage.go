package blobtest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"atelier/internal/blob"
)

func deletes(t *testing.T, s blob.Store) {
	t.Helper()
	gone, kept := put(t, s, []byte("gone")), put(t, s, []byte("kept"))
	for range 2 { // the second time it is absent, which is no error
		if err := s.Delete(t.Context(), gone.Hash); err != nil {
			t.Fatalf("Delete: %v", err)
		}
	}
	wantAbsent(t, s, gone.Hash)
	wantStored(t, s, kept)
	if again := put(t, s, []byte("gone")); again != gone {
		t.Errorf("putting it again says %+v", again)
	}
	wantStored(t, s, kept, gone)
}

func walks(t *testing.T, s blob.Store) {
	t.Helper()
	wantStored(t, s)
	var all []blob.Info
	for i := range 40 {
		all = append(all, put(t, s, pattern(i)))
	}
	wantStored(t, s, all...)
}

func walkStopsAtAnError(t *testing.T, s blob.Store) {
	t.Helper()
	put(t, s, []byte("one"))
	put(t, s, []byte("two"))
	stop, calls := errors.New("seen enough"), 0
	err := s.Walk(t.Context(), func(blob.Info) error {
		calls++
		return stop
	})
	if !errors.Is(err, stop) || calls != 1 {
		t.Errorf("Walk = %v after %d calls, want the callback's error after one", err, calls)
	}
}

func pingLeavesNothing(t *testing.T, s blob.Store) {
	t.Helper()
	info := put(t, s, []byte("mine"))
	for range 2 {
		if err := s.Ping(t.Context()); err != nil {
			t.Fatalf("Ping: %v", err)
		}
	}
	wantStored(t, s, info)
}

func cancelledContextStopsEverything(t *testing.T, s blob.Store) {
	t.Helper()
	info := put(t, s, []byte("here"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"Put":    func() error { _, err := s.Put(ctx, strings.NewReader("more"), 0); return err },
		"Open":   func() error { _, err := s.Open(ctx, info.Hash, 0, -1); return err },
		"Stat":   func() error { _, err := s.Stat(ctx, info.Hash); return err },
		"Delete": func() error { return s.Delete(ctx, info.Hash) },
		"Walk":   func() error { return s.Walk(ctx, func(blob.Info) error { return nil }) },
		"Ping":   func() error { return s.Ping(ctx) },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a cancelled context: %v, want context.Canceled", name, err)
		}
	}
	wantStored(t, s, info)
}

func driverHasAName(t *testing.T, s blob.Store) {
	t.Helper()
	if name := s.Driver(); name != "filesystem" && name != "s3" {
		t.Errorf("Driver = %q, want a name operators know", name)
	}
}
