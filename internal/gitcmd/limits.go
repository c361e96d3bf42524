package gitcmd

import (
	"cmp"
	"time"
)

// Limits bound what a remote repository can cost. A zero field is its default.
type Limits struct {
	Total        time.Duration // a whole operation, 10 minutes
	Connect      time.Duration // until the other side has shaken hands, 10 seconds
	LowSpeed     int           // bytes a second that are too slow, 1000 ...
	LowSpeedTime time.Duration // ... when they last this long, 30 seconds
	Disk         int64         // bytes that one fetch may bring, 500 MB
	Objects      int           // objects that one fetch or pack may bring, a million
	Refs         int           // refs that are listed, 100,000
}

func (l Limits) orDefaults() Limits {
	return Limits{
		Total:        cmp.Or(l.Total, 10*time.Minute),
		Connect:      cmp.Or(l.Connect, 10*time.Second),
		LowSpeed:     cmp.Or(l.LowSpeed, 1000),
		LowSpeedTime: cmp.Or(l.LowSpeedTime, 30*time.Second),
		Disk:         cmp.Or(l.Disk, 500_000_000),
		Objects:      cmp.Or(l.Objects, 1_000_000),
		Refs:         cmp.Or(l.Refs, 100_000),
	}
}
