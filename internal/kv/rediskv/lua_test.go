package rediskv_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/rueidis"
	"pgregory.net/rapid"

	"atelier/internal/clock"
	"atelier/internal/kv"
	"atelier/internal/kv/kvtest"
)

// luaGCRA calls the function of lua/gcra.lua, the text that take.lua uses, with a time of the test's choice.
func luaGCRA(t *testing.T) func(limit kv.Limit, stored, now int64) (int64, kv.Decision, error) {
	t.Helper()
	text, err := os.ReadFile("lua/gcra.lua")
	if err != nil {
		t.Fatal(err)
	}
	client := raw(t)
	script := rueidis.NewLuaScript(string(text) + `
		local free, decision = gcra(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
		table.insert(decision, free)
		return decision`)
	return func(limit kv.Limit, stored, now int64) (int64, kv.Decision, error) {
		interval, burst, err := limit.Interval()
		if err != nil {
			return stored, kv.Decision{}, err
		}
		var args []string
		for _, n := range []int64{stored, now, interval, burst} {
			args = append(args, strconv.FormatInt(n, 10))
		}
		answer, err := script.Exec(t.Context(), client, []string{"none"}, args).AsIntSlice()
		if err != nil {
			return stored, kv.Decision{}, err
		}
		return answer[4], kv.Decision{
			Allowed: answer[0] == 1, Limit: int(burst), Remaining: int(answer[1]),
			RetryAfter: time.Duration(answer[2]) * time.Microsecond,
			ResetAfter: time.Duration(answer[3]) * time.Microsecond,
		}, nil
	}
}

func TestLuaAgreesWithModel(t *testing.T) {
	t.Parallel()
	gcra := luaGCRA(t)
	clk := clock.NewManual(time.UnixMicro(1_800_000_000_000_123))
	stored := make(map[string]int64)
	kvtest.Agree(t, clk, func(_ context.Context, key string, limit kv.Limit) (kv.Decision, error) {
		free, decision, err := gcra(limit, stored[key], clk.Now().UnixMicro())
		stored[key] = free
		return decision, err
	})
}

// Whatever is stored, and however large the numbers, the twins agree.
func TestLuaAgreesWithGo(t *testing.T) {
	t.Parallel()
	gcra := luaGCRA(t)
	const century = 100 * 365 * 24 * int64(time.Hour/time.Microsecond)
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Custom(wideLimit).Draw(t, "limit")
		now := rapid.Int64Range(1_700_000_000_000_000, 4_000_000_000_000_000).Draw(t, "now")
		for i := range 8 {
			stored := now + rapid.Int64Range(-century/4, century).Draw(t, fmt.Sprint("stored ", i))
			if rapid.Bool().Draw(t, fmt.Sprint("within ", i)) {
				interval, burst, _ := limit.Interval()
				stored = now + rapid.Int64Range(-interval, interval*burst+int64(2*time.Minute/time.Microsecond)).Draw(t, fmt.Sprint("near ", i))
			}
			wantFree, want, err := kv.GCRA(limit, stored, now)
			if err != nil {
				t.Fatal(err)
			}
			gotFree, got, err := gcra(limit, stored, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || wantFree != gotFree {
				t.Fatalf("stored %d, now %d: free %d, want %d (-go +lua):\n%s", stored, now, gotFree, wantFree, diff)
			}
		}
	})
}

func wideLimit(t *rapid.T) kv.Limit {
	count := rapid.IntRange(1, 1<<20).Draw(t, "count")
	period := time.Duration(rapid.Int64Range(1, int64(365*24*time.Hour)).Draw(t, "period"))
	return kv.Limit{Count: count, Period: period, Burst: rapid.IntRange(1, 100).Draw(t, "burst")}
}

// Take on the server does what kv.GCRA does. The server's clock shows in its answers, so the comparison is exact.
func TestTakeAgreesWithGo(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	store, client := open(t, cfg), raw(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		key := fmt.Sprint("run ", run)
		limit := kv.Limit{
			Count:  rapid.IntRange(1, 20).Draw(rt, "count"),
			Period: time.Duration(rapid.Int64Range(int64(time.Minute), int64(time.Hour)).Draw(rt, "period")),
			Burst:  rapid.IntRange(0, 3).Draw(rt, "burst"),
		}
		stored := int64(0)
		for range rapid.IntRange(1, 6).Draw(rt, "steps") {
			before := serverTime(t, client)
			got, err := store.Take(t.Context(), key, limit)
			if err != nil {
				rt.Fatal(err)
			}
			free, err := client.Do(t.Context(), client.B().Get().Key(cfg.Prefix+"l:"+key).Build()).AsInt64()
			if err != nil {
				rt.Fatal(err)
			}
			now := free - got.ResetAfter.Microseconds()
			if now < before || now > serverTime(t, client) {
				rt.Fatalf("the script's time %d is not the server's", now)
			}
			wantFree, want, err := kv.GCRA(limit, stored, now)
			if err != nil {
				rt.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" || free != wantFree {
				rt.Fatalf("free %d, want %d (-go +redis):\n%s", free, wantFree, diff)
			}
			stored = free
		}
	})
}
