package main

import (
	"sync"
	"time"
)

// cores measures how much faster this machine does four pieces of work beside each other than one after the other: what two processors
// give depends on who else is on the machine, and no program can do better.
type cores struct{ serial, parallel time.Duration }

// measure measures it once more; the fastest counts.
func (c *cores) measure() {
	const pieces = 4
	began := time.Now()
	for range pieces {
		piece()
	}
	c.serial = fastest(c.serial, time.Since(began))
	began = time.Now()
	var all sync.WaitGroup
	for range pieces {
		all.Go(piece)
	}
	all.Wait()
	c.parallel = fastest(c.parallel, time.Since(began))
}

func (c *cores) gain() float64 { return float64(c.serial) / float64(c.parallel) }

func fastest(a, b time.Duration) time.Duration {
	if a == 0 || b < a {
		return b
	}
	return a
}

// piece is work of the kind that automations do: it looks variables up, calculates with them and sets them.
func piece() {
	const rounds = 200_000
	variables := map[string]any{"item": 0.0}
	for i := range rounds {
		variables["item"] = float64(i)
		if item, ok := variables["item"].(float64); ok {
			variables["x"] = item*2 + 1 //nolint:mnd // what the automation calculates
		}
	}
}
