//go:build !linux

package main

// shareProcessors has nothing to ask for here.
func shareProcessors() {}
