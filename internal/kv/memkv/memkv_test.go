package memkv_test

import (
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"atelier/internal/clock"
	"atelier/internal/kv"
	"atelier/internal/kv/kvtest"
	"atelier/internal/kv/memkv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestContract(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.UnixMicro(1_800_000_000_000_123))
	kvtest.Run(t, func(*testing.T) kv.Store { return memkv.New(clk) }, clk.Advance)
}

func TestAgreesWithModel(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.UnixMicro(1_800_000_000_000_123))
	kvtest.Agree(t, clk, memkv.New(clk).Take)
}

func TestDriver(t *testing.T) {
	t.Parallel()
	if got := memkv.New(clock.System{}).Driver(); got != "memory" {
		t.Errorf("driver %q", got)
	}
}

// A flood of keys that are never used again must not stay.
func TestSweepsWhatHasExpired(t *testing.T) {
	t.Parallel()
	clk := clock.NewManual(time.UnixMicro(1_800_000_000_000_123))
	store := memkv.New(clk)
	limit := kv.Limit{Count: 1, Period: time.Second}
	const rounds, living = 50, 2000
	most := 0
	for round := range rounds {
		for i := range living / 2 {
			key := fmt.Sprint(round, " ", i)
			if err := store.Set(t.Context(), key, []byte("value"), time.Second); err != nil {
				t.Fatal(err)
			}
			if _, err := store.Take(t.Context(), key, limit); err != nil {
				t.Fatal(err)
			}
		}
		clk.Advance(time.Second)
		most = max(most, store.Len())
	}
	const shards, fewest = 64, 64
	if bound := 2*living + shards*fewest; most > bound {
		t.Errorf("%d entries held where %d lived at a time, want at most %d", most, living, bound)
	}
	if err := store.Close(); err != nil || store.Len() != 0 {
		t.Errorf("after close %d entries are left, %v", store.Len(), err)
	}
}

func BenchmarkTake(b *testing.B) {
	limit := kv.Limit{Count: 1_000, Period: time.Second, Burst: 1_000_000}
	b.Run("one key", func(b *testing.B) {
		store := memkv.New(clock.System{})
		for b.Loop() {
			if _, err := store.Take(b.Context(), "key", limit); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("many keys, many callers", func(b *testing.B) {
		store := memkv.New(clock.System{})
		keys := make([]string, 100_000)
		for i := range keys {
			keys[i] = fmt.Sprint("rate:tenant:", i)
		}
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			for i := 0; pb.Next(); i++ {
				if _, err := store.Take(b.Context(), keys[i%len(keys)], limit); err != nil {
					b.Error(err)
				}
			}
		})
	})
}
