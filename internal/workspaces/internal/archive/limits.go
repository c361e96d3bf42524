package archive

import (
	"time"

	"atelier/internal/clock"
)

// ratioFloor is what every archive may inflate to, however small it is: a short text may well repeat itself.
const ratioFloor = 1 << 20

// Limits bound what an archive may ask of us. In a bulk archive they bound the whole, not each archive in it.
type Limits struct {
	// Input is the largest archive in bytes, and Output what all its files may have together.
	Input, Output int64
	// Ratio is how many times its own size an archive may inflate to.
	Ratio int
	// Entries is how many files and folders there may be.
	Entries int
	// File is the largest single file in bytes.
	File int64
	// Time is how long the reading may take, by Clock.
	Time time.Duration
	// Clock tells the time; nil is the machine's.
	Clock clock.Clock
}

// DefaultLimits are those of the product.
func DefaultLimits() Limits {
	return Limits{Input: 50_000_000, Output: 200_000_000, Ratio: 100, Entries: 5000, File: 5_000_000, Time: 5 * time.Second, Clock: clock.System{}}
}

// budget is what is left of the limits while an archive and those inside it are read.
type budget struct {
	limits   Limits
	deadline time.Time
	entries  int
	output   int64
	inflated int64
}

func newBudget(size int64, limits Limits) *budget {
	if limits.Clock == nil {
		limits.Clock = clock.System{}
	}
	return &budget{
		limits: limits, deadline: limits.Clock.Now().Add(limits.Time), entries: limits.Entries,
		output: limits.Output, inflated: max(ratioFloor, size*int64(limits.Ratio)),
	}
}

// inTime fails once the reading takes too long.
func (b *budget) inTime() error {
	if b.limits.Clock.Now().After(b.deadline) {
		return refuse(whole, "it takes more than %s to read; make it smaller", b.limits.Time)
	}
	return nil
}

// takeEntries fails when there are more entries than are left.
func (b *budget) takeEntries(count int) error {
	if count > b.entries {
		return refuse(whole, "it has more than %d files and folders", b.limits.Entries)
	}
	b.entries -= count
	return nil
}

// takeOutput fails when the entry's bytes are more than are left.
func (b *budget) takeOutput(name string, size int64) error {
	b.output -= size
	b.inflated -= size
	switch {
	case b.output < 0:
		return tooLarge(name, "output", b.limits.Output, "The files of the archive may have at most %d bytes together.")
	case b.inflated < 0:
		return tooLarge(name, "ratio", int64(b.limits.Ratio), "The archive may inflate to at most %d times its size.")
	}
	return nil
}
