package consumer

import (
	"math/rand/v2"
	"slices"

	"atelier/internal/bus"
)

// share is how many partitions each of the running instances holds at most.
func share(members int) int {
	members = max(members, 1)
	return (bus.Partitions + members - 1) / members
}

// holding is a partition this instance works on.
type holding struct {
	epoch    int64
	draining bool // it finishes its batch and gives the partition back
}

// plan is what an instance does about its partitions after a look at the table.
type plan struct {
	renew []int      // still ours
	lost  []int      // someone else took them
	drain []int      // more than our share
	take  []leaseRow // free, and ours to try
}

// decide compares the table with what is held. It gives back the highest partitions of a surplus, and tries free ones at
// random, so that instances seldom want the same one and one that cannot be had does not keep it from the others.
func decide(v view, owner string, held map[int]holding) plan {
	var p plan
	var active []int
	for _, row := range v.rows {
		mine, isHeld := held[row.partition]
		switch {
		case isHeld && (row.owner != owner || row.epoch != mine.epoch):
			p.lost = append(p.lost, row.partition)
		case isHeld:
			p.renew = append(p.renew, row.partition)
			if !mine.draining {
				active = append(active, row.partition)
			}
		case row.owner == "" || row.owner == owner || row.expired:
			p.take = append(p.take, row)
		}
	}
	fair := share(v.members)
	if len(active) > fair {
		slices.Sort(active)
		p.drain = active[fair:]
	}
	rand.Shuffle(len(p.take), func(a, b int) { p.take[a], p.take[b] = p.take[b], p.take[a] })
	p.take = p.take[:min(len(p.take), max(fair-len(active), 0))]
	return p
}
