package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// load makes workspaces all the time and remembers the slugs of those it got an answer for.
type load struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup

	mu    sync.Mutex
	acked []string
}

func (l *load) stop() {
	l.cancel()
	l.ended.Wait()
}

func (l *load) slugs() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]string(nil), l.acked...)
}

func startLoad(url, token string) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{cancel: cancel}
	const writers = 4
	for writer := range writers {
		l.ended.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				l.write(ctx, url, token, fmt.Sprintf("load-%d-%d", writer, n))
			}
		})
	}
	return l
}

func (l *load) write(ctx context.Context, url, token, slug string) {
	c := call{method: http.MethodPost, url: url + "/v2/workspaces", body: fmt.Sprintf(`{"name":"Load","slug":%q}`, slug), header: bearer(token)}
	answer, err := c.send(ctx)
	if err != nil || answer.code != http.StatusCreated {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked = append(l.acked, slug)
}

func bearer(token string) http.Header {
	return http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
}

// waitFor waits until as many more are written.
func (l *load) waitFor(ctx context.Context, more int) error {
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for want := len(l.slugs()) + more; len(l.slugs()) < want; {
		select {
		case <-ctx.Done():
			return fmt.Errorf("only %d workspaces were written", len(l.slugs()))
		case <-tick.C:
		}
	}
	return nil
}

func writer(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) > 0, "writer start URL TOKEN | writer acked FILE | writer stop")
	w := worldOf(ts)
	ctx, cancel := patiently()
	defer cancel()
	const some = 10
	switch args[0] {
	case "start":
		w.writer = startLoad(args[1], args[2])
		ts.Check(w.writer.waitFor(ctx, some))
	case "acked": // what is written before and after the answer, so that work is under way in between
		ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(strings.Join(w.writer.slugs(), "\n")), 0o600))
		ts.Check(w.writer.waitFor(ctx, some))
	case "stop":
		w.writer.stop()
	}
}

func present(ts *testscript.TestScript, neg bool, args []string) {
	usage(ts, !neg && len(args) == 3, "present FILE URL TOKEN")
	ctx, cancel := patiently()
	defer cancel()
	slugs := strings.Fields(ts.ReadFile(args[0]))
	for _, slug := range slugs {
		answer, err := call{method: http.MethodGet, url: args[1] + "/v2/workspaces?slug=" + slug, header: bearer(args[2])}.send(ctx)
		ts.Check(err)
		var found []struct{ Slug string }
		if err := json.Unmarshal(answer.body, &found); err != nil || len(found) != 1 || found[0].Slug != slug {
			ts.Fatalf("workspace %s: %s\n%s", slug, answer.status, answer.body)
		}
	}
	if len(slugs) == 0 {
		ts.Fatalf("%s names no workspace", args[0])
	}
}
