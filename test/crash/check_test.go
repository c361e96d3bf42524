package crash_test

import (
	"fmt"
	"slices"
	"testing"
)

// checkWorkspaces holds the stored workspaces, ids by slug, against the ledger: what was answered is there with its id, and
// nothing is there twice or without an intent.
func checkWorkspaces(entries []*workspaceEntry, stored map[string][]string) (problems []string) {
	intended := map[string]bool{}
	for _, w := range entries {
		intended[w.slug] = true
		ids := stored[w.slug]
		switch {
		case len(ids) > 1:
			problems = append(problems, fmt.Sprintf("%v exists %d times", w, len(ids)))
		case w.acked != 0 && len(ids) == 0:
			problems = append(problems, fmt.Sprintf("%v was acknowledged and is lost", w))
		case w.id != "" && ids[0] != w.id:
			problems = append(problems, fmt.Sprintf("%v has the id %s, its answer said %s", w, ids[0], w.id))
		}
	}
	for slug := range stored {
		if !intended[slug] {
			problems = append(problems, "workspace "+slug+" exists and nobody sent it")
		}
	}
	return problems
}

// checkEvents holds the stored events of one workspace, oldest first, against the emissions to it.
func checkEvents(emissions []*emission, stored []event) (problems []string) {
	places := map[int64][]int{}
	owner := map[int64]*emission{}
	for place, e := range stored {
		places[e.Payload.Number] = append(places[e.Payload.Number], place)
	}
	for _, e := range emissions {
		for _, number := range e.numbers {
			owner[number] = e
		}
		problems = append(problems, checkEmission(e, places, stored)...)
	}
	for number := range places {
		if owner[number] == nil {
			problems = append(problems, fmt.Sprintf("event %d exists and nobody sent it", number))
		}
	}
	return append(problems, checkOrder(owner, stored)...)
}

// checkEmission wants all events of an emission or, when it was not answered, all or none; each once, in order, and with
// the ids of the answer.
func checkEmission(e *emission, places map[int64][]int, stored []event) (problems []string) {
	var found []int
	for i, number := range e.numbers {
		at := places[number]
		if len(at) > 1 {
			problems = append(problems, fmt.Sprintf("event %d exists %d times", number, len(at)))
		}
		if len(at) == 0 {
			continue
		}
		found = append(found, at[0])
		if e.ids != nil && stored[at[0]].ID != e.ids[i] {
			problems = append(problems, fmt.Sprintf("event %d has the id %s, its answer said %s", number, stored[at[0]].ID, e.ids[i]))
		}
	}
	switch {
	case e.acked != 0 && len(found) < len(e.numbers):
		problems = append(problems, fmt.Sprintf("%v: acknowledged and %d lost", e, len(e.numbers)-len(found)))
	case len(found) > 0 && len(found) < len(e.numbers):
		problems = append(problems, fmt.Sprintf("%v: only a part is stored", e))
	case !slices.IsSorted(found):
		problems = append(problems, fmt.Sprintf("%v: stored in another order", e))
	}
	return problems
}

// checkOrder wants that what was answered before something else was sent is also stored before it.
func checkOrder(owner map[int64]*emission, stored []event) (problems []string) {
	latest := int64(0) // of the events so far: the last moment one was sent
	for i, e := range stored {
		if i > 0 && stored[i-1].ID == e.ID {
			problems = append(problems, "two events have the id "+e.ID)
		}
		mine := owner[e.Payload.Number]
		if mine == nil {
			continue
		}
		if mine.acked != 0 && mine.acked < latest {
			problems = append(problems, fmt.Sprintf("event %d was acknowledged before an event was sent that is stored before it", e.Payload.Number))
		}
		latest = max(latest, mine.sent)
	}
	return problems
}

// A checker that never complains proves nothing: it must notice each of these.
func TestCheckerNoticesWhatIsWrong(t *testing.T) {
	t.Parallel()
	at := func(sent, acked int64, numbers ...int64) *emission {
		return &emission{sending: sending{sent: sent, acked: acked}, workspace: &workspaceEntry{slug: "w"}, numbers: numbers}
	}
	read := func(numbers ...int64) (list []event) {
		for i, number := range numbers {
			list = append(list, event{ID: fmt.Sprint("id-", i), Payload: payload{Number: number}})
		}
		return list
	}
	other := at(1, 2, 10)
	other.ids = []string{"id-7"}
	for name, test := range map[string]struct {
		emissions []*emission
		stored    []event
		problems  int
	}{
		"all is well":              {[]*emission{at(1, 2, 10, 11), at(3, 4, 12)}, read(10, 11, 12), 0},
		"unknown and absent":       {[]*emission{at(1, 0, 10, 11)}, nil, 0},
		"unknown and there":        {[]*emission{at(1, 0, 10, 11)}, read(10, 11), 0},
		"at the same time":         {[]*emission{at(1, 4, 10), at(2, 3, 11)}, read(11, 10), 0},
		"lost":                     {[]*emission{at(1, 2, 10)}, nil, 1},
		"half lost":                {[]*emission{at(1, 2, 10, 11)}, read(10), 1},
		"half of an unknown":       {[]*emission{at(1, 0, 10, 11)}, read(11), 1},
		"twice":                    {[]*emission{at(1, 2, 10)}, read(10, 10), 1},
		"nobody's":                 {[]*emission{at(1, 2, 10)}, read(10, 99), 1},
		"another id":               {[]*emission{other}, read(10), 1},
		"other order in a request": {[]*emission{at(1, 2, 10, 11)}, read(11, 10), 1},
		"other order":              {[]*emission{at(1, 2, 10), at(3, 4, 12)}, read(12, 10), 1},
	} {
		if problems := checkEvents(test.emissions, test.stored); len(problems) != test.problems {
			t.Errorf("%s: %v, want %d problems", name, problems, test.problems)
		}
	}
	acked := &workspaceEntry{sending: sending{sent: 1, acked: 2}, slug: "a", id: "1"}
	unknown := &workspaceEntry{sending: sending{sent: 3}, slug: "b"}
	for name, test := range map[string]struct {
		stored   map[string][]string
		problems int
	}{
		"all is well": {map[string][]string{"a": {"1"}, "b": {"2"}}, 0},
		"absent":      {map[string][]string{"a": {"1"}}, 0},
		"lost":        {map[string][]string{"b": {"2"}}, 1},
		"twice":       {map[string][]string{"a": {"1"}, "b": {"2", "3"}}, 1},
		"another id":  {map[string][]string{"a": {"4"}}, 1},
		"nobody's":    {map[string][]string{"a": {"1"}, "c": {"5"}}, 1},
	} {
		if problems := checkWorkspaces([]*workspaceEntry{acked, unknown}, test.stored); len(problems) != test.problems {
			t.Errorf("%s: %v, want %d problems", name, problems, test.problems)
		}
	}
}
