package contexts

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

// key names a context.
type key struct{ workspaceID, kind, id string }

// entry is a context as it was when it was read or written. It does not change.
type entry struct {
	value *value.Object
	// version is zero when nothing is stored.
	version int64
	// expires is in milliseconds; zero is never.
	expires int64
	size    int
}

// gone tells that the context does not exist, or not any more.
func (e *entry) gone(now time.Time) bool {
	return e.version == 0 || e.expires != 0 && e.expires <= sqldb.Millis(now)
}

// cache remembers contexts. What was read is remembered only if nothing was written meanwhile: it might be older than what was
// written, and that may be forgotten already.
type cache struct {
	entries *otter.Cache[key, *entry]
	seed    maphash.Seed
	shards  [shards]shard
}

const shards = 64

type shard struct {
	mu sync.Mutex
	// written counts what was written to any key of the shard.
	written uint64
}

func newCache(bytes int) *cache {
	const overhead = 200
	return &cache{
		seed: maphash.MakeSeed(),
		entries: otter.Must(&otter.Options[key, *entry]{
			MaximumWeight: uint64(max(bytes, 0)),
			Weigher: func(_ key, e *entry) uint32 {
				return uint32(overhead + 4*e.size) //nolint:gosec,mnd // bounded by what is accepted; values take more than their JSON
			},
		}),
	}
}

func (c *cache) shard(k key) *shard { return &c.shards[maphash.Comparable(c.seed, k)%shards] }

func (c *cache) get(k key) (*entry, bool) { return c.entries.GetIfPresent(k) }

// begin is called before a context is read; what it gives tells loaded whether something was written since.
func (c *cache) begin(k key) uint64 {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.written
}

// loaded remembers what was read.
func (c *cache) loaded(k key, e *entry, begun uint64) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.written == begun {
		c.entries.Set(k, e)
	}
}

// changed remembers what was written, unless something newer is remembered.
func (c *cache) changed(k key, e *entry) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written++
	if known, ok := c.entries.GetIfPresent(k); ok && known.version > e.version {
		return
	}
	c.entries.Set(k, e)
}

// forget makes the next read look into the database.
func (c *cache) forget(k key) {
	s := c.shard(k)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written++
	c.entries.Invalidate(k)
}
