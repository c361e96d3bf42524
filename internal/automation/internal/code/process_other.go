//go:build !linux

package code

import "time"

// spent takes what passes for what is worked.
func (*process) spent(now time.Time) time.Duration { return time.Duration(now.UnixNano()) }

// halt does nothing where it may not be possible: the process works beside the others.
func (*process) halt() {}

// resume has nothing to undo.
func (*process) resume() {}
