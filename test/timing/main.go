// Command timing looks whether the time that a wrong secret takes tells how much of it is right. It asks the real lookups of
// API keys and access tokens for secrets that share a long prefix with one that exists and for random ones, in random
// order, and compares both by Welch's t-test. It ends with 1 when they can be told apart.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"

	"atelier/test/timing/welch"
)

// told is the t from which on two kinds of secrets can be told apart.
const told = 4.5

// Report is what was found, of every lookup.
type Report struct {
	Samples   int      `json:"samples"` // of each kind
	Seed      uint64   `json:"seed"`
	Threshold float64  `json:"threshold"`
	Lookups   []Result `json:"lookups"`
	// Control is a lookup that leaks on purpose. When it is not seen to leak, the other figures mean nothing.
	Control Result `json:"control"`
	Passed  bool   `json:"passed"`
}

// Result is what was found of one lookup. Times are in nanoseconds.
type Result struct {
	Name   string       `json:"name"`
	T      float64      `json:"t"`
	Prefix welch.Series `json:"rightPrefix"`
	Random welch.Series `json:"random"`
	// Visible is the smallest difference of the means that would have been seen.
	Visible float64 `json:"visible"`
}

func (r Result) leaks() bool { return math.Abs(r.T) >= told || math.IsNaN(r.T) }

func main() {
	samples := flag.Int("samples", 100_000, "how many secrets of each kind are looked up")
	seed := flag.Uint64("seed", 1, "the seed of the order and of the secrets")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	report, err := run(ctx, *samples, *seed)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "timing:", err)
		os.Exit(1)
	}
	tell(os.Stderr, report)
	_ = json.NewEncoder(os.Stdout).Encode(report)
	if !report.Passed {
		os.Exit(1)
	}
}

func run(ctx context.Context, samples int, seed uint64) (*Report, error) {
	h, err := newHouse(ctx)
	if err != nil {
		return nil, err
	}
	defer h.close()
	report := &Report{Samples: samples, Seed: seed, Threshold: told, Passed: true}
	for _, lookup := range h.lookups(ctx) {
		result, err := measure(ctx, lookup, samples, seed)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", lookup.name, err)
		}
		report.Lookups = append(report.Lookups, result)
		report.Passed = report.Passed && !result.leaks()
	}
	report.Control, err = measure(ctx, h.leak(), samples, seed)
	report.Passed = report.Passed && report.Control.leaks()
	return report, err
}

// tell writes the report for people.
func tell(w io.Writer, report *Report) {
	_, _ = fmt.Fprintf(w, "%d secrets with a right prefix against as many random ones; |t| must stay below %.1f\n", report.Samples, report.Threshold)
	for _, r := range report.Lookups {
		verdict := "cannot be told apart"
		if r.leaks() {
			verdict = "CAN BE TOLD APART"
		}
		_, _ = fmt.Fprintf(w, "  %-38s t = %7.2f   %9.0f ns against %9.0f ns (a difference of %.0f ns would be seen): %s\n",
			r.Name, r.T, r.Prefix.Mean(), r.Random.Mean(), r.Visible, verdict)
	}
	verdict := "is seen to leak, so the measurement can see"
	if !report.Control.leaks() {
		verdict = "IS NOT SEEN TO LEAK, so the measurement is blind"
	}
	_, _ = fmt.Fprintf(w, "  %-38s t = %7.2f   %s\n", report.Control.Name, report.Control.T, verdict)
}
