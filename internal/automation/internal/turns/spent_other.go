//go:build !unix

package turns

import "time"

// Spent is not known here.
func Spent() time.Duration { return 0 }
