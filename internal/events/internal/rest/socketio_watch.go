package rest

import (
	"context"
	"net/http"
	"reflect"
	"sync"
	"time"

	"atelier/internal/errs"
	"atelier/internal/events/internal/engine"
)

// watching looks again and again whether the credentials count that clients sent inside their sockets. Those of requests the
// gateway looks at.
type watching struct {
	mu   sync.Mutex
	all  map[*watched]struct{}
	stop context.CancelFunc
	work sync.WaitGroup
}

// watched is a client with a credential.
type watched struct {
	entry *entry
	// speaker has what is known of the client's connection.
	speaker context.Context //nolint:containedctx // nothing but its values is used
	end     func(reason error)
}

const (
	// watchEvery is how often credentials are looked at. What is known of sessions is believed for two seconds, so that five
	// seconds after its end a credential is of no use here either.
	watchEvery = 2500 * time.Millisecond
	// watchChecks is how many are looked at at the same time.
	watchChecks = 8
)

// watch ends a client when its credential does. The result ends the watch.
func (s *SocketIO) watch(ctx context.Context, e *entry, end func(error)) (unwatch func()) {
	if e.authorization == "" && e.apiKey == "" {
		return func() {}
	}
	w := &watched{entry: e, speaker: context.WithoutCancel(ctx), end: end}
	at := &s.watching
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.all == nil {
		at.all = map[*watched]struct{}{}
	}
	at.all[w] = struct{}{}
	if len(at.all) == 1 {
		running, stop := context.WithCancel(context.Background())
		at.stop = stop
		at.work.Go(func() { s.keepWatch(running) })
	}
	return func() {
		at.mu.Lock()
		defer at.mu.Unlock()
		delete(at.all, w)
		if len(at.all) == 0 {
			at.stop()
		}
	}
}

// keepWatch looks at all credentials until nobody is left.
func (s *SocketIO) keepWatch(ctx context.Context) {
	for {
		timer := s.Live.Clock.NewTimer(watchEvery)
		select {
		case <-timer.C():
			s.checkAll(ctx)
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// checkAll looks at each credential once.
func (s *SocketIO) checkAll(ctx context.Context) {
	same := map[[2]string][]*watched{}
	s.watching.mu.Lock()
	for w := range s.watching.all {
		key := [2]string{w.entry.authorization, w.entry.apiKey}
		same[key] = append(same[key], w)
	}
	s.watching.mu.Unlock()
	var checking sync.WaitGroup
	defer checking.Wait()
	places := make(chan struct{}, watchChecks)
	for key, all := range same {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		checking.Go(func() {
			defer func() { <-places }()
			s.check(ctx, key, all)
		})
	}
}

// check ends the clients of one credential that may not go on. When that cannot be found out they go on until the next look.
func (s *SocketIO) check(ctx context.Context, key [2]string, all []*watched) {
	caller, err := s.Identify(engine.SpeakingFor(ctx, all[0].speaker), key[0], key[1])
	if err != nil && errs.From(err).Status() >= http.StatusInternalServerError {
		return
	}
	for _, w := range all {
		switch {
		case err != nil:
			w.end(err)
		case !reflect.DeepEqual(caller, w.entry.caller):
			w.end(errs.New(errs.InvalidToken, "What is known of you has changed; connect again."))
		}
	}
}
