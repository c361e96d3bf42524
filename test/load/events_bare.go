package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// openBare opens a database file as a program would that knows nothing of events, with the driver and the settings of the product.
func openBare(path string) (*sql.DB, error) {
	const settings = "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=wal_autocheckpoint(4000)&_txlock=immediate"
	db, err := sql.Open("sqlite", "file:"+path+settings)
	if err == nil {
		db.SetMaxOpenConns(1)
	}
	return db, err
}

// storedEvent is about what the product stores for an event of the measurement.
func storedEvent() string {
	return `{"payload":{"order":"o-12345678","amount":12.5,"state":"open","text":"` + strings.Repeat("x", 150) + `"},"source":{"workspaceId":"AbCdEfG","userId":"` +
		strings.Repeat("u", 21) + `","sessionId":"` + strings.Repeat("s", 21) + `","correlationId":"` + strings.Repeat("c", 36) + `","serviceTopic":"topic:runtime:emit"}}`
}

// bareIngest inserts the same bytes into a table with a key, in transactions of so many rows, and gives rows per second.
func bareIngest(ctx context.Context, path string, batch int, span time.Duration) (rate float64, err error) {
	db, err := openBare(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close(), os.Remove(path)) }()
	if _, err := db.ExecContext(ctx, `CREATE TABLE events (pos BIGINT NOT NULL PRIMARY KEY, workspace_id TEXT NOT NULL, type TEXT NOT NULL, body TEXT NOT NULL)`); err != nil {
		return 0, err
	}
	query := `INSERT INTO events (pos, workspace_id, type, body) VALUES ` + strings.TrimSuffix(strings.Repeat("(?,?,?,?),", batch), ",")
	body, count, began := storedEvent(), 0, time.Now()
	for time.Since(began) < span {
		args := make([]any, 0, batch*4)
		for i := range batch {
			args = append(args, count+i, "AbCdEfG", "load.tick", body)
		}
		if err := insertBare(ctx, db, query, args); err != nil {
			return 0, err
		}
		count += batch
	}
	return float64(count) / time.Since(began).Seconds(), nil
}

func insertBare(ctx context.Context, db *sql.DB, query string, args []any) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	return tx.Commit()
}
