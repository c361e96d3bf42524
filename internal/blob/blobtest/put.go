package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"testing"
	"testing/iotest"

	"atelier/internal/blob"
)

func roundTrip(t *testing.T, s blob.Store) {
	t.Helper()
	for name, data := range map[string][]byte{
		"empty":      {},
		"one byte":   {0},
		"text":       []byte("slug: hello\n"),
		"binary":     pattern(70_001),
		"over 5 MiB": pattern(5<<20 + 3),
	} {
		info := put(t, s, data)
		if want := (blob.Info{Hash: hashOf(data), Size: int64(len(data))}); info != want {
			t.Errorf("%s: Put = %+v, want %+v", name, info, want)
		}
		if got := read(t, s, info.Hash, 0, -1); !bytes.Equal(got, data) {
			t.Errorf("%s: %d bytes read back differ from the %d written", name, len(got), len(data))
		}
		if stat, err := s.Stat(t.Context(), info.Hash); err != nil || stat != info {
			t.Errorf("%s: Stat = %+v, %v, want %+v", name, stat, err, info)
		}
	}
}

func equalContentIsStoredOnce(t *testing.T, s blob.Store) {
	t.Helper()
	first, second := put(t, s, []byte("twice")), put(t, s, []byte("twice"))
	if first != second {
		t.Errorf("the second Put says %+v, the first %+v", second, first)
	}
	wantStored(t, s, first)
}

func concurrentPutsOfTheSame(t *testing.T, s blob.Store) {
	t.Helper()
	data := pattern(300_000)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			info, err := s.Put(t.Context(), bytes.NewReader(data), 0)
			if err != nil || info.Hash != hashOf(data) {
				t.Errorf("Put = %+v, %v", info, err)
			}
		})
	}
	wg.Wait()
	wantStored(t, s, blob.Info{Hash: hashOf(data), Size: int64(len(data))})
	if got := read(t, s, hashOf(data), 0, -1); !bytes.Equal(got, data) {
		t.Error("the content differs from what was written")
	}
}

func limitIsInclusive(t *testing.T, s blob.Store) {
	t.Helper()
	data := pattern(1000)
	info, err := s.Put(t.Context(), bytes.NewReader(data), 1000)
	if err != nil {
		t.Fatalf("Put of exactly the limit: %v", err)
	}
	wantStored(t, s, info)
}

func tooLargeLeavesNothing(t *testing.T, s blob.Store) {
	t.Helper()
	for _, size := range []int{1001, 5 << 20} {
		_, err := s.Put(t.Context(), bytes.NewReader(pattern(size)), 1000)
		if !errors.Is(err, blob.ErrTooLarge) {
			t.Errorf("Put of %d bytes with a limit of 1000: %v, want ErrTooLarge", size, err)
		}
	}
	wantStored(t, s)
}

func failingReaderLeavesNothing(t *testing.T, s blob.Store) {
	t.Helper()
	broken := errors.New("the sender went away")
	_, err := s.Put(t.Context(), io.MultiReader(bytes.NewReader(pattern(100_000)), iotest.ErrReader(broken)), 0)
	if !errors.Is(err, broken) {
		t.Errorf("Put = %v, want the reader's error", err)
	}
	wantStored(t, s)
}

func cancelledPutLeavesNothing(t *testing.T, s blob.Store) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := io.MultiReader(bytes.NewReader(pattern(100_000)), onRead(cancel), bytes.NewReader(pattern(100_000)))
	_, err := s.Put(ctx, cancelling, 0)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Put = %v, want context.Canceled", err)
	}
	wantStored(t, s)
}

// memoryStaysBounded counts every byte allocated while 64 MiB stream in and out; buffers may be used, the content may not
// be held.
func memoryStaysBounded(t *testing.T, s blob.Store) {
	t.Helper()
	const size, allowed = 64 << 20, 16 << 20
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	info, err := s.Put(t.Context(), io.LimitReader(&endless{}, size), 0)
	if err != nil || info.Size != size {
		t.Fatalf("Put = %+v, %v", info, err)
	}
	r, err := s.Open(t.Context(), info.Hash, 0, -1)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer func() { _ = r.Close() }()
	if n, err := io.Copy(io.Discard, r); err != nil || n != size {
		t.Fatalf("read %d bytes, %v", n, err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > allowed {
		t.Errorf("%d MiB allocated for a stream of %d MiB, allowed are %d", used>>20, size>>20, allowed>>20)
	}
}
