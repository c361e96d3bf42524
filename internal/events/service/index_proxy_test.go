package service_test

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// proxy stands between the service and a search engine.
type proxy struct {
	address string
	mu      sync.Mutex
	mode    func(w http.ResponseWriter, r *http.Request, pass forward)
}

// forward sends a request on and gives the answer.
type forward func(r *http.Request, body []byte) (int, []byte)

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	p := &proxy{}
	transport := &http.Transport{}
	pass := func(r *http.Request, body []byte) (int, []byte) {
		sent, err := http.NewRequestWithContext(r.Context(), r.Method, target+r.URL.RequestURI(), bytes.NewReader(body))
		if err != nil {
			return http.StatusBadGateway, nil
		}
		sent.Header = r.Header.Clone()
		sent.Header.Del("Accept-Encoding") // what comes back is passed on as it is read
		response, err := transport.RoundTrip(sent)
		if err != nil {
			return http.StatusBadGateway, nil
		}
		defer func() { _ = response.Body.Close() }()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode, text
	}
	listening := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		mode := p.mode
		p.mu.Unlock()
		if mode != nil {
			mode(w, r, pass)
			return
		}
		body, _ := io.ReadAll(r.Body)
		status, text := pass(r, body)
		w.WriteHeader(status)
		_, _ = w.Write(text)
	}))
	p.address = listening.URL
	t.Cleanup(func() { listening.CloseClientConnections(); listening.Close(); transport.CloseIdleConnections() })
	return p
}

func (p *proxy) set(mode func(w http.ResponseWriter, r *http.Request, pass forward)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mode = mode
}

// down is a server that nobody reaches.
func down(http.ResponseWriter, *http.Request, forward) {
	panic(http.ErrAbortHandler) //nolint:forbidigo // how a handler cuts a connection
}

// busy refuses each document some times before it lets it through.
type busy struct {
	mu    sync.Mutex
	times int
	seen  map[string]int
}

func newBusy(times int) *busy { return &busy{times: times, seen: map[string]int{}} }

// offered is how many documents were refused.
func (b *busy) offered() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.seen)
}

// refuses tells whether a document has to come again.
func (b *busy) refuses(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[id]++
	return b.seen[id] <= b.times
}

func (b *busy) serve(w http.ResponseWriter, r *http.Request, pass forward) {
	body, _ := io.ReadAll(r.Body)
	if !strings.HasPrefix(r.URL.Path, "/_bulk") {
		status, text := pass(r, body)
		w.WriteHeader(status)
		_, _ = w.Write(text)
		return
	}
	lines := strings.Split(strings.TrimSpace(string(body)), "\n")
	var kept []string
	var refused []bool
	for i := 0; i+1 < len(lines); i += 2 {
		var head map[string]struct {
			ID string `json:"_id"`
		}
		_ = json.Unmarshal([]byte(lines[i]), &head)
		no := false
		for action := range maps.Values(head) {
			no = b.refuses(action.ID)
		}
		if refused = append(refused, no); !no {
			kept = append(kept, lines[i], lines[i+1])
		}
	}
	var passed struct {
		Items []json.RawMessage `json:"items"`
	}
	if len(kept) > 0 {
		_, text := pass(r, []byte(strings.Join(kept, "\n")+"\n"))
		_ = json.Unmarshal(text, &passed)
	}
	items := make([]json.RawMessage, 0, len(refused))
	for _, no := range refused {
		if no {
			items = append(items, json.RawMessage(`{"create":{"status":429,"error":{"type":"es_rejected_execution_exception","reason":"busy"}}}`))
			continue
		}
		items, passed.Items = append(items, passed.Items[0]), passed.Items[1:]
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"items": items})
}
