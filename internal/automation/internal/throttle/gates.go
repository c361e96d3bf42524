package throttle

import (
	"context"
	"sync"
)

// gates let one through at a time for a key. They exist while somebody is at them.
type gates struct {
	mu   sync.Mutex
	open map[string]*gate
}

type gate struct {
	turn  chan struct{}
	users int
}

// enter waits for its turn. Leave lets the next one through.
func (g *gates) enter(ctx context.Context, key string) (leave func(), err error) {
	here := g.join(key)
	select {
	case here.turn <- struct{}{}:
		return func() {
			<-here.turn
			g.part(key, here)
		}, nil
	case <-ctx.Done():
		g.part(key, here)
		return nil, context.Cause(ctx)
	}
}

func (g *gates) join(key string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	here, ok := g.open[key]
	if !ok {
		here = &gate{turn: make(chan struct{}, 1)}
		g.open[key] = here
	}
	here.users++
	return here
}

func (g *gates) part(key string, here *gate) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if here.users--; here.users == 0 {
		delete(g.open, key)
	}
}
