package turns

import (
	"runtime"
	"runtime/metrics"
)

// Collect collects the garbage of this process when so many bytes more would have it done soon anyway.
func Collect(bytes int64) {
	samples := [...]metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/heap/goal:bytes"}}
	metrics.Read(samples[:])
	for _, s := range samples {
		if s.Value.Kind() != metrics.KindUint64 {
			return // a version that does not tell
		}
	}
	read := func(i int) float64 { return float64(samples[i].Value.Uint64()) }
	if objects, live, goal := read(0), read(1), read(2); near(objects+float64(bytes), live, goal) {
		runtime.GC()
	}
}

// near tells that a heap in which so much lives, and which may grow to the goal, is about to be collected.
func near(objects, live, goal float64) bool {
	const most = 0.6 // of the way; the process itself begins a little later
	return objects > live+most*(goal-live)
}
