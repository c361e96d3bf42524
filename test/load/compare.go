package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// callers is how many connections are kept busy at once.
const callers = 64

// subject is one thing to measure, against the bare server's figure or against a number.
type subject struct {
	name    string
	process *process
	request string
	// ratio is the least fraction of the bare server's requests per second.
	ratio float64
}

func compare(ctx context.Context, reference, product *process, span time.Duration, rounds int) error {
	var workspace struct {
		ID string `json:"id"`
	}
	if err := post(ctx, product, "/v2/workspaces", map[string]string{"name": "Load"}, &workspace); err != nil {
		return err
	}
	event := `{"events":[{"type":"load.tick","payload":{"text":"` + strings.Repeat("x", 200) + `"}}]}`
	subjects := []subject{
		{name: "bare net/http", process: reference, request: get(reference, "/", "")},
		{name: "GET /", process: product, request: get(product, "/", ""), ratio: 0.5},
		{name: "GET /v2/me", process: product, request: get(product, "/v2/me", product.token), ratio: 0.35},
		{name: "POST event (HTTP)", process: product, request: send(product, "/v2/workspaces/"+workspace.ID+"/events", product.token, event)},
	}
	results := make([][]result, len(subjects))
	for range rounds { // in turns, so that a busy moment of the machine hits all of them
		for i, s := range subjects {
			before := s.process.cpu()
			r, err := drive(ctx, s.process.url, s.request, span)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			r.cpu = (s.process.cpu() - before) / time.Duration(max(r.count, 1))
			results[i] = append(results[i], r)
		}
	}
	if err := report(subjects, results); err != nil {
		return err
	}
	return appendEvents(ctx, span)
}

func report(subjects []subject, results [][]result) error {
	fmt.Printf("\n%d connections, median of %d rounds\n%-24s %12s %10s %10s %10s\n", callers, len(results[0]), "", "requests/s", "p99", "server CPU", "of bare")
	bare := median(results[0])
	var failed []string
	for i, s := range subjects {
		r := median(results[i])
		ratio := r.perSecond / bare.perSecond
		fmt.Printf("%-24s %12.0f %10v %10v %10.2f", s.name, r.perSecond, r.p99.Round(10*time.Microsecond), r.cpu.Round(100*time.Nanosecond), ratio)
		if s.ratio > 0 {
			fmt.Printf("   (target: %.2f)", s.ratio)
			if ratio < s.ratio {
				failed = append(failed, s.name)
			}
		}
		fmt.Println()
	}
	if len(failed) > 0 {
		return errors.New("below target: " + strings.Join(failed, ", "))
	}
	return nil
}

func median(results []result) result {
	sorted := slices.Clone(results)
	slices.SortFunc(sorted, func(a, b result) int { return int(a.perSecond - b.perSecond) })
	return sorted[len(sorted)/2]
}

func get(p *process, path, token string) string {
	return head(p, "GET", path, token) + "\r\n"
}

func send(p *process, path, token, body string) string {
	return head(p, "POST", path, token) + fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func head(p *process, method, path, token string) string {
	u, _ := url.Parse(p.url)
	text := method + " " + path + " HTTP/1.1\r\nHost: " + u.Host + "\r\n"
	if token != "" {
		text += "Authorization: Bearer " + token + "\r\n"
	}
	return text
}
