package bus_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/bus"
)

func TestPositionKeepsWhatItIsMadeOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "milliseconds"))
		partition := rapid.IntRange(0, bus.Partitions-1).Draw(t, "partition")
		steps := rapid.Int64Range(0, 1<<20).Draw(t, "steps")
		first := bus.PositionAt(at, partition)
		if !first.Time().Equal(at) || first.Partition() != partition {
			t.Fatalf("%d is %s in partition %d", first, first.Time(), first.Partition())
		}
		later := first + bus.Position(steps)*bus.Step
		if later < first || later.Partition() != partition || later.Time().Before(at) {
			t.Fatalf("%d steps after %d: %d is %s in partition %d", steps, first, later, later.Time(), later.Partition())
		}
	})
}

func TestPositionsOfAnEarlierMillisecondAreSmaller(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		at := time.UnixMilli(rapid.Int64Range(0, 1<<42).Draw(t, "milliseconds"))
		steps := rapid.Int64Range(0, 1<<14-1).Draw(t, "steps")
		a := rapid.IntRange(0, bus.Partitions-1).Draw(t, "partition")
		b := rapid.IntRange(0, bus.Partitions-1).Draw(t, "other partition")
		last, next := bus.PositionAt(at, a)+bus.Position(steps)*bus.Step, bus.PositionAt(at.Add(time.Millisecond), b)
		if last >= next {
			t.Fatalf("%s is not before %s", last.ID(), next.ID())
		}
	})
}

func TestIDReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := bus.Position(rapid.Int64Min(0).Draw(t, "position"))
		got, err := bus.ParseID(p.ID())
		if err != nil || got != p {
			t.Fatalf("%s reads as %d, %v; want %d", p.ID(), got, err, p)
		}
	})
}

func TestParseIDAcceptsOneTextForAPosition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringMatching(`[-+0-9a-z ]{0,3}[0-9]{1,14}-?[-+0-9]{0,9}`).Draw(t, "text")
		p, err := bus.ParseID(text)
		if err == nil && (p < 0 || p.ID() != text) {
			t.Fatalf("%q reads as %d, which is %q", text, p, p.ID())
		}
	})
	for _, wrong := range []string{
		"", "-", "1", "1-", "-1", "1-1-1", "+1-1", "01-1", "1-01", "1-+1", " 1-1", "1--1",
		"9999999999999-0", "1-1048576", "9223372036854775808-0", "1-9223372036854775808",
	} {
		if p, err := bus.ParseID(wrong); err == nil {
			t.Errorf("%q reads as %d", wrong, p)
		}
	}
}

func TestPartitionOfIsStable(t *testing.T) {
	t.Parallel()
	want := map[string]int{"": 5, "a": 12, "workspace-0": 3} // stored data depends on it
	for workspace, partition := range want {
		if got := bus.PartitionOf(workspace); got != partition {
			t.Errorf("workspace %q is in partition %d, want %d", workspace, got, partition)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if p := bus.PartitionOf(rapid.String().Draw(t, "workspace")); p < 0 || p >= bus.Partitions {
			t.Fatalf("partition %d", p)
		}
	})
}
