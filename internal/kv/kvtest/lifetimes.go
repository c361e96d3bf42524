package kvtest

import (
	"fmt"
	"testing"
	"time"
)

func (s suite) lifetimes(t *testing.T) {
	t.Run("a value ends", func(t *testing.T) {
		f := s.store(t)
		f.set("set", "value", short)
		f.yes(f.add("added", "value", short), "add")
		f.set("stays", "value", long)
		s.advance(ended)
		for _, key := range []string{"set", "added"} {
			Eventually(t, "the value ends", func() bool { return f.gone(key) })
		}
		f.holds("stays", "value")
	})
	t.Run("set gives a new lifetime", func(t *testing.T) {
		f := s.store(t)
		f.set("longer", "value", short)
		f.set("longer", "value", long)
		f.set("shorter", "value", long)
		f.set("shorter", "value", short)
		s.advance(ended)
		Eventually(t, "the shorter lifetime ends", func() bool { return f.gone("shorter") })
		f.holds("longer", "value")
	})
	t.Run("swap gives a new lifetime, a lost swap does not", func(t *testing.T) {
		f := s.store(t)
		f.set("longer", "one", 50*short)
		f.yes(f.swap("longer", "one", "two", long), "swap")
		f.set("shorter", "one", long)
		f.yes(f.swap("shorter", "one", "two", short), "swap")
		f.set("lost", "one", long)
		f.no(f.swap("lost", "other", "two", short), "swap from another value")
		s.advance(ended)
		Eventually(t, "the shorter lifetime ends", func() bool { return f.gone("shorter") })
		f.holds("longer", "two")
		f.holds("lost", "one")
	})
	t.Run("present and ended", s.presentAndEnded)
	t.Run("extremes", s.extremes)
	for _, ttl := range []time.Duration{0, -1, -long} {
		t.Run(fmt.Sprintf("a lifetime of %v is none", ttl), func(t *testing.T) { s.noLifetime(t, ttl) })
	}
}

func (s suite) presentAndEnded(t *testing.T) {
	t.Run("a refused add changes no lifetime", func(t *testing.T) {
		f := s.store(t)
		f.set("key", "one", long)
		f.no(f.add("key", "two", short), "add on a present key")
		s.advance(2 * ended)
		f.holds("key", "one")
	})
	t.Run("an ended value is absent", func(t *testing.T) {
		f := s.store(t)
		f.set("swapped", "one", short)
		f.set("added", "one", short)
		s.advance(ended)
		Eventually(t, "the values end", func() bool { return f.gone("swapped") && f.gone("added") })
		f.no(f.swap("swapped", "one", "two", long), "swap from an ended value")
		f.yes(f.add("added", "two", long), "add over an ended value")
		f.holds("added", "two")
	})
}

func (s suite) extremes(t *testing.T) {
	t.Run("the shortest lifetime is one", func(t *testing.T) {
		f := s.store(t)
		f.set("key", "value", time.Nanosecond)
		s.advance(ended)
		Eventually(t, "the value ends", func() bool { return f.gone("key") })
	})
	t.Run("the longest lifetime is one", func(t *testing.T) {
		f := s.store(t)
		const longest = 1<<63 - 1
		f.set("key", "value", longest)
		f.yes(f.swap("key", "value", "next", longest), "swap for a long time")
		f.holds("key", "next")
		f.yes(f.add("added", "value", longest), "add for a long time")
		f.holds("added", "value")
	})
}
