package main

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// How far the heap may grow between two collections. What lives is small and requests make much that does not, so the default,
// as much again as lives, would collect hundreds of times a second. Where much lives, as with thousands who listen, as much
// again is more memory than the machine may have: there the room is what counts.
const (
	mostGrowth  = 400 // percent of what lives
	leastGrowth = 25
	growthRoom  = 48 << 20 // bytes

	growthCheck = 500 * time.Millisecond
)

// tuneMemory keeps the growth of the heap fitting to what lives until ctx ends, and returns what waits for that. GOGC and
// GOMEMLIMIT decide when they are set.
func tuneMemory(ctx context.Context, p process) (wait func()) {
	if lookup(p.environ, "GOGC") != "" {
		return func() {}
	}
	debug.SetGCPercent(mostGrowth)
	if lookup(p.environ, "GOMEMLIMIT") != "" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var tuning sync.WaitGroup
	tuning.Go(func() {
		ticker := time.NewTicker(growthCheck)
		defer ticker.Stop()
		for set := mostGrowth; ; {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			if wanted := growth(living()); wanted != set { // setting it stops the world for a moment
				set = wanted
				debug.SetGCPercent(set)
			}
		}
	})
	return func() {
		cancel()
		tuning.Wait()
	}
}

// growth is by how much the heap may grow when so many bytes live, in percent.
func growth(living uint64) int {
	const step = 5 // so that it is not set anew for nothing
	percent := min(growthRoom*100/max(living, 1<<20), mostGrowth)
	return max(int(percent)/step*step, leastGrowth) //nolint:gosec // it is mostGrowth at most
}

// living is what the last collection has left, and what it looked at besides: stacks and globals.
func living() (bytes uint64) {
	samples := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/scan/stack:bytes"}, {Name: "/gc/scan/globals:bytes"}}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			bytes += s.Value.Uint64()
		}
	}
	return bytes
}
