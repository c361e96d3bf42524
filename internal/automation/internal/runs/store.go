package runs

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/sqldb"
)

// What starts a run.
const (
	byEvent    = "event"
	bySchedule = "schedule"
)

// row is a run as it is stored.
type row struct {
	id, workspaceID  string
	position         bus.Position
	automation       string
	kind, cron       string
	body             string // of the event, where the log does not keep it
	owner            string
	begun            bool
	deaths, attempts int
}

// runID is the id of the run that an event starts of an automation: the same however often the event is read.
func runID(position bus.Position, automation string) string {
	sum := sha256.Sum256([]byte(strconv.FormatInt(int64(position), 10) + "/" + automation))
	return "run_" + hex.EncodeToString(sum[:16])
}

const rowColumns = `id, workspace_id, position, automation, kind, cron, event, owner, begun, deaths, attempts`

func scanRow(rows *sql.Rows) (r row, err error) {
	var begun int
	err = rows.Scan(&r.id, &r.workspaceID, &r.position, &r.automation, &r.kind, &r.cron, &r.body, &r.owner, &begun, &r.deaths, &r.attempts)
	r.begun = begun != 0
	return r, err
}

// insertRows stores runs, many to a statement. Those that are there already are left as they are.
func insertRows(ctx context.Context, tx *sqldb.Tx, rows []row, now time.Time) error {
	const atOnce, columns = 100, 9
	for len(rows) > 0 {
		some := rows[:min(len(rows), atOnce)]
		rows = rows[len(some):]
		var text strings.Builder
		text.WriteString(`INSERT INTO runs (id, workspace_id, position, automation, kind, cron, event, owner, created_at, begun, deaths, attempts) VALUES `)
		args := make([]any, 0, len(some)*columns)
		for i, r := range some {
			if i > 0 {
				text.WriteByte(',')
			}
			text.WriteString(`(` + sqldb.In(len(args)+1, columns) + `, 0, 0, 0)`)
			args = append(args, r.id, r.workspaceID, int64(r.position), r.automation, r.kind, r.cron, r.body, r.owner, sqldb.Millis(now))
		}
		text.WriteString(` ON CONFLICT (id) DO NOTHING`)
		if _, err := tx.Exec(ctx, text.String(), args...); err != nil {
			return err
		}
	}
	return nil
}

// waitingRuns counts the runs of a workspace that are not done, up to most.
func waitingRuns(ctx context.Context, r sqldb.Reader, workspaceID string, most int) (count int, err error) {
	err = r.QueryRow(ctx, `SELECT COUNT(*) FROM (SELECT 1 FROM runs WHERE workspace_id = $1 LIMIT $2) AS waiting`, workspaceID, most).Scan(&count)
	return count, err
}

// removeRows removes runs that are done, with their journal and what they waited for. Runs that another instance has by now stay.
func removeRows(ctx context.Context, tx *sqldb.Tx, jobs []*job) error {
	byOwner := map[string][]any{}
	for _, j := range jobs {
		byOwner[j.owner] = append(byOwner[j.owner], j.id)
	}
	for owner, ids := range byOwner {
		mine, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (id any, err error) {
			var text string
			err = rows.Scan(&text)
			return text, err
		}, `DELETE FROM runs WHERE owner = $1 AND id IN (`+sqldb.In(2, len(ids))+`) RETURNING id`, append([]any{owner}, ids...)...)
		if err != nil {
			return err
		}
		if len(mine) == 0 {
			continue
		}
		if _, err := tx.Exec(ctx, `DELETE FROM run_effects WHERE run_id IN (`+sqldb.In(1, len(mine))+`)`, mine...); err != nil {
			return err
		}
		if err := waits.Forget(ctx, tx, mine); err != nil {
			return err
		}
	}
	return nil
}

// cause reads the event that started a run; sqldb.IsNotFound tells that it is gone.
func (r *Runs) cause(ctx context.Context, j *job) (bus.Event, error) {
	if j.event != nil {
		return *j.event, nil
	}
	if j.body == "" {
		return sqlbus.Get(ctx, r.DB, j.workspaceID, j.position)
	}
	eventType, body, _ := strings.Cut(j.body, "\n")
	return bus.Event{Position: j.position, WorkspaceID: j.workspaceID, Type: eventType, Body: []byte(body)}, nil
}

// keptBody is the event as a run keeps it, where the log soon forgets it.
func keptBody(e bus.Event) string { return e.Type + "\n" + string(e.Body) }
