package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// automations is how many a large workspace has.
const automations = 2000

// figure is one thing that is done to a large workspace, again and again.
type figure struct {
	name   string
	target time.Duration
	times  int
	do     func(ctx context.Context, i int) error
}

// definitions measures a workspace with many automations, one request at a time: how long the server takes, without a queue.
func definitions(ctx context.Context, p *process) error {
	archive, err := largeArchive()
	if err != nil {
		return err
	}
	var made struct {
		Workspace struct {
			ID string `json:"id"`
		} `json:"workspace"`
	}
	began := time.Now()
	if err := p.exchange(ctx, request{method: http.MethodPost, path: "/v2/workspaces/import", kind: "application/zip", body: archive}, &made); err != nil {
		return err
	}
	fmt.Printf("\na workspace with %d automations\n%-24s %10v\n", automations, "import", time.Since(began).Round(time.Millisecond))
	at := "/v2/workspaces/" + made.Workspace.ID
	read := func(path string) func(context.Context, int) error {
		return func(ctx context.Context, _ int) error {
			return p.exchange(ctx, request{method: http.MethodGet, path: path}, nil)
		}
	}
	for _, f := range []figure{
		{"list of 20", 20 * time.Millisecond, 50, read(at + "/automations")},
		{"list of all", 20 * time.Millisecond, 50, read(at + "/automations?limit=2000")},
		{"edit of one", 10 * time.Millisecond, 100, func(ctx context.Context, i int) error {
			body := fmt.Sprintf(`{"description":"edit %d"}`, i)
			path := fmt.Sprintf("%s/automations/automation-%d", at, i)
			return p.exchange(ctx, request{method: http.MethodPatch, path: path, kind: "application/json", body: []byte(body)}, nil)
		}},
		{"export", time.Second, 5, read(at + "/export")},
	} {
		if err := f.measure(ctx); err != nil {
			return err
		}
	}
	return nil
}

// measure does it and prints the median and the slowest but one in twenty.
func (f figure) measure(ctx context.Context) error {
	took := make([]time.Duration, 0, f.times)
	for i := range f.times {
		began := time.Now()
		if err := f.do(ctx, i); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	fmt.Printf("%-24s %10v median %10v p95 (target: %v)\n", f.name,
		took[len(took)/2].Round(10*time.Microsecond), took[len(took)*95/100].Round(10*time.Microsecond), f.target)
	return nil
}

func largeArchive() ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	add := func(name, text string) error {
		file, err := archive.Create(name)
		if err == nil {
			_, err = io.WriteString(file, text)
		}
		return err
	}
	if err := add("current/index.yml", "name: Large\n"); err != nil {
		return nil, err
	}
	for i := range automations {
		text := fmt.Sprintf("slug: automation-%d\nname: Automation %d\nwhen:\n  events:\n    - event.%d\ndo:\n", i, i, i) +
			strings.Repeat("  - set:\n      name: value\n      value: '{{payload.value}} and more'\n", 10)
		if err := add(fmt.Sprintf("current/automations/automation-%d.yml", i), text); err != nil {
			return nil, err
		}
	}
	err := archive.Close()
	return out.Bytes(), err
}

// request is one of them; kind is the content type of its body.
type request struct {
	method, path, kind string
	body               []byte
}

// exchange sends a request and reads the whole answer.
func (p *process) exchange(ctx context.Context, c request, into any) error {
	r, err := http.NewRequestWithContext(ctx, c.method, p.url+c.path, bytes.NewReader(c.body))
	if err != nil {
		return err
	}
	if p.token != "" {
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	if c.kind != "" {
		r.Header.Set("Content-Type", c.kind)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s answered %d: %.300s", c.path, response.StatusCode, text)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}
