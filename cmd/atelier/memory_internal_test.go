package main

import "testing"

// Where little lives the heap may grow to five times of it, where much lives by the room that there is, and never by less than
// a quarter.
func TestGrowthFallsAsMoreLives(t *testing.T) {
	t.Parallel()
	const mebibyte = 1 << 20
	last := mostGrowth
	for _, c := range []struct {
		living uint64
		want   int
	}{{0, mostGrowth}, {12 * mebibyte, mostGrowth}, {48 * mebibyte, 100}, {96 * mebibyte, 50}, {400 * mebibyte, leastGrowth}, {1 << 40, leastGrowth}} {
		got := growth(c.living, leastRoom)
		if got != c.want || got > last {
			t.Errorf("with %d living bytes: %d %%, want %d %%", c.living, got, c.want)
		}
		last = got
	}
	if living() == 0 {
		t.Error("nothing lives")
	}
}

// Collections that come one after the other make room until they are rare; what is not needed any more is given back. A small
// machine has little to give.
func TestRoomGrowsWhereCollectionsAreMany(t *testing.T) {
	t.Parallel()
	const plenty = 64 << 30
	r, done := newRoom(plenty), uint64(0)
	if got := r.after(done); got != leastRoom {
		t.Fatalf("at first there are %d bytes", got)
	}
	for range 6 {
		done += 2 // four a second
		r.after(done)
	}
	if r.bytes != mostRoom {
		t.Fatalf("after many collections there are %d bytes", r.bytes)
	}
	for i := range 40 {
		done += uint64(i % 4 / 3) // one in two seconds
		if r.after(done) != mostRoom {
			t.Fatal("it is taken back while it is needed")
		}
	}
	for range 40 {
		r.after(done)
	}
	if r.bytes != leastRoom {
		t.Fatalf("long after the last collection there are %d bytes", r.bytes)
	}
	small := newRoom(2 << 30)
	for done := range uint64(20) {
		small.after(4 * done)
	}
	if small.bytes != 64<<20 {
		t.Fatalf("a machine of 2 GiB gives %d bytes", small.bytes)
	}
	if available() == 0 || collections() == 0 && total("/gc/heap/allocs:bytes") == 0 {
		t.Error("nothing is known of this machine")
	}
}
