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

	growthCheck = 500 * time.Millisecond
)

// How much room there is, in bytes. A collection keeps all processors busy, and whoever comes meanwhile waits: where they come one
// after the other, because somebody makes much that does not live, more room makes them rare. It is taken back when they are.
const (
	leastRoom = 48 << 20
	mostRoom  = 256 << 20
	roomPart  = 32 // one in so many of the bytes that the process may have, at most

	tooOften = 1.0 // collections a second
	seldom   = 0.1
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
		space := newRoom(available())
		for set := mostGrowth; ; {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
			if wanted := growth(living(), space.after(collections())); wanted != set { // setting it stops the world for a moment
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

// growth is by how much the heap may grow when so many bytes live and there is so much room, in percent.
func growth(living, room uint64) int {
	const step = 5 // so that it is not set anew for nothing
	percent := min(room*100/max(living, 1<<20), mostGrowth)
	return max(int(percent)/step*step, leastGrowth) //nolint:gosec // it is mostGrowth at most
}

// room is how many bytes the heap may grow by where much lives.
type room struct {
	bytes, most uint64
	seen        uint64  // collections
	rate        float64 // of them a second, lately
}

// newRoom is what there is of it at first, where the process may have so many bytes.
func newRoom(available uint64) *room {
	return &room{bytes: leastRoom, most: max(leastRoom, min(mostRoom, available/roomPart))}
}

// after gives how much there is after so many collections. It is asked at every check.
func (r *room) after(collections uint64) uint64 {
	const memory = 4 // checks
	now := float64(collections-r.seen) / growthCheck.Seconds()
	r.seen = collections
	r.rate += (now - r.rate) / memory
	switch {
	case r.rate > tooOften:
		r.bytes = min(2*r.bytes, r.most)
	case r.rate < seldom:
		r.bytes = max(r.bytes/2, leastRoom)
	}
	return r.bytes
}

// living is what the last collection has left, and what it looked at besides: stacks and globals.
func living() uint64 {
	return total("/gc/heap/live:bytes", "/gc/scan/stack:bytes", "/gc/scan/globals:bytes")
}

// collections is how many there were so far.
func collections() uint64 { return total("/gc/cycles/total:gc-cycles") }

// total is what the runtime says of some of its measures together.
func total(names ...string) (sum uint64) {
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}
