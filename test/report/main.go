// Command report reads the output of go test -json and tells what a person needs: each package in a line, everything a
// failed test printed, and every test that was skipped, by name and reason. Its last line counts them. With CI=true a
// skipped test is a failure, because there every server is provided.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
)

func main() {
	r := newReport(os.Stdout)
	err := r.read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
	}
	if !r.close(os.Getenv("CI") == "true") || err != nil {
		os.Exit(1)
	}
}

// event is a line of go test -json.
type event struct {
	Action     string
	Package    string
	ImportPath string
	Test       string
	Output     string
	Elapsed    float64
}

type report struct {
	out     io.Writer
	output  map[string][]string // what each test has printed so far
	passed  int
	failed  int
	broken  int // packages that failed without a failed test: they did not build, or panicked
	skipped []string
	failing map[string]bool // packages with a failed test
}

func newReport(out io.Writer) *report {
	return &report{out: out, output: map[string][]string{}, failing: map[string]bool{}}
}

func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil {
				r.take(e)
			} else {
				r.print("%s", line) // not an event: go itself has something to say
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e event) {
	test := e.Package + " " + e.Test
	switch e.Action {
	case "output":
		r.output[test] = append(r.output[test], e.Output)
	case "build-output":
		r.print("%s", e.Output)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.endPackage(e)
		} else {
			r.endTest(e, test)
		}
		delete(r.output, test)
	}
}

func (r *report) endTest(e event, test string) {
	switch e.Action {
	case "pass":
		r.passed++
	case "fail":
		r.failed++
		r.failing[e.Package] = true
		r.print("%s", strings.Join(r.output[test], ""))
	case "skip":
		r.skipped = append(r.skipped, test+": "+reason(r.output[test]))
	}
}

// reason is the line in which a test says why it was skipped.
func reason(output []string) string {
	for _, line := range output {
		if _, why, found := strings.Cut(line, "SKIPPED: "); found {
			return strings.TrimSpace(why)
		}
	}
	return strings.TrimSpace(strings.Join(output, " "))
}

func (r *report) endPackage(e event) {
	switch e.Action {
	case "pass":
		r.print("ok    %-40s %.1fs\n", e.Package, e.Elapsed)
	case "fail":
		if !r.failing[e.Package] {
			r.broken++
			r.print("%s", strings.Join(r.output[e.Package+" "], ""))
		}
		r.print("FAIL  %-40s %.1fs\n", e.Package, e.Elapsed)
	}
}

// close prints the skipped tests and the count, and tells whether all is well.
func (r *report) close(strict bool) bool {
	for _, test := range r.skipped {
		r.print("SKIPPED: %s\n", test)
	}
	r.print("%d passed, %d failed, %d skipped\n", r.passed, r.failed+r.broken, len(r.skipped))
	if strict && len(r.skipped) > 0 {
		r.print("a skipped test is a failure here: every server is provided\n")
		return false
	}
	return r.failed+r.broken == 0 && r.passed > 0
}

func (r *report) print(format string, args ...any) { _, _ = fmt.Fprintf(r.out, format, args...) }
