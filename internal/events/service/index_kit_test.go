package service_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/events/service"
	"atelier/internal/ident"
	"atelier/internal/restapi"
	"atelier/internal/schedule"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

// searchEngines are the servers that tests run with; each gives its address, or skips loudly.
func searchEngines() map[string]func(t *testing.T) string {
	at := func(driver, variable string) func(t *testing.T) string {
		return func(t *testing.T) string {
			t.Helper()
			address := os.Getenv(variable) //nolint:forbidigo // where the servers of the tests are
			if address == "" {
				t.Skip("SKIPPED: " + driver + ": " + variable + " is not set")
			}
			return address
		}
	}
	return map[string]func(t *testing.T) string{
		"elasticsearch": at("elasticsearch", "TEST_ELASTICSEARCH_URL"), "opensearch": at("opensearch", "TEST_OPENSEARCH_URL"),
	}
}

func tables() []sqldb.Migrations {
	return []sqldb.Migrations{sqlbus.Migrations(), restapi.Migrations(), access.Migrations(), schedule.Migrations(), service.Migrations()}
}

// eachStore runs the test with every store of events: answers are the same with all of them.
func eachStore(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	each(t, run)
	eachEngine(t, false, run)
}

// eachEngine runs the test with the search engines alone, with a stream for all workspaces or one for each.
func eachEngine(t *testing.T, perWorkspace bool, run func(t *testing.T, h *house)) {
	t.Helper()
	for _, driver := range slices.Sorted(maps.Keys(searchEngines())) {
		name := driver
		if perWorkspace {
			name += " by workspace"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := sqldbtest.SQLite(t, tables()...)
			run(t, newHouse(t, db, func(deps *service.Deps) { withIndex(t, deps, driver, perWorkspace) }))
		})
	}
}

// withIndex gives a service an index in a namespace of its own, which is removed after the test.
func withIndex(t *testing.T, deps *service.Deps, driver string, perWorkspace bool, change ...func(*service.Storage)) {
	t.Helper()
	address := searchEngines()[driver](t)
	transport := &http.Transport{}
	storage := service.Storage{
		Driver: driver, Hosts: []string{address}, Transport: transport, Namespace: "Test-" + strings.ToLower(ident.Source{}.UUID()), PerWorkspace: perWorkspace, Batch: 50,
	}
	for _, set := range change {
		set(&storage)
	}
	index, err := service.NewIndex(storage, *deps)
	if err != nil {
		t.Fatal(err)
	}
	deps.Index = index
	server := &server{t: t, address: address}
	t.Cleanup(func() { server.erase(strings.ToLower(storage.Namespace)); transport.CloseIdleConnections() })
}

// server is a search engine as a test talks to it.
type server struct {
	t       *testing.T
	address string
}

func (s *server) call(method, path, body string) (status int, answer string) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(s.t.Context()), method, s.address+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// streams lists the data streams of a namespace.
func (s *server) streams(namespace string) (names []string) {
	s.t.Helper()
	var found struct {
		Streams []struct {
			Name string `json:"name"`
		} `json:"data_streams"`
	}
	if status, text := s.call(http.MethodGet, "/_data_stream/"+namespace+"-*", ""); status == http.StatusOK {
		_ = json.Unmarshal([]byte(text), &found)
	}
	for _, stream := range found.Streams {
		names = append(names, stream.Name)
	}
	return names
}

// indices lists the indices of a namespace.
func (s *server) indices(namespace string) []string {
	s.t.Helper()
	_, text := s.call(http.MethodGet, "/_cat/indices/"+namespace+"-*,.ds-"+namespace+"-*?h=index&expand_wildcards=all", "")
	return slices.Sorted(slices.Values(strings.Fields(text)))
}

func (s *server) erase(namespace string) {
	s.t.Helper()
	for _, name := range s.streams(namespace) {
		s.call(http.MethodDelete, "/_data_stream/"+name, "")
	}
	for _, name := range s.indices(namespace) {
		s.call(http.MethodDelete, "/"+name, "")
	}
	s.call(http.MethodDelete, "/_index_template/"+namespace+"-events", "")
}

// sync lets the index, if there is one, take what the log has.
func (h *house) sync() {
	h.t.Helper()
	if h.index == nil || !h.dirty.Load() || h.following {
		return
	}
	h.dirty.Store(false)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.whole.Follow(ctx) }()
	h.caughtUp()
	stop()
	if err := <-ended; err != nil {
		h.t.Fatal(err)
	}
}

// caughtUp waits until the index has everything of the log, and shows it.
func (h *house) caughtUp() {
	h.t.Helper()
	ctx := context.WithoutCancel(h.t.Context())
	h.until("the index has everything", func() bool {
		reached, err := h.index.Reached(ctx, 1<<62)
		if err != nil {
			h.t.Fatal(err)
		}
		return reached
	})
	if err := h.index.Look(ctx); err != nil {
		h.t.Fatal(err)
	}
	if err := h.index.Refresh(ctx); err != nil {
		h.t.Fatal(err)
	}
	if built, err := h.index.Built(ctx); err != nil || !built {
		h.t.Fatal("the index is not complete", err)
	}
}

// quietly is a log that says nothing unless the test fails.
func quietly(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }
