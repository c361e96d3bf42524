//go:build !linux

package spawn

import "os"

// Nursery starts processes. Here all of them are children of this one.
type Nursery struct{}

// NewNursery makes one.
func NewNursery(Order) *Nursery { return &Nursery{} }

// Start starts a process.
func (*Nursery) Start(o Order, in, out *os.File) (*Child, error) { return Direct(o, in, out) }

// Close has nothing to end.
func (*Nursery) Close() {}

// Serve is not needed here.
func Serve() int { return 1 }

func await(p *os.Process) { _, _ = p.Wait() }
