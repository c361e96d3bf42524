package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"atelier/internal/bus"
)

// seeding fills the log of an installation as if a month had passed.
type seeding struct {
	db        *sql.DB
	workspace string
	events    int
	from      time.Time
}

// What the seeded events are like.
const (
	seededDays   = 30
	seededKinds  = 20
	seededUsers  = 1_000
	seededStates = 5
	seedRows     = 200 // to a statement
	seedCommit   = 500 // statements to a transaction
)

// seeded gives a data directory with so many events, and their workspace. With LOAD_DATA it is made once.
func (p eventsPlan) seeded(ctx context.Context, dir string) (data, workspace string, err error) {
	if p.data != "" {
		if dir, err = filepath.Abs(p.data); err != nil {
			return "", "", err
		}
	}
	data = filepath.Join(dir, fmt.Sprintf("events-%d", p.events))
	mark := data + ".workspace"
	if text, err := os.ReadFile(mark); err == nil {
		return data, string(text), nil
	}
	if err := errors.Join(os.RemoveAll(data), os.MkdirAll(dir, 0o755)); err != nil {
		return "", "", err
	}
	product, err := p.startOn(ctx, dir, data)
	if err != nil {
		return "", "", err
	}
	workspace, err = newWorkspace(ctx, product)
	product.stop()
	if err != nil {
		return "", "", err
	}
	began := time.Now()
	if err := seed(ctx, filepath.Join(data, "atelier.db"), workspace, p.events); err != nil {
		return "", "", fmt.Errorf("seed: %w", err)
	}
	fmt.Printf("\n%d events seeded in %v\n", p.events, time.Since(began).Round(time.Second))
	return data, workspace, os.WriteFile(mark, []byte(workspace), 0o600)
}

// seed writes the events with the indexes taken away, and makes those anew: that is many times faster. Those who follow the
// log have nothing to do with what was there before them.
func seed(ctx context.Context, path, workspace string, events int) (err error) {
	db, err := openBare(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	// A file that is not finished is made anew, so nothing has to be written twice; and with room to sort in, an index is sorted
	// in a few pieces instead of hundreds.
	if err := execAll(ctx, db, `PRAGMA journal_mode = OFF`, `PRAGMA synchronous = OFF`, `PRAGMA cache_size = -262144`); err != nil {
		return err
	}
	indexes, err := dropIndexes(ctx, db)
	if err != nil {
		return err
	}
	s := seeding{db: db, workspace: workspace, events: events, from: time.Now().Add(-seededDays * 24 * time.Hour)}
	began := time.Now()
	if err := s.write(ctx); err != nil {
		return err
	}
	fmt.Printf("%v: %d events\n", time.Since(began).Round(time.Millisecond), events)
	partition, last := bus.PartitionOf(workspace), int64(s.position(events-1))
	return execAll(ctx, db, append(indexes,
		fmt.Sprintf(`UPDATE bus_heads SET last_pos = max(last_pos, %d) WHERE partition = %d`, last, partition),
		fmt.Sprintf(`UPDATE bus_cursors SET last_pos = max(last_pos, %d) WHERE partition = %d`, last, partition),
		`PRAGMA journal_mode = WAL`)...)
}

// execAll runs statements, and tells of those that take long.
func execAll(ctx context.Context, db *sql.DB, texts ...string) error {
	for _, text := range texts {
		began := time.Now()
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
		if took := time.Since(began); took > time.Second {
			fmt.Printf("%v: %s\n", took.Round(time.Millisecond), text)
		}
	}
	return nil
}

// dropIndexes removes the indexes of the log and tells how to make them.
func dropIndexes(ctx context.Context, db *sql.DB) (texts []string, err error) {
	rows, err := db.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'index' AND tbl_name = 'bus_events' AND sql IS NOT NULL`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return nil, err
		}
		names, texts = append(names, name), append(texts, text)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, name := range names {
		if _, err := db.ExecContext(ctx, `DROP INDEX `+name); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

func (s seeding) position(i int) bus.Position {
	at := s.from.Add(time.Duration(float64(i) / float64(s.events) * float64(seededDays*24*time.Hour-time.Minute)))
	return bus.PositionAt(at, bus.PartitionOf(s.workspace))
}

func (s seeding) write(ctx context.Context) error {
	query := `INSERT INTO bus_events (partition, pos, workspace_id, type, body, transient, correlation_id, user_id) VALUES ` +
		strings.TrimSuffix(strings.Repeat("(?,?,?,?,?,0,?,?),", seedRows), ",")
	for from := 0; from < s.events; from += seedRows * seedCommit {
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		if err := errors.Join(s.writeSome(ctx, tx, query, from), tx.Commit()); err != nil {
			return err
		}
	}
	return nil
}

func (s seeding) writeSome(ctx context.Context, tx *sql.Tx, query string, from int) error {
	insert, err := tx.PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	defer func() { _ = insert.Close() }()
	args := make([]any, 0, seedRows*7)
	for i := from; i < min(from+seedRows*seedCommit, s.events-s.events%seedRows); i++ {
		args = append(args, bus.PartitionOf(s.workspace), int64(s.position(i)), s.workspace, fmt.Sprintf("load.kind%d", i%seededKinds), s.body(i), correlation(i), user(i))
		if len(args) < cap(args) {
			continue
		}
		if _, err := insert.ExecContext(ctx, args...); err != nil {
			return err
		}
		args = args[:0]
	}
	return nil
}

// body is a stored event. Its order is its own, its state one of a few, its user one of many.
func (s seeding) body(i int) string {
	return fmt.Sprintf(`{"payload":{"order":"o-%08d","state":"state%d","amount":%d,"text":"the customer has asked for another delivery of what was ordered before"},`+
		`"source":{"workspaceId":%q,"userId":%q,"sessionId":"session-%d","correlationId":%q,"serviceTopic":"topic:runtime:emit"}}`,
		i, i%seededStates, i%997, s.workspace, user(i), i/50, correlation(i))
}

func user(i int) string { return fmt.Sprintf("user-%d", i*7919%seededUsers) }

func correlation(i int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", i) }
