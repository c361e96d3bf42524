package kvtest

import (
	"fmt"
	"strings"
	"testing"

	"atelier/internal/kv"
)

func (s suite) values(t *testing.T) {
	t.Run("a key nobody wrote is not found", func(t *testing.T) {
		s.store(t).lacks("nobody")
	})
	t.Run("set stores and replaces", func(t *testing.T) {
		f := s.store(t)
		f.set("key", "one", long)
		f.holds("key", "one")
		f.set("key", "two", long)
		f.holds("key", "two")
	})
	t.Run("add stores only when absent", func(t *testing.T) {
		f := s.store(t)
		f.yes(f.add("key", "one", long), "add on an absent key")
		f.no(f.add("key", "two", long), "add on a present key")
		f.holds("key", "one")
	})
	t.Run("swap replaces only the expected value", func(t *testing.T) {
		f := s.store(t)
		f.no(f.swap("key", "", "one", long), "swap of an absent key")
		f.lacks("key")
		f.set("key", "one", long)
		f.no(f.swap("key", "other", "two", long), "swap from another value")
		f.no(f.swap("key", "", "two", long), "swap from nothing")
		f.no(f.swap("key", "on", "two", long), "swap from the beginning of the value")
		f.holds("key", "one")
		f.yes(f.swap("key", "one", "two", long), "swap from the value")
		f.holds("key", "two")
		f.yes(f.swap("key", "two", "two", long), "swap for the same value")
	})
	t.Run("delete", s.deletes)
}

func (s suite) deletes(t *testing.T) {
	t.Run("removes many and forgives the absent", func(t *testing.T) {
		f := s.store(t)
		f.set("one", "1", long)
		f.set("two", "2", long)
		f.set("three", "3", long)
		f.must(f.Delete(f.t.Context(), "one", "nobody", "three", "one"))
		f.lacks("one")
		f.holds("two", "2")
		f.lacks("three")
		f.must(f.Delete(f.t.Context()))
		f.yes(f.add("one", "again", long), "add after delete")
	})
	t.Run("takes a thousand keys", func(t *testing.T) {
		f := s.store(t)
		keys := make([]string, 1201)
		for i := range keys {
			keys[i] = fmt.Sprint("key ", i)
		}
		f.set(keys[0], "first", long)
		f.set(keys[len(keys)-1], "last", long)
		f.must(f.Delete(f.t.Context(), keys...))
		f.lacks(keys[0])
		f.lacks(keys[len(keys)-1])
	})
}

func (s suite) races(t *testing.T) {
	t.Run("one of many adds wins", func(t *testing.T) {
		f := s.store(t)
		won := f.race(func(caller int) (bool, error) {
			return f.Add(f.t.Context(), "key", fmt.Append(nil, caller), long)
		})
		if won != 1 {
			t.Fatalf("%d callers added the key", won)
		}
	})
	t.Run("one of many swaps wins", func(t *testing.T) {
		f := s.store(t)
		f.set("key", "start", long)
		winner := make(chan int, callers)
		won := f.race(func(caller int) (bool, error) {
			ok, err := f.Swap(f.t.Context(), "key", []byte("start"), fmt.Append(nil, caller), long)
			if ok {
				winner <- caller
			}
			return ok, err
		})
		if won != 1 {
			t.Fatalf("%d callers swapped the key", won)
		}
		f.holds("key", fmt.Sprint(<-winner))
	})
	t.Run("takers together get the burst and no more", func(t *testing.T) {
		f := s.store(t)
		limit := kv.Limit{Count: 10, Period: 10 * long}
		won := f.race(func(int) (bool, error) {
			decision, err := f.Take(f.t.Context(), "key", limit)
			return decision.Allowed, err
		})
		if won != limit.Count {
			t.Fatalf("%d takers were allowed, want %d", won, limit.Count)
		}
	})
}

func (s suite) bytes(t *testing.T) {
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	odd := []string{"", "\x00", "a\x00b", "\xff\xfe", "'; DROP TABLE kv_values; --", "0", " ", "false", "ключ", string(all)}
	t.Run("values are any bytes", func(t *testing.T) {
		f := s.store(t)
		for _, value := range append(odd, strings.Repeat("x", 64<<10)) {
			f.set("key", value, long)
			f.holds("key", value)
			f.yes(f.swap("key", value, "next", long), "swap from an odd value")
			f.yes(f.swap("key", "next", value, long), "swap to an odd value")
			f.holds("key", value)
		}
		f.must(f.Set(f.t.Context(), "key", nil, long))
		f.holds("key", "")
		swapped, err := f.Swap(f.t.Context(), "key", nil, nil, long)
		f.must(err)
		f.yes(swapped, "swap from nil, which is what is stored")
	})
	t.Run("keys are any bytes", func(t *testing.T) { s.keys(t, append(odd[1:], oddKeys()...)) })
	t.Run("a key has a length", func(t *testing.T) { s.badKeys(t, "", strings.Repeat("k", kv.MaxKey+1)) })
	t.Run("bytes are not shared", func(t *testing.T) {
		f := s.store(t)
		value := []byte("value")
		f.must(f.Set(f.t.Context(), "key", value, long))
		value[0] = 'X'
		f.holds("key", "value")
		got, err := f.Get(f.t.Context(), "key")
		f.must(err)
		got[0] = 'X'
		f.holds("key", "value")
	})
}

// oddKeys are easily taken for one another, or for something else.
func oddKeys() []string {
	kilobyte := strings.Repeat("k", kv.MaxKey-1)
	return []string{
		"key", "Key", "key ", " key", "key\n", "{key}", "{}key", "key*", "k?y", "k%y", "k_y", "..", "a:b", "a::b",
		"é", "e\u0301", kilobyte + "1", kilobyte + "2", strings.Repeat("\xff", kv.MaxKey),
	}
}

func (s suite) keys(t *testing.T, keys []string) {
	t.Helper()
	f := s.store(t)
	limit := kv.Limit{Count: 1, Period: long}
	for i, key := range keys {
		f.yes(f.add(key, fmt.Sprint(i), long), fmt.Sprintf("add of %.40q", key))
		f.yes(f.take(key, limit).Allowed, fmt.Sprintf("take of %.40q", key))
	}
	for i, key := range keys {
		f.holds(key, fmt.Sprint(i))
		f.no(f.take(key, limit).Allowed, fmt.Sprintf("second take of %.40q", key))
	}
	f.must(f.Delete(f.t.Context(), keys...))
	for _, key := range keys {
		f.lacks(key)
	}
}
