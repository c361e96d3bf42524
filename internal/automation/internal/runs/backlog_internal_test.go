package runs

import (
	"testing"
	"time"
)

// Many that wait are counted once a second; those that come meanwhile are added, and near the limit all are counted again.
func TestBacklogIsRemembered(t *testing.T) {
	t.Parallel()
	const limit = 4 * longCount
	var b backlog
	now := time.Unix(0, 0)
	b.counted("few", now, longCount-1)
	if _, ok := b.recall("few", now, limit); ok {
		t.Error("few are not counted")
	}
	b.counted("many", now, longCount)
	b.add("many", 1)
	b.add("unknown", 1)
	if waiting, ok := b.recall("many", now.Add(countedFor-1), limit); waiting != longCount+1 || !ok {
		t.Errorf("%d wait, known: %v", waiting, ok)
	}
	if _, ok := b.recall("many", now.Add(countedFor), limit); ok {
		t.Error("what is old is believed")
	}
	b.add("many", limit/2-longCount-1)
	if _, ok := b.recall("many", now, limit); ok {
		t.Error("near the limit they are not counted")
	}
	b.counted("many", now, 0)
	if _, ok := b.recall("many", now, limit); ok || len(b.known) != 0 {
		t.Error("what has gone is remembered")
	}
}
