package keyring

import (
	"context"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	// lookPause keeps unknown key ids from becoming a load on the database.
	lookPause = time.Second
	// lookTimeout is how long a look that a token caused may take.
	lookTimeout = 2 * time.Second
	// maxKID is the length of the longest id: a SHA-256 thumbprint in base64url, of which leading dashes are left out.
	maxKID = 43
	// maxAbsent bounds the ids that are remembered as unknown.
	maxAbsent = 1024
)

// Find gives the public key that verifies the tokens with an id. An unknown id makes the ring look into the database, at
// most once a second for all of them and never twice for the same; tokens with a known id wait for none of it.
func (r *Ring) Find(ctx context.Context, kid string) (*jose.JSONWebKey, bool) {
	if key, ok := r.known(kid); ok {
		return key, true
	}
	if len(kid) > maxKID || !r.lookFor(ctx, kid) {
		return nil, false
	}
	return r.known(kid)
}

func (r *Ring) known(kid string) (*jose.JSONWebKey, bool) {
	e, ok := r.set.Load().byID[kid]
	if !ok || e.over(r.deps.Clock.Now()) {
		return nil, false
	}
	return &e.public, true
}

// lookFor looks into the database, or waits for the look that is under way. False means that nothing new was learnt.
func (r *Ring) lookFor(ctx context.Context, kid string) bool {
	done, mine := r.enterLook(kid)
	switch {
	case done == nil:
		return false
	case mine:
		r.lookNow(ctx, kid, done)
		return true
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}

// enterLook decides what an unknown id is worth: a look of its own, a look that others wait for too, or none.
func (r *Ring) enterLook(kid string) (done chan struct{}, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, gone := r.absent[kid]; gone {
		return nil, false
	}
	if r.look != nil {
		return r.look, false
	}
	now := r.deps.Clock.Now()
	if since := now.Sub(r.looked); since >= 0 && since < lookPause {
		return nil, false
	}
	r.looked, r.look = now, make(chan struct{})
	return r.look, true
}

// lookNow is not bound to the caller that happened to be first: others wait for it.
func (r *Ring) lookNow(ctx context.Context, kid string, done chan struct{}) {
	defer func() {
		r.mu.Lock()
		r.look = nil
		r.mu.Unlock()
		close(done)
	}()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTimeout)
	defer cancel()
	if err := r.refresh(ctx); err != nil {
		return
	}
	if _, ok := r.known(kid); !ok {
		r.noteAbsent(kid) // a token is made after its key is stored, so this one will never be right
	}
}

func (r *Ring) noteAbsent(kid string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.absent) >= maxAbsent {
		clear(r.absent)
	}
	r.absent[kid] = struct{}{}
}
