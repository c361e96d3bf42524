package ledger_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is how long after its last news something may take to be complete.
const patience = time.Minute

// readers are the live feeds of the rooms. Each goes on where it was when its connection is lost.
type readers struct {
	feeds   []*feed
	resumed atomic.Int64
	stop    func()
	running sync.WaitGroup
}

// feed is what one reader got.
type feed struct {
	room *room
	last string // the id of the last message

	mu  sync.Mutex
	got []string
}

func startReaders(h *house, rooms []*room) *readers {
	h.t.Helper()
	ctx, stop := context.WithCancel(h.ctx)
	rs := &readers{stop: stop}
	h.t.Cleanup(func() {
		stop()
		rs.running.Wait()
	})
	began := make(chan struct{}, len(rooms))
	for _, r := range rooms {
		f := &feed{room: r}
		rs.feeds = append(rs.feeds, f)
		rs.running.Go(func() {
			for ctx.Err() == nil {
				f.listen(ctx, h, began)
				rs.resumed.Add(1)
				h.pauseOr(ctx, 20*time.Millisecond)
			}
		})
	}
	for range rooms {
		<-began // every feed knows where it begins
	}
	return rs
}

func (h *house) pauseOr(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

// listen reads one connection to its end.
func (f *feed) listen(ctx context.Context, h *house, began chan<- struct{}) {
	r, err := h.request(http.MethodGet, "/v2/workspaces/"+f.room.id+"/events?types="+entryType+","+hookType, nil)
	if err != nil {
		h.t.Error(err)
		return
	}
	r.Header.Set("Accept", "text/event-stream")
	if f.last != "" {
		r.Header.Set("Last-Event-ID", f.last)
	}
	answer, err := h.client.Do(r.WithContext(ctx))
	if err != nil {
		return
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return
	}
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	id, data := "", ""
	for lines.Scan() {
		field, value, _ := strings.Cut(lines.Text(), ": ")
		switch {
		case field == "id":
			id = value
		case field == "data":
			data = value
		case lines.Text() == "":
			if id != "" && f.last == "" {
				began <- struct{}{}
			}
			f.take(h, id, data)
			id, data = "", ""
		}
	}
}

// take keeps a message that came whole.
func (f *feed) take(h *house, id, data string) {
	if id == "" {
		return
	}
	f.last = id
	if data == "" {
		return
	}
	var e event
	if err := json.Unmarshal([]byte(data), &e); err != nil || e.ID != id {
		h.t.Errorf("message %s: %s %v", id, data, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, id)
}

func (f *feed) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.got)
}

// check waits until the readers have everything, and compares it with what is stored.
func (rs *readers) check(t *testing.T, b *books) {
	t.Helper()
	for i, f := range rs.feeds {
		waitFor(t, func() (int, bool) { n := f.count(); return n, n >= len(b.pages[i]) })
	}
	rs.stop()
	rs.running.Wait()
	for i, f := range rs.feeds {
		for n, e := range b.pages[i] {
			if n >= len(f.got) || f.got[n] != e.ID {
				t.Errorf("room %d: message %d is not %s", i, n, e.ID)
				break
			}
		}
		if extra := len(f.got) - len(b.pages[i]); extra > 0 {
			t.Errorf("room %d: %d messages too many", i, extra)
		}
	}
}

// waitFor looks until something is complete, as long as there is news of it.
func waitFor(t *testing.T, look func() (progress int, complete bool)) {
	t.Helper()
	seen, since := -1, time.Now()
	for !t.Failed() {
		progress, complete := look()
		if complete {
			return
		}
		if progress != seen {
			seen, since = progress, time.Now()
		}
		if time.Since(since) > patience {
			t.Errorf("nothing new for %v after %d", patience, progress)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
