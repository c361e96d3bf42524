package limits

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/maypok86/otter/v2"

	"atelier/internal/clock"
)

// quotas counts the calls of each caller in a day of UTC. Every process counts by itself and adds its share to the common
// count after every hundredth of the quota, so that instances together may exceed it by a hundredth each, and an ordinary
// call costs no trip to the store.
type quotas struct {
	store  *patient
	clock  clock.Clock
	perDay int64
	// share is how many calls a process counts by itself before it tells the others.
	share int64
	days  *otter.Cache[string, *day]
}

// day is what a process knows of a caller's calls on one day.
type day struct {
	mu    sync.Mutex
	date  int64 // days since 1970
	known int64 // of all processes, when they were last asked
	own   int64 // since then, by this process
	fresh bool  // nobody was asked yet
}

const (
	quotaFor    = 24 * time.Hour
	quotaShares = 100
	quotaGrace  = time.Hour // clocks differ
)

func newQuotas(store *patient, clk clock.Clock, perDay int) (*quotas, error) {
	days, err := otter.New(&otter.Options[string, *day]{MaximumSize: remembered})
	if err != nil {
		return nil, err
	}
	return &quotas{store: store, clock: clk, perDay: int64(perDay), share: max(1, int64(perDay)/quotaShares), days: days}, nil
}

// take counts one call. When the quota is used up it gives the time until the next day.
func (q *quotas) take(ctx context.Context, key string) (wait time.Duration, ok bool) {
	if q.perDay <= 0 {
		return 0, true
	}
	now := q.clock.Now()
	date := now.Unix() / int64(quotaFor/time.Second)
	d, _ := q.days.ComputeIfAbsent(key, func() (*day, bool) { return &day{fresh: true}, false })
	used, report := d.count(date, q)
	if report {
		used = q.exchange(ctx, key, d)
	}
	if used <= q.perDay {
		return 0, true
	}
	return time.Unix((date+1)*int64(quotaFor/time.Second), 0).Sub(now), false
}

// count adds a call and tells how many there were, and whether it is time to ask the others. Once the quota is used up
// nothing is added or asked any more.
func (d *day) count(date int64, q *quotas) (used int64, report bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.date != date {
		d.date, d.known, d.own, d.fresh = date, 0, 0, true
	}
	if d.known+d.own >= q.perDay {
		return q.perDay + 1, false
	}
	d.own++
	report = d.fresh || d.own >= q.share
	d.fresh = false
	return d.known + d.own, report
}

// exchange adds what this process counted to the common count, when it is worth a write, and learns what the others did.
// When the store fails the calls stay counted here and are told later.
func (q *quotas) exchange(ctx context.Context, key string, d *day) int64 {
	date, told := d.tell(q.share)
	var total int64
	err := q.store.update(ctx, "quota:"+strconv.FormatInt(date, 10)+":"+key, func(old []byte) ([]byte, time.Duration) {
		common, _ := strconv.ParseInt(string(old), 10, 64)
		total = common + told
		if told == 0 {
			return nil, 0
		}
		return strconv.AppendInt(nil, total, 10), quotaFor + quotaGrace
	})
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.date != date: // midnight has passed meanwhile
	case err != nil:
		d.own, d.known = d.own+told, d.known-told
	default:
		d.known = max(d.known, total)
	}
	return d.known + d.own
}

// tell gives the calls that the others are to hear of. They count as known from here on, so that no other call tells them
// again.
func (d *day) tell(share int64) (date, told int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.own < share {
		return d.date, 0
	}
	told = d.own
	d.own, d.known = 0, d.known+told
	return d.date, told
}
