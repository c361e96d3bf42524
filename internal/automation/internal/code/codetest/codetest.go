// Package codetest runs tests of custom code where they hold. A program that is watched for races makes the engine many times slower and
// needs more memory than any worker has, so what is about time and size is tested in a program that is not.
package codetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Elsewhere runs a test of the current folder again, in a test program that is not watched for races, when this one is. It tells whether it
// did: then the test is over.
func Elsewhere(t *testing.T, racing bool) bool {
	t.Helper()
	if !racing {
		return false
	}
	binary := filepath.Join(t.TempDir(), "plain.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", binary, ".") //nolint:gosec // the Go that runs the tests builds this one
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build it without looking for races: %v\n%s", err, out)
	}
	run := exec.CommandContext(t.Context(), binary, "-test.run", "^"+t.Name()+"$", "-test.v") //nolint:gosec // the test itself
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return true
}
