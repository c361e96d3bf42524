package runs

import (
	"strconv"
	"testing"
)

func some(workspaceID string, n int) (jobs []*job) {
	for i := range n {
		jobs = append(jobs, &job{row: row{id: workspaceID + strconv.Itoa(i), workspaceID: workspaceID}})
	}
	return jobs
}

// begun takes all runs that may work now, and counts them by workspace.
func begun(p *pool) (jobs []*job, count map[string]int) {
	count = map[string]int{}
	for j := p.next(); j != nil; j = p.next() {
		jobs = append(jobs, j)
		count[j.workspaceID]++
	}
	return jobs, count
}

// However many workspaces work hard, one that does little finds a place at once.
func TestHeavyWorkspacesLeavePlaces(t *testing.T) {
	t.Parallel()
	p := newPool(Settings{Total: 16, Share: 8}, func(workspaceID string) bool { return workspaceID != "light" })
	for _, id := range []string{"a", "b", "c", "d"} {
		p.add(some(id, 20)...)
	}
	jobs, count := begun(p)
	if len(jobs) != 12 || count["a"] != 3 || count["b"] != 3 || count["c"] != 3 || count["d"] != 3 {
		t.Fatalf("at first %v work", count)
	}
	p.add(some("light", 6)...)
	if _, count = begun(p); count["light"] != 4 || len(count) != 1 {
		t.Errorf("then %v more", count)
	}
	p.done(jobs[0]) // the next one in line works: places are for all, and only the last ones are kept
	if _, count = begun(p); count["light"] != 1 || len(count) != 1 {
		t.Errorf("in the place of a heavy one %v", count)
	}
	for _, j := range jobs[1:6] {
		p.done(j)
	}
	if _, count = begun(p); count["light"] != 1 || len(count) < 2 {
		t.Errorf("in five places %v", count)
	}
}

// Workspaces that do little share all places.
func TestAllPlacesAreUsed(t *testing.T) {
	t.Parallel()
	p := newPool(Settings{Total: 16, Share: 8}, nil)
	p.add(some("a", 20)...)
	p.add(some("b", 20)...)
	if jobs, count := begun(p); len(jobs) != 16 || count["a"] != 8 || count["b"] != 8 {
		t.Errorf("%v work", count)
	}
}
