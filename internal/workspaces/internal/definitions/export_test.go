package definitions

import "context"

// Turn lets tests take a turn.
type Turn struct{ turn turn }

// Take waits for the turn.
func (t *Turn) Take(ctx context.Context) (giveBack func(), err error) { return t.turn.take(ctx) }
