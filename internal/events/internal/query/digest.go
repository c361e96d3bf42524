package query

import (
	"cmp"
	"math"
	"slices"
)

const (
	// exactValues is how many numbers are kept as they are. Of more, neighbours are put together.
	exactValues = 4096
	// precision is how finely they are: at most about so many stay apart, the more of them towards the ends.
	precision = 500
)

// digest keeps the distribution of numbers in little memory: exactly as long as they are few, and later as a merging
// t-digest, which is exact at the ends and close between them.
type digest struct {
	parts []centroid
	total float64
	dirty bool
}

// centroid stands for numbers that lie close together.
type centroid struct{ mean, weight float64 }

func (d *digest) size() int { return len(d.parts) }

func (d *digest) add(number float64) {
	if len(d.parts) >= exactValues {
		d.compress()
	}
	d.parts = append(d.parts, centroid{mean: number, weight: 1})
	d.total++
	d.dirty = true
}

func (d *digest) sort() {
	if d.dirty {
		slices.SortFunc(d.parts, func(a, b centroid) int { return cmp.Compare(a.mean, b.mean) })
		d.dirty = false
	}
}

// compress puts neighbours together as far as the scale function of t-digests allows.
func (d *digest) compress() {
	d.sort()
	kept := d.parts[:1]
	done := 0.0 // the weight before the last that was kept
	for _, next := range d.parts[1:] {
		last := &kept[len(kept)-1]
		if quantile((done+last.weight+next.weight)/d.total)-quantile(done/d.total) <= 1 {
			weight := last.weight + next.weight
			last.mean += (next.mean - last.mean) * next.weight / weight
			last.weight = weight
			continue
		}
		done += last.weight
		kept = append(kept, next)
	}
	d.parts = kept
}

func quantile(q float64) float64 {
	return precision / (2 * math.Pi) * math.Asin(2*min(1, max(0, q))-1)
}

// at is the number below which a part of all numbers lies, between neighbours in proportion; NaN when there are none.
func (d *digest) at(q float64) float64 {
	d.sort()
	if len(d.parts) == 0 {
		return math.NaN()
	}
	target := q * (d.total - 1)
	before := 0.0
	for i, part := range d.parts {
		middle := before + (part.weight-1)/2
		if target <= middle {
			if i == 0 {
				return part.mean
			}
			previous := d.parts[i-1]
			start := before - (previous.weight+1)/2
			return previous.mean + (part.mean-previous.mean)*(target-start)/(middle-start)
		}
		before += part.weight
	}
	return d.parts[len(d.parts)-1].mean
}
