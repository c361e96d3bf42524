package waits

import "context"

// Idler lets a run wait without holding the place of one that works.
type Idler interface {
	// Idle calls wait with a context that ends as soon as the run is to go on elsewhere, and returns when the run may work again.
	Idle(ctx context.Context, wait func(ctx context.Context) error) error
}

type idlerKey struct{}

// WithIdler makes a context whose run idles this way.
func WithIdler(ctx context.Context, idler Idler) context.Context {
	return context.WithValue(ctx, idlerKey{}, idler)
}

// Idle waits on behalf of a run.
func Idle(ctx context.Context, wait func(ctx context.Context) error) error {
	if idler, ok := ctx.Value(idlerKey{}).(Idler); ok {
		return idler.Idle(ctx, wait)
	}
	return wait(ctx)
}
