//go:build !unix

package worker

import "os"

// Standard are the pipes of a process: its input and its output.
func Standard() Pipes { return Pipes{In: os.Stdin, Out: os.Stdout} }
