// Package searchengine keeps an index of the events in Elasticsearch or OpenSearch, and searches it. The log stays the truth:
// the index follows it, can be removed at any time, and is built anew from it.
package searchengine

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

// The drivers.
const (
	Elasticsearch = "elasticsearch"
	OpenSearch    = "opensearch"
)

// Config says where the index is, and how it is kept.
type Config struct {
	// Driver is Elasticsearch or OpenSearch.
	Driver string
	// Hosts are the addresses of the nodes.
	Hosts     []string
	User      string
	Password  string //nolint:gosec // a configuration value; this struct is never encoded
	Transport http.RoundTripper
	// Namespace is a prefix of all names, for clusters that several installations share.
	Namespace string
	// PerWorkspace gives each workspace a data stream of its own; otherwise they share one.
	PerWorkspace bool
	// Batch is how many events are written at once, Refresh how soon what was written is found.
	Batch   int
	Refresh time.Duration
	// AtOnce makes what is written found at once, which costs the engine much.
	AtOnce bool
	// Rollover is the size in bytes at which a primary shard is full and another index begins.
	Rollover int64
}

// Deps is what the index works with.
type Deps struct {
	Log   *slog.Logger
	Clock clock.Clock
	IDs   ident.Source
	DB    *sqldb.DB
	Bus   bus.Log
}

// Engine is an index of events in a search engine.
type Engine struct {
	Deps
	config Config
	client *client

	mu sync.Mutex
	// plain tells that the engine knows no data streams, so that aliases stand for them; nil as long as that is not known.
	plain *bool
	// there are the streams that are known to exist, in a generation.
	there      map[string]bool
	generation string
	// epochs are those in which this process wrote the last batch of a partition, without a failure.
	epochs map[int]int64
}

var space = regexp.MustCompile(`^([a-zA-Z0-9][a-zA-Z0-9_-]{0,50})?$`) //nolint:gochecknoglobals // compiled once, never changed

// defaultRollover is where a shard is full: 40 GB.
const defaultRollover = 40 << 30

// New checks the configuration and makes an index of it. It does not talk to the engine yet.
func New(config Config, deps Deps) (*Engine, error) {
	made, err := newClient(config)
	if err != nil {
		return nil, err
	}
	if !space.MatchString(config.Namespace) {
		return nil, errors.New("the namespace of the index has up to 51 letters, digits, - and _, and begins with a letter or digit")
	}
	if config.Rollover == 0 {
		config.Rollover = defaultRollover
	}
	if config.Refresh == 0 {
		config.Refresh = time.Second
	}
	return &Engine{Deps: deps, config: config, client: made, there: map[string]bool{}, epochs: map[int]int64{}}, nil
}

// Driver is the engine as operators know it.
func (e *Engine) Driver() string { return e.config.Driver }

// prefix is what all names begin with.
func (e *Engine) prefix() string {
	if e.config.Namespace == "" {
		return ""
	}
	return strings.ToLower(e.config.Namespace) + "-"
}

// shared is the stream of all workspaces that have none of their own.
func (e *Engine) shared() string { return e.prefix() + "events" }

// streams is the pattern of the streams of workspaces.
func (e *Engine) pattern() string { return e.shared() + "-*" }

// streamOf is the stream of a workspace. Two whose names differ in case alone share one.
func (e *Engine) streamOf(workspaceID string) string {
	if !e.config.PerWorkspace {
		return e.shared()
	}
	const longest = 150
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(workspaceID))
	if name == "" {
		name = "none"
	}
	return e.shared() + "-" + name[:min(len(name), longest)]
}

// places are where the events of a workspace are, and with no workspace those of all.
func (e *Engine) places(workspaceID string, everywhere bool) string {
	switch {
	case !e.config.PerWorkspace:
		return e.shared()
	case everywhere:
		return e.shared() + "," + e.pattern()
	default:
		return e.shared() + "," + e.streamOf(workspaceID)
	}
}

// lenient lets a request pass over streams that do not exist.
const lenient = "ignore_unavailable=true&allow_no_indices=true"

// Ping writes a document and deletes it, to tell whether the engine works.
func (e *Engine) Ping(ctx context.Context) error {
	place := "/" + e.prefix() + "readiness/_doc/" + e.IDs.UUID()
	if err := e.client.do(ctx, http.MethodPut, place, map[string]any{"at": e.Clock.Now().UnixMilli()}, nil); err != nil {
		return err
	}
	return e.client.do(ctx, http.MethodDelete, place, nil, nil)
}

// unavailable tells callers that the engine does not answer. Why is for the log.
func unavailable(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return errs.New(errs.Unavailable, "The search of events does not work at the moment; try again later. Events are stored all the same.").Because(err)
}

// exec changes the database.
func (e *Engine) exec(ctx context.Context, text string, args ...any) error {
	return e.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, err := tx.Exec(ctx, text, args...)
		return err
	})
}
