package code

// Processes gives the ids of the processes of a workspace.
func (c *Code) Processes(workspaceID string) (ids []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tenants[workspaceID]; t != nil {
		for p := range t.processes {
			ids = append(ids, p.child.Pid)
		}
	}
	return ids
}

// Busy is how many calls of a workspace run.
func (c *Code) Busy(workspaceID string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tenants[workspaceID]; t != nil {
		return t.busy
	}
	return 0
}

// Alive is how many processes there are, spares among them.
func (c *Code) Alive() (all, spares, waiting, tenants int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.alive, len(c.spares), len(c.queue), len(c.tenants)
}
