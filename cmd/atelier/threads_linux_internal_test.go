package main

import (
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Every thread gives way soon. Systems that know nothing of it say nothing.
func TestThreadsGiveWay(t *testing.T) {
	shareProcessors()
	attr, err := unix.SchedGetAttr(os.Getpid(), 0) // the first thread, whoever is on it
	if err != nil {
		t.Fatal(err)
	}
	if slice := time.Duration(attr.Runtime); slice != 0 && slice != sliceOfThread {
		t.Errorf("a thread keeps its processor for %v", slice)
	}
}
