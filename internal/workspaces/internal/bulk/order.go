package bulk

import (
	"container/heap"
	"fmt"
	"slices"
	"strings"

	"atelier/internal/errs"
)

// graph says which items each item comes after, by their positions.
type graph [][]int

// dependencies connects items with those that publish the apps that they need. What an item needs of itself, or what nobody
// publishes here, is no dependency: an app may be there already.
func dependencies(items []item) graph {
	publisher := map[string]int{}
	for i, one := range items {
		if one.App != nil {
			if _, taken := publisher[one.App.Slug]; !taken {
				publisher[one.App.Slug] = i
			}
		}
	}
	after := make(graph, len(items))
	for i, one := range items {
		for _, need := range one.needs {
			if at, ok := publisher[strings.TrimPrefix(need, "app/")]; ok && at != i && !slices.Contains(after[i], at) {
				after[i] = append(after[i], at)
			}
		}
	}
	return after
}

// inOrder puts each item behind those that it depends on, and otherwise leaves them in their order. Items that depend on each
// other in a circle cannot be put in order: they come last, and say so.
func inOrder(items []item) []item {
	after := dependencies(items)
	circular := make([]bool, len(items))
	for _, members := range after.circles() {
		slices.Sort(members)
		wrong := circle(items, after, members)
		for _, i := range members {
			circular[i] = true
			if items[i].Wrong == nil {
				items[i].Wrong = &wrong
			}
		}
	}
	ordered := make([]item, 0, len(items))
	for _, i := range after.sorted(circular) {
		ordered = append(ordered, items[i])
	}
	for i, one := range items {
		if circular[i] {
			ordered = append(ordered, one)
		}
	}
	return ordered
}

// sorted gives the positions of those that are in no circle, each behind what it depends on; of those that could be next, the
// first is.
func (g graph) sorted(circular []bool) []int {
	waits := make([]int, len(g))
	before := make([][]int, len(g))
	var ready smallest
	for i, needs := range g {
		if circular[i] {
			continue
		}
		for _, j := range needs {
			if !circular[j] {
				waits[i]++
				before[j] = append(before[j], i)
			}
		}
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	heap.Init(&ready)
	var order []int
	for ready.Len() > 0 {
		i, _ := heap.Pop(&ready).(int)
		order = append(order, i)
		for _, j := range before[i] {
			if waits[j]--; waits[j] == 0 {
				heap.Push(&ready, j)
			}
		}
	}
	return order
}

// smallest is a heap of positions.
type smallest []int

func (s smallest) Len() int           { return len(s) }
func (s smallest) Less(i, j int) bool { return s[i] < s[j] }
func (s smallest) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// Push implements heap.Interface.
func (s *smallest) Push(x any) {
	i, _ := x.(int)
	*s = append(*s, i)
}

// Pop implements heap.Interface.
func (s *smallest) Pop() any {
	last := (*s)[len(*s)-1]
	*s = (*s)[:len(*s)-1]
	return last
}

// circles gives the sets of positions that depend on each other in circles, by the algorithm of Tarjan, without recursion:
// a chain of ten thousand is no deeper than one of two.
func (g graph) circles() [][]int {
	t := &tarjan{graph: g, index: make([]int, len(g)), low: make([]int, len(g)), on: make([]bool, len(g))}
	for i := range g {
		if t.index[i] == 0 {
			t.visit(i)
		}
	}
	return t.found
}

type tarjan struct {
	graph
	index, low []int // of a position, counted from 1
	on         []bool
	stack      []int
	next       int
	found      [][]int
}

// step is where the walk is: at a position, and how many of its dependencies it has followed.
type step struct{ at, followed int }

func (t *tarjan) visit(root int) {
	walk := []step{t.enter(root)}
	for len(walk) > 0 {
		top := &walk[len(walk)-1]
		if top.followed < len(t.graph[top.at]) {
			to := t.graph[top.at][top.followed]
			top.followed++
			if t.index[to] == 0 {
				walk = append(walk, t.enter(to))
			} else if t.on[to] {
				t.low[top.at] = min(t.low[top.at], t.index[to])
			}
			continue
		}
		at := top.at
		walk = walk[:len(walk)-1]
		if len(walk) > 0 {
			above := walk[len(walk)-1].at
			t.low[above] = min(t.low[above], t.low[at])
		}
		t.leave(at)
	}
}

func (t *tarjan) enter(i int) step {
	t.next++
	t.index[i], t.low[i], t.on[i] = t.next, t.next, true
	t.stack = append(t.stack, i)
	return step{at: i}
}

func (t *tarjan) leave(i int) {
	if t.low[i] != t.index[i] {
		return
	}
	at := len(t.stack) - 1
	for t.stack[at] != i {
		at--
	}
	members := slices.Clone(t.stack[at:])
	t.stack = t.stack[:at]
	for _, j := range members {
		t.on[j] = false
	}
	if len(members) > 1 {
		t.found = append(t.found, members)
	}
}

// circle says which workspaces depend on each other: the shortest way from the first of them back to itself.
func circle(items []item, after graph, members []int) errs.Shown {
	from := map[int]int{}
	inside := map[int]bool{}
	for _, i := range members {
		inside[i] = true
	}
	first := members[0]
	queue := []int{first}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for _, to := range after[at] {
			if _, seen := from[to]; seen || !inside[to] {
				continue
			}
			from[to] = at
			queue = append(queue, to)
		}
	}
	way := []string{items[first].Slug}
	for at := from[first]; at != first; at = from[at] {
		way = append(way, items[at].Slug)
	}
	way = append(way, items[first].Slug)
	slices.Reverse(way)
	const most = 50
	short := way[:min(len(way), most)]
	message := fmt.Sprintf("These workspaces depend on each other in a circle, so that none can be imported first: %s. Remove one of the dependencies in .import.yml.", strings.Join(short, ", which needs "))
	return errs.New(errs.ValidationFailed, message).With("reason", "dependency_cycle").With("cycle", short).With("members", len(members)).Show()
}
