package turns

import "time"

const (
	// saved is how much may be spent at once after a pause.
	saved = 2 * time.Millisecond
	// longest is how long heavy workspaces rest before each turn, however much was spent: they go on, too.
	longest = 10 * time.Millisecond
	// margin is how much of a processor stays free beside those that are kept free as a whole: with every one of the others busy all
	// the time, whoever wakes up on one of them would wait.
	margin = 0.4
)

// purse is the processor time that the process may use while heavy workspaces work. It is filled all the time, and everything that
// the process does is paid from it. The lock of the turns is held.
type purse struct {
	rate  float64 // processors
	spent func() time.Duration

	filled time.Time
	paid   time.Duration // what was spent in all when it was last looked at
	left   float64       // nanoseconds
}

// owed is how long to wait until there is something in the purse. When nobody can be disturbed it costs nothing.
func (p *purse) owed(now time.Time, disturbing bool) time.Duration {
	if p.spent == nil || !disturbing {
		p.filled = time.Time{} // what was before is of no account
		return 0
	}
	passed, paid := now.Sub(p.filled), p.spent()
	p.left += p.rate*float64(passed) - float64(paid-p.paid)
	p.filled, p.paid = now, paid
	if passed > time.Second {
		p.left = 0
	}
	p.left = max(min(p.left, float64(saved)), -p.rate*float64(longest))
	return max(time.Duration(-p.left/p.rate), 0)
}
