//go:build !linux

package worker

import "atelier/internal/automation/internal/code/wire"

// goRoom is what the process itself needs beside the values of the code.
const goRoom = 96 << 20

// stepBack does nothing here.
func stepBack() {}

// Lock has nothing to take away here: the limits of the virtual machine, the empty environment and the kill at the deadline are
// what there is.
func Lock(wire.Setup) []string { return nil }
