package sqldb

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Applied is one migration that Migrate ran.
type Applied struct {
	Component string
	Version   int
	Name      string
}

const migrationsTable = `CREATE TABLE IF NOT EXISTS schema_migrations (
	component  TEXT   NOT NULL,
	version    BIGINT NOT NULL,
	name       TEXT   NOT NULL,
	checksum   TEXT   NOT NULL,
	applied_at BIGINT NOT NULL,
	PRIMARY KEY (component, version)
)`

// Migrate brings every component's schema up to date. Each step is one transaction, so a process killed half-way leaves
// whole steps; several processes may call it at once. A step recorded by a newer release is left alone.
func Migrate(ctx context.Context, db *DB, now time.Time, components ...Migrations) ([]Applied, error) {
	err := db.Tx(ctx, func(tx *Tx) error {
		if err := lockMigrations(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, migrationsTable)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("prepare migrations: %w", err)
	}
	var applied []Applied
	for _, component := range components {
		steps, err := readSteps(component, db.Driver())
		if err != nil {
			return applied, err
		}
		done, err := appliedSteps(ctx, db, component.Component)
		if err != nil {
			return applied, err
		}
		for _, step := range steps {
			if sum, ok := done[step.version]; ok {
				if err := step.unchanged(component.Component, sum); err != nil {
					return applied, err
				}
				continue
			}
			ran, err := apply(ctx, db, now, component.Component, step)
			if err != nil {
				return applied, fmt.Errorf("migration %s/%s: %w", component.Component, step.name, err)
			}
			if ran {
				applied = append(applied, Applied{Component: component.Component, Version: step.version, Name: step.name})
			}
		}
	}
	return applied, nil
}

// appliedSteps reads what is recorded, so that an up-to-date schema costs one query a component and no write.
func appliedSteps(ctx context.Context, r Reader, component string) (map[int]string, error) {
	type step struct {
		version  int
		checksum string
	}
	steps, err := All(ctx, r, func(rows *sql.Rows) (s step, err error) {
		return s, rows.Scan(&s.version, &s.checksum)
	}, `SELECT version, checksum FROM schema_migrations WHERE component = $1`, component)
	if err != nil {
		return nil, err
	}
	done := make(map[int]string, len(steps))
	for _, s := range steps {
		done[s.version] = s.checksum
	}
	return done, nil
}

func apply(ctx context.Context, db *DB, now time.Time, component string, step migrationStep) (ran bool, err error) {
	err = db.Tx(ctx, func(tx *Tx) error {
		ran = false // this may be a second attempt
		if err := lockMigrations(ctx, tx); err != nil {
			return err
		}
		n, err := tx.Exec(ctx, `INSERT INTO schema_migrations (component, version, name, checksum, applied_at)
			VALUES ($1, $2, $3, $4, $5) ON CONFLICT (component, version) DO NOTHING`,
			component, step.version, step.name, step.checksum, Millis(now))
		if err != nil {
			return err
		}
		if n == 0 {
			return step.checkApplied(ctx, tx, component) // another process was first
		}
		ran = true
		for _, statement := range statements(step.text) {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return fmt.Errorf("%s: %w", firstLine(statement), err)
			}
		}
		return nil
	})
	return ran && err == nil, err
}

// checkApplied compares the step with what another process has just recorded for it.
func (s migrationStep) checkApplied(ctx context.Context, tx *Tx, component string) error {
	var sum string
	err := tx.QueryRow(ctx, `SELECT checksum FROM schema_migrations WHERE component = $1 AND version = $2`, component, s.version).Scan(&sum)
	if err != nil {
		return err
	}
	return s.unchanged(component, sum)
}

func (s migrationStep) unchanged(component, recorded string) error {
	if recorded != s.checksum {
		return fmt.Errorf("migration %s/%s was changed after it had been applied", component, s.name)
	}
	return nil
}

func lockMigrations(ctx context.Context, tx *Tx) error {
	if tx.db.engine.LockMigrations == nil {
		return nil
	}
	return tx.db.engine.LockMigrations(ctx, tx)
}

type migrationStep struct {
	version  int
	name     string
	text     string
	checksum string
}

func readSteps(m Migrations, driver string) ([]migrationStep, error) {
	files, err := fs.Glob(m.Files, "*.sql")
	if err != nil {
		return nil, err
	}
	var steps []migrationStep
	seen := make(map[int]bool)
	for _, file := range files {
		base := strings.TrimSuffix(file, ".sql")
		if name, engine, ok := strings.Cut(base, "."); ok {
			if engine != driver {
				continue
			}
			base = name
		}
		number, _, _ := strings.Cut(base, "_")
		version, err := strconv.Atoi(number)
		if err != nil || seen[version] {
			return nil, fmt.Errorf("migration %s/%s: its number is missing or used twice", m.Component, file)
		}
		seen[version] = true
		text, err := fs.ReadFile(m.Files, file)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		steps = append(steps, migrationStep{version: version, name: base, text: string(text), checksum: hex.EncodeToString(sum[:])})
	}
	sort.Slice(steps, func(i, j int) bool { return steps[i].version < steps[j].version })
	return steps, nil
}

// statements splits a file at the semicolons that end a line; comments of whole lines are dropped. A statement that holds
// such semicolons itself, as the body of a trigger does, cannot be written in a step.
func statements(text string) []string {
	var out []string
	var current strings.Builder
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "--") {
			continue
		}
		current.WriteString(line)
		if strings.HasSuffix(trimmed, ";") {
			out = append(out, strings.TrimSpace(current.String()))
			current.Reset()
		}
	}
	if rest := strings.TrimSpace(current.String()); rest != "" {
		out = append(out, rest)
	}
	return out
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}
