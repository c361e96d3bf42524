package clock

import "time"

// anchored shows the time of somebody else, and moves with a clock of its own.
type anchored struct {
	Clock

	at, mark time.Time
}

// Anchored is a clock that shows now at this moment and from here on moves as the other one does. With the machine's own clock that
// is what has passed, whatever its date is set to meanwhile.
func Anchored(moving Clock, now time.Time) Clock {
	return &anchored{Clock: moving, at: now, mark: moving.Now()}
}

// Now is the time.
func (a *anchored) Now() time.Time { return a.at.Add(a.Clock.Now().Sub(a.mark)) }
