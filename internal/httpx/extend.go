package httpx

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Extension is a request whose time can be extended while it is being served: nobody knows before whether its answer goes on.
type Extension struct {
	w   http.ResponseWriter
	r   *http.Request
	ctx *extensible
}

// Extensible makes the time of a request one that can be extended. Whoever calls it calls Done when the request has been served.
func Extensible(w http.ResponseWriter, r *http.Request) *Extension {
	c := &extensible{Context: context.WithoutCancel(r.Context()), over: make(chan struct{})}
	e := &Extension{w: w, r: r, ctx: c}
	c.follow(r.Context(), func() {})
	return e
}

// Request is the request with the time that can be extended.
func (e *Extension) Request() *http.Request { return e.r.WithContext(e.ctx) }

// Extend frees the request from the time that requests have, as Endless does, and gives it another one from now on. When its time is
// over already, it stays so.
func (e *Extension) Extend(d time.Duration) {
	endless, free := Endless(e.w, e.r)
	longer, cancel := context.WithTimeout(endless.Context(), d)
	e.ctx.follow(longer, func() {
		cancel()
		free()
	})
}

// Done ends the time of the request.
func (e *Extension) Done() {
	served, cancel := context.WithCancel(context.Background())
	cancel()
	e.ctx.end(served, func() bool { return true })
}

// extensible ends as the context does that it follows.
type extensible struct {
	context.Context // its values

	mu       sync.Mutex
	followed context.Context //nolint:containedctx // what it ends with
	unfollow func()
	over     chan struct{}
	err      error
}

// follow lets the context end as another one does, and not as the one before; release is called when that one does not matter any
// more.
func (c *extensible) follow(other context.Context, release func()) {
	stop := context.AfterFunc(other, func() { c.ended(other) })
	c.mu.Lock()
	before := c.unfollow
	if c.err != nil { // it is over
		before = func() { stop(); release() }
	} else {
		c.followed, c.unfollow = other, func() { stop(); release() }
	}
	c.mu.Unlock()
	if before != nil {
		before()
	}
	if other.Err() != nil { // it may have ended before it was followed
		c.ended(other)
	}
}

// ended ends the context as another one has, when that is still the one that is followed.
func (c *extensible) ended(other context.Context) {
	c.end(other, func() bool { return c.followed == other })
}

// end ends the context for the reason of another one, if it is not over and that one matters.
func (c *extensible) end(because context.Context, matters func() bool) {
	c.mu.Lock()
	if c.err != nil || !matters() {
		c.mu.Unlock()
		return
	}
	c.err = because.Err()
	release := c.unfollow
	c.unfollow, c.followed = nil, nil
	close(c.over)
	c.mu.Unlock()
	if release != nil {
		release()
	}
}

// Deadline is when it ends at the latest.
func (c *extensible) Deadline() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.followed == nil {
		return time.Time{}, false
	}
	return c.followed.Deadline()
}

// Done is closed at the end.
func (c *extensible) Done() <-chan struct{} { return c.over }

// Err is why it ended.
func (c *extensible) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
