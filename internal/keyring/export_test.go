package keyring

import "context"

// Step is one turn of Run.
func (r *Ring) Step(ctx context.Context) error { return r.step(ctx) }
