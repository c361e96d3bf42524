package compare

import (
	"atelier/internal/dsul/internal/value"
)

func (c *comparison) lists(at spot, from, to *value.Value) {
	if key, names, ok := value.Names(from.Items, to.Items); ok {
		c.named(at, key, named{from.Items, names[0]}, named{to.Items, names[1]})
		return
	}
	pairs := value.Pairs(from.Items, to.Items)
	removed, added := 0, 0
	for _, pair := range pairs {
		c.unpaired(at, from.Items[:pair.From], removed, Removed)
		c.unpaired(at, to.Items[:pair.To], added, Added)
		c.values(at.item(pair.To), from.Items[pair.From], to.Items[pair.To])
		removed, added = pair.From+1, pair.To+1
	}
	c.unpaired(at, from.Items, removed, Removed)
	c.unpaired(at, to.Items, added, Added)
}

// unpaired adds the items from a place on that have come or gone.
func (c *comparison) unpaired(at spot, items []*value.Value, from int, kind string) {
	for i := from; i < len(items); i++ {
		c.one(at.item(i).path, kind, items[i])
	}
}

func (c *comparison) one(path, kind string, item *value.Value) {
	if kind == Removed {
		c.add(path, Removed, item, nil)
	} else {
		c.add(path, Added, nil, item)
	}
}

// named is a list whose items are known by names.
type named struct {
	items []*value.Value
	names []string
}

// named compares lists by the names of their items. Those that are out of order have been moved.
func (c *comparison) named(at spot, key string, from, to named) {
	places := make(map[string]int, len(from.names))
	for i, name := range from.names {
		places[name] = i
	}
	stays := inOrder(places, to.names)
	for i, name := range to.names {
		path := at.named(key, name)
		before, known := places[name]
		switch {
		case !known:
			c.add(path.path, Added, nil, to.items[i])
		case stays[name]:
			c.values(path, from.items[before], to.items[i])
		default:
			c.add(path.path, Removed, from.items[before], nil)
			c.add(path.path, Added, nil, to.items[i])
		}
		delete(places, name)
	}
	for i, name := range from.names {
		if _, gone := places[name]; gone {
			c.add(at.named(key, name).path, Removed, from.items[i], nil)
		}
	}
}

// inOrder gives the names that need not move: a longest stretch of them that is in the order of their old places.
func inOrder(places map[string]int, names []string) map[string]bool {
	var common []string
	for _, name := range names {
		if _, known := places[name]; known {
			common = append(common, name)
		}
	}
	// ends[k] is the name that ends a rising series of length k+1 with the smallest place.
	var ends []int
	before := make([]int, len(common))
	for i, name := range common {
		low, high := 0, len(ends)
		for low < high {
			if middle := (low + high) / 2; places[common[ends[middle]]] < places[name] {
				low = middle + 1
			} else {
				high = middle
			}
		}
		before[i] = -1
		if low > 0 {
			before[i] = ends[low-1]
		}
		if low == len(ends) {
			ends = append(ends, i)
		} else {
			ends[low] = i
		}
	}
	stays := make(map[string]bool, len(ends))
	if len(ends) > 0 {
		for i := ends[len(ends)-1]; i >= 0; i = before[i] {
			stays[common[i]] = true
		}
	}
	return stays
}
