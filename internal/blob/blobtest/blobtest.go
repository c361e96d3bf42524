// Package blobtest is the suite every blob driver passes.
package blobtest

import (
	"testing"

	"atelier/internal/blob"
)

// Run checks a driver. open returns an empty store of its own for each call and cleans up after itself. The calling test
// is not parallel: the first case counts the memory of the whole process.
func Run(t *testing.T, open func(t *testing.T) blob.Store) {
	t.Helper()
	t.Run("MemoryStaysBounded", func(t *testing.T) { memoryStaysBounded(t, open(t)) })
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, open(t))
		})
	}
}

type testCase struct {
	name  string
	check func(t *testing.T, s blob.Store)
}

func cases() []testCase {
	return []testCase{
		{"RoundTrip", roundTrip},
		{"EqualContentIsStoredOnce", equalContentIsStoredOnce},
		{"ConcurrentPutsOfTheSame", concurrentPutsOfTheSame},
		{"LimitIsInclusive", limitIsInclusive},
		{"TooLargeLeavesNothing", tooLargeLeavesNothing},
		{"FailingReaderLeavesNothing", failingReaderLeavesNothing},
		{"CancelledPutLeavesNothing", cancelledPutLeavesNothing},
		{"CancelledContextStopsEverything", cancelledContextStopsEverything},
		{"ReaderEndsWithItsContext", readerEndsWithItsContext},
		{"Ranges", ranges},
		{"RangesAgreeWithSlices", rangesAgreeWithSlices},
		{"NegativeOffset", negativeOffset},
		{"AbsentContent", absentContent},
		{"MalformedHashes", malformedHashes},
		{"Delete", deletes},
		{"Walk", walks},
		{"WalkStopsAtAnError", walkStopsAtAnError},
		{"PingLeavesNothing", pingLeavesNothing},
		{"DriverHasAName", driverHasAName},
	}
}
