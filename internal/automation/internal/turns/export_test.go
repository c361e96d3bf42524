package turns

// Waiting is how many wait for a turn.
func (t *Turns) Waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.queue {
		n += len(s.waiting)
	}
	return n
}

// Working is how many have a turn.
func (t *Turns) Working() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.working
}

// Known is how many workspaces are remembered.
func (t *Turns) Known() int64 { return t.known.Load() }
