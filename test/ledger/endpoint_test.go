package ledger_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// endpoint receives the webhooks, in another process, with the library of the specification: verifier.mjs.
type endpoint struct {
	url   string
	input io.WriteCloser

	mu   sync.Mutex
	got  map[string]map[string]int // by path and event
	bad  []string
	seen int
}

func startEndpoint(t *testing.T) *endpoint {
	t.Helper()
	folder := filepath.Join("..", "webhooks")
	node, err1 := exec.LookPath("node")
	_, err2 := os.Stat(filepath.Join(folder, "node_modules", "standardwebhooks"))
	if err := cmp.Or(err1, err2); err != nil {
		if os.Getenv("CI") == "true" || os.Getenv("TEST_WEBHOOKS") != "" {
			t.Fatalf("webhooks: run scripts/npm test/webhooks first: %v", err)
		}
		t.Skipf("SKIPPED: webhooks: run scripts/npm test/webhooks first: %v", err)
	}
	cmd := exec.Command(node, "verifier.mjs")
	cmd.Dir, cmd.Stderr = folder, os.Stderr
	input, err1 := cmd.StdinPipe()
	output, err2 := cmd.StdoutPipe()
	if err := cmp.Or(err1, err2, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	e := &endpoint{input: input, got: map[string]map[string]int{}}
	lines := bufio.NewScanner(output)
	if !lines.Scan() {
		t.Fatal("the endpoint does not start")
	}
	e.url = "http://127.0.0.1:" + strings.TrimPrefix(lines.Text(), "port ")
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
			e.note(strings.SplitN(lines.Text(), " ", 3))
		}
	})
	t.Cleanup(func() {
		_ = input.Close()
		reading.Wait()
		_ = cmd.Wait()
	})
	return e
}

// trust tells the endpoint the secrets.
func (e *endpoint) trust(rooms []*room) {
	secrets := map[string]string{}
	for _, r := range rooms {
		secrets[r.path] = r.secret
	}
	_ = json.NewEncoder(e.input).Encode(secrets)
}

func (e *endpoint) note(line []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(line) != 3 || line[0] != "got" {
		e.bad = append(e.bad, fmt.Sprint(line))
		return
	}
	if e.got[line[1]] == nil {
		e.got[line[1]] = map[string]int{}
	}
	e.got[line[1]][line[2]]++
	e.seen++
}

// missing counts the events that have not arrived yet.
func (e *endpoint) missing(b *books) (missing int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, page := range b.pages {
		for _, stored := range page {
			if stored.Type == hookType && e.got[b.rooms[i].path][stored.ID] == 0 {
				missing++
			}
		}
	}
	return missing
}

// check waits until everything that is subscribed to has arrived, and tells how many deliveries that took.
func (e *endpoint) check(t *testing.T, b *books) int {
	t.Helper()
	waitFor(t, func() (int, bool) { n := e.missing(b); return -n, n == 0 })
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, bad := range e.bad {
		t.Errorf("the endpoint: %s", bad)
	}
	count := 0
	for _, events := range e.got {
		count += len(events)
	}
	if count != b.hooked {
		t.Errorf("%d events arrived, %d have a subscription", count, b.hooked)
	}
	return e.seen
}
