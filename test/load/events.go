package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What the events service must do, whatever the machine.
const (
	leastBatched = 20_000 // events per second in batches of 100
	leastSingle  = 5_000  // events per second one by one from 64 callers
	mostPage     = 20 * time.Millisecond
	mostDays     = 500 * time.Millisecond
	mostMemory   = 400.0 // MiB with mostFeeds idle feeds
	mostFeeds    = 5_000
)

// eventsPlan is how much of it is measured: LOAD_EVENTS events in the log, which are kept in LOAD_DATA for the next run when
// that is set, and LOAD_FEEDS idle connections.
type eventsPlan struct {
	events, feeds int
	data          string
	binary        string
	span          time.Duration
}

func planEvents(binary string, span time.Duration) (eventsPlan, error) {
	p := eventsPlan{events: 200_000, feeds: 1_000, data: os.Getenv("LOAD_DATA"), span: span}
	for name, into := range map[string]*int{"LOAD_EVENTS": &p.events, "LOAD_FEEDS": &p.feeds} {
		if text := os.Getenv(name); text != "" {
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return p, fmt.Errorf("%s must be a number from 1", name)
			}
			*into = n
		}
	}
	var err error
	p.binary, err = filepath.Abs(binary)
	return p, err
}

// measureEvents measures the events service: what it takes in, what it finds in a long log, and what listening costs. Each
// figure stands beside what bare SQLite, with the same driver and the same settings, does with the same bytes.
func measureEvents(ctx context.Context, binary, part string, span time.Duration) error {
	p, err := planEvents(binary, span)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "atelier-events-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	failures, known := []error(nil), false
	for _, one := range []struct {
		name    string
		measure func(context.Context, string) error
	}{{"ingest", p.ingest}, {"search", p.searches}, {"feeds", p.idle}} {
		if part == one.name || part == "all" {
			known, failures = true, append(failures, one.measure(ctx, dir))
		}
	}
	if !known {
		return fmt.Errorf("there is no part %q: use ingest, search, feeds or all", part)
	}
	return errors.Join(failures...)
}

// startOn starts the product on a data directory and signs in.
func (p eventsPlan) startOn(ctx context.Context, dir, data string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	started, err := start(ctx, dir, regexp.MustCompile(`is ready: (http://\S+)`), p.binary, "serve", "--host", "127.0.0.1", "--port", port, "--data-dir", data)
	if err != nil {
		return nil, err
	}
	var signedIn struct {
		Token string `json:"token"`
	}
	err = post(ctx, started, "/v2/login", map[string]string{"email": "admin@localhost", "password": password}, &signedIn)
	started.token = signedIn.Token
	return started, err
}

// newWorkspace makes a workspace for the measurement and gives its id.
func newWorkspace(ctx context.Context, p *process) (string, error) {
	var made struct {
		ID string `json:"id"`
	}
	err := post(ctx, p, "/v2/workspaces", map[string]string{"name": "Events"}, &made)
	return made.ID, err
}

// missed is the error of a figure that is not reached, nil otherwise.
func missed(reached bool, name string) error {
	if reached {
		return nil
	}
	return errors.New("below target: " + name)
}

// ingest measures how many events are taken in, in batches and one by one.
func (p eventsPlan) ingest(ctx context.Context, dir string) error {
	product, err := p.startOn(ctx, dir, "ingest")
	if err != nil {
		return err
	}
	defer product.stop()
	workspace, err := newWorkspace(ctx, product)
	if err != nil {
		return err
	}
	fmt.Printf("\nevents taken in, %d callers, against bare SQLite with the same bytes\n", callers)
	const batch = 100
	path := "/v2/workspaces/" + workspace + "/events"
	return errors.Join(
		p.compareIngest(ctx, dir, ingestion{name: "batches of 100", product: product, path: path, batch: batch, least: leastBatched}),
		p.compareIngest(ctx, dir, ingestion{name: "one by one", product: product, path: path, batch: 1, least: leastSingle}))
}

// ingestion is one way to send events in.
type ingestion struct {
	name    string
	product *process
	path    string
	batch   int
	least   float64
}

func (p eventsPlan) compareIngest(ctx context.Context, dir string, i ingestion) error {
	event := `{"type":"load.tick","payload":{"order":"o-12345678","amount":12.5,"state":"open","text":"` + strings.Repeat("x", 150) + `"}}`
	body := `{"events":[` + strings.TrimSuffix(strings.Repeat(event+",", i.batch), ",") + `]}`
	bare, err := bareIngest(ctx, filepath.Join(dir, "bare.db"), i.batch, p.span)
	if err != nil {
		return err
	}
	before := i.product.cpu()
	r, err := drive(ctx, i.product.url, send(i.product, i.path, i.product.token, body), p.span)
	if err != nil {
		return fmt.Errorf("%s: %w", i.name, err)
	}
	rate := r.perSecond * float64(i.batch)
	spent := (i.product.cpu() - before) / time.Duration(max(r.count*i.batch, 1))
	fmt.Printf("%-24s %10.0f events/s, bare %10.0f: %.2f of it; p99 %v, server CPU %v an event (target: %.0f)\n", i.name, rate, bare, rate/bare,
		r.p99.Round(100*time.Microsecond), spent.Round(100*time.Nanosecond), i.least)
	return missed(rate >= i.least, "events "+i.name)
}
