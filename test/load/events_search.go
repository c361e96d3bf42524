package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"atelier/internal/bus"
)

// page is a question to the log, and what bare SQLite is asked instead.
type page struct {
	name  string
	query url.Values
	where string
	args  []any
	// times is how often it is asked; bareTimes likewise of bare SQLite.
	times, bareTimes int
	// scan tells that every event has to be looked at. That is not held to the target, which it misses in a long log.
	scan bool
}

// searches measures pages and a histogram of a long log.
func (p eventsPlan) searches(ctx context.Context, dir string) (err error) {
	data, workspace, err := p.seeded(ctx, dir)
	if err != nil {
		return err
	}
	product, err := p.startOn(ctx, dir, data)
	if err != nil {
		return err
	}
	defer product.stop()
	bare, err := openBare(filepath.Join(data, "atelier.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	if err := marked(ctx, bare, p.events); err != nil {
		return err
	}
	fmt.Printf("\n%d events in one workspace, against bare SQLite on the same table\n", p.events)
	var failures []error
	for _, one := range pages(p.events) {
		failures = append(failures, one.measure(ctx, product, bare, workspace))
	}
	return errors.Join(append(failures, histogram(ctx, product, bare, workspace))...)
}

// marked waits until the product has made the marks by which rare values are found, which it does behind the log.
func marked(ctx context.Context, bare *sql.DB, events int) error {
	const behind, patience = 4096, 30 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began, count := time.Now(), 0
	for count < events-behind {
		time.Sleep(time.Second)
		if err := bare.QueryRowContext(ctx, `SELECT COALESCE(SUM(events), 0) FROM events_mark_groups WHERE whole = built`).Scan(&count); err != nil {
			return fmt.Errorf("wait for marks, of which there are those of %d events: %w", count, err)
		}
	}
	var size int
	if err := bare.QueryRowContext(ctx, `SELECT COALESCE(SUM(LENGTH(marks)), 0) FROM events_marks`).Scan(&size); err != nil {
		return err
	}
	fmt.Printf("\nmarks of %d events were there after %v: %.1f bytes an event\n", count, time.Since(began).Round(time.Second), float64(size)/float64(max(count, 1)))
	return nil
}

// pages are those that are measured.
func pages(events int) []page {
	day := func(ago int) string { return time.Now().AddDate(0, 0, -ago).UTC().Format(time.RFC3339) }
	bound := func(ago int) int64 { return int64(bus.PositionAt(time.Now().AddDate(0, 0, -ago), 0)) }
	const often = 200
	order, kind := fmt.Sprintf("o-%08d", events/10), fmt.Sprintf("load.kind%d", events/10%seededKinds)
	return []page{
		{"newest", url.Values{}, ``, nil, often, often, false},
		{"by type", url.Values{"types": {"load.kind7"}}, `AND type = ?`, []any{"load.kind7"}, often, often, false},
		{"by user", url.Values{"source.userId": {"user-321"}}, `AND body ->> '$.source.userId' = ?`, []any{"user-321"}, often, often, false},
		{"by type, on a day", url.Values{"types": {"load.kind7"}, "afterDate": {day(15)}, "beforeDate": {day(14)}}, `AND type = ? AND pos > ? AND pos < ?`, []any{"load.kind7", bound(15), bound(14)}, often, often, false},
		{"by a frequent field", url.Values{"payload.state": {"state3"}}, `AND body ->> '$.payload.state' = ?`, []any{"state3"}, often, often, false},
		{"by a rare field", url.Values{"payload.order": {order}}, `AND body ->> '$.payload.order' = ?`, []any{order}, often, 1, false},
		{"by one that is not there", url.Values{"payload.order": {"none"}}, `AND body ->> '$.payload.order' = ?`, []any{"none"}, often, 1, false},
		{"by a rare and a type", url.Values{"payload.order": {order}, "types": {kind}}, `AND type = ? AND body ->> '$.payload.order' = ?`, []any{kind, order}, often, 1, false},
		{"by a session", url.Values{"source.sessionId": {fmt.Sprintf("session-%d", events/100)}}, `AND body ->> '$.source.sessionId' = ?`, []any{fmt.Sprintf("session-%d", events/100)}, often, 1, false},
		{"by a frequent word", url.Values{"text": {"customer"}}, `AND body LIKE ?`, []any{"%customer%"}, often, often, false},
		{"by a frequent absence", url.Values{"payload.missing[0]": {""}}, `AND body ->> '$.payload.missing' IS NULL`, nil, often, often, false},
		{"by a rare word", url.Values{"text": {order}}, `AND body LIKE ?`, []any{"%" + order + "%"}, often, 1, false},
		{"by a word not there", url.Values{"text": {"needle"}}, `AND body LIKE ?`, []any{"%needle%"}, often, 1, false},
		{"by the beginning of one", url.Values{"text": {"need*"}}, `AND body LIKE ?`, []any{"%need%"}, often, 1, false},
		{"by a rare absence", url.Values{"payload.order[0]": {""}}, `AND body ->> '$.payload.order' IS NULL`, nil, often, 1, false},
		{"by a short beginning", url.Values{"text": {"nee*"}}, `AND body LIKE ?`, []any{"%nee%"}, 3, 1, true},
	}
}

func (one page) measure(ctx context.Context, product *process, bare *sql.DB, workspace string) error {
	before := product.cpu()
	asked, err := distribution(one.times, func() error {
		return product.exchange(ctx, request{method: http.MethodGet, path: "/v2/workspaces/" + workspace + "/events?" + one.query.Encode()}, nil)
	})
	asked.cpu = (product.cpu() - before) / time.Duration(one.times)
	if err != nil && one.scan {
		fmt.Printf("%-24s NOT MET, it takes longer than a search may: %v\n", one.name, err)
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", one.name, err)
	}
	plain, err := distribution(one.bareTimes, func() error {
		return readBare(ctx, bare, `SELECT pos, type, body FROM bus_events WHERE workspace_id = ? `+one.where+` ORDER BY pos DESC LIMIT 50`, append([]any{workspace}, one.args...)...)
	})
	if err != nil {
		return err
	}
	asked.print(one.name, plain, mostPage)
	return missed(one.scan || asked.p99 < mostPage, "page "+one.name)
}

// histogram measures the events of each hour of a day.
func histogram(ctx context.Context, product *process, bare *sql.DB, workspace string) error {
	from, to := time.Now().AddDate(0, 0, -15).UTC(), time.Now().AddDate(0, 0, -14).UTC()
	body := fmt.Sprintf(`{"query":{"range":{"createdAt":{"gte":%q,"lt":%q}}},"limit":0,"aggs":{"hours":{"date_histogram":{"field":"createdAt","fixed_interval":"1h"}}}}`,
		from.Format(time.RFC3339), to.Format(time.RFC3339))
	const often = 20
	before := product.cpu()
	asked, err := distribution(often, func() error {
		return product.exchange(ctx, request{method: http.MethodPost, path: "/v2/workspaces/" + workspace + "/search", kind: "application/json", body: []byte(body)}, nil)
	})
	if err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	asked.cpu = (product.cpu() - before) / often
	first, last := int64(bus.PositionAt(from, 0)), int64(bus.PositionAt(to, 0))
	plain, err := distribution(often, func() error {
		return readBare(ctx, bare, `SELECT pos / ?, COUNT(*), '' FROM bus_events WHERE workspace_id = ? AND pos >= ? AND pos < ? GROUP BY 1`,
			(last-first)/24, workspace, first, last)
	})
	if err != nil {
		return err
	}
	asked.print("histogram of a day", plain, mostDays)
	return missed(asked.p99 < mostDays, "histogram of a day")
}

// spread is how long something took.
type spread struct {
	median, p99 time.Duration
	cpu         time.Duration // of the server, which hardly depends on what else the machine does; zero where it was not measured
}

// print tells how it compares.
func (s spread) print(name string, bare spread, target time.Duration) {
	const precision = 10 * time.Microsecond
	fmt.Printf("%-24s %10v median %10v p99, server CPU %8v, bare %10v: %.2f times (target: %v)\n", name, s.median.Round(precision), s.p99.Round(precision),
		s.cpu.Round(precision), bare.median.Round(precision), s.median.Seconds()/bare.median.Seconds(), target)
}

func distribution(times int, do func() error) (spread, error) {
	took := make([]time.Duration, 0, times)
	for range times {
		one, err := timed(do)
		if err != nil {
			return spread{}, err
		}
		took = append(took, one)
	}
	slices.Sort(took)
	return spread{median: took[len(took)/2], p99: took[len(took)*99/100]}, nil
}

// readBare runs a query and reads all it gives.
func readBare(ctx context.Context, db *sql.DB, query string, args ...any) error {
	rows, err := db.QueryContext(ctx, strings.TrimSpace(query), args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var first, second, third any
		if err := rows.Scan(&first, &second, &third); err != nil {
			return err
		}
	}
	return rows.Err()
}
