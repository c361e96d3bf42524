//go:build !failpoint

// Package failpoint names the steps of an operation at which a test may kill the process, so that what a restart finds can
// be held against what was promised. In ordinary builds a point is nothing at all.
package failpoint

// At marks a step. The name is a literal such as "import.locked": tests find the points by reading the source.
func At(string) {}
