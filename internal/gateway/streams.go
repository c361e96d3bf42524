package gateway

import (
	"context"
	"crypto/sha256"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/httpx"
)

// streams are the requests that go on for as long as somebody listens. Their callers are looked at again and again: a session
// that was ended, a token that has expired, a key that was disabled end them too.
type streams struct {
	mu  sync.Mutex
	all map[*stream]struct{}
}

// stream is a request that goes on, of which only what tells the caller is kept.
type stream struct {
	credential *http.Request
	key        string // the same for the same credential
	caller     access.Principal
	sever      func(reason error)
}

const (
	// streamsEvery is how often callers are looked at. What is known of sessions is believed for two seconds, so that five
	// seconds after its end a credential is of no use here either.
	streamsEvery = 2500 * time.Millisecond
	// streamChecks is how many are looked at at the same time.
	streamChecks = 8
)

// watch makes a request end when its caller's credential does. done says that it was served.
func (g *Gateway) watch(r *http.Request, caller access.Principal) (watched *http.Request, done func()) {
	if caller.Kind == access.Nobody || caller.Kind == access.Internal {
		return r, func() {}
	}
	r, sever, unsever := httpx.Severable(r)
	credential := (&http.Request{Method: r.Method, URL: r.URL, Host: r.Host, Header: http.Header{}}).
		WithContext(httpx.WithInfo(context.Background(), httpx.InfoFrom(r.Context())))
	var key strings.Builder
	for _, name := range []string{"Authorization", "X-Svc-Api-Key", "Cookie", "Origin", "Upgrade", "Sec-Fetch-Site"} {
		if values := r.Header[name]; len(values) > 0 {
			credential.Header[name] = values
			key.WriteString(name + "\n" + strings.Join(values, "\n") + "\n")
		}
	}
	digest := sha256.Sum256([]byte(key.String()))
	s := &stream{credential: credential, key: string(digest[:]), caller: caller, sever: sever}
	g.streams.mu.Lock()
	defer g.streams.mu.Unlock()
	if g.streams.all == nil {
		g.streams.all = map[*stream]struct{}{}
	}
	g.streams.all[s] = struct{}{}
	return r, func() {
		g.streams.mu.Lock()
		delete(g.streams.all, s)
		g.streams.mu.Unlock()
		unsever()
	}
}

// FollowStreams ends the requests that go on without a credential that counts, until ctx ends.
func (g *Gateway) FollowStreams(ctx context.Context) error {
	for {
		timer := g.deps.Clock.NewTimer(streamsEvery)
		select {
		case <-timer.C():
			g.checkStreams(ctx)
		case <-ctx.Done():
			timer.Stop()
			return nil
		}
	}
}

// checkStreams looks at the callers of this moment, at each credential once.
func (g *Gateway) checkStreams(ctx context.Context) {
	same := map[string][]*stream{}
	g.streams.mu.Lock()
	for s := range g.streams.all {
		same[s.key] = append(same[s.key], s)
	}
	g.streams.mu.Unlock()
	var checking sync.WaitGroup
	defer checking.Wait()
	places := make(chan struct{}, streamChecks)
	for _, all := range same {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return
		}
		checking.Go(func() {
			defer func() { <-places }()
			g.checkCaller(ctx, all)
		})
	}
}

// checkCaller ends the requests of one credential that may not go on. When that cannot be found out they go on until the next
// look.
func (g *Gateway) checkCaller(ctx context.Context, all []*stream) {
	credential := all[0].credential
	if all[0].caller.SourceWorkspace != "" { // its token was for the beginning
		ctx = identity.Ongoing(ctx)
	}
	caller, err := g.authenticate(credential.WithContext(httpx.WithInfo(ctx, httpx.InfoFrom(credential.Context()))))
	if err != nil && errs.From(err).Status() >= http.StatusInternalServerError {
		return
	}
	if err == nil {
		err = caller.Refused
	}
	for _, s := range all {
		switch {
		case err != nil:
			s.sever(err)
		case !reflect.DeepEqual(caller, s.caller):
			s.sever(errs.New(errs.InvalidToken, "What is known of you has changed; connect again."))
		}
	}
}
