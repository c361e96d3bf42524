package cleanup

import (
	"context"
	"database/sql"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/sqldb"
)

// kept are the types of events that tell what people did. Only their age removes them, and the end of their workspace.
func kept() []string {
	return []string{"gateway.", "workspaces.", "apikeys.", "apps.", "events.", "organizations."}
}

// inactive removes the events of small workspaces where nothing happens any more, but not what tells of people's acts.
func (c *Cleanup) inactive(ctx context.Context, dryRun bool) (Removed, error) {
	before, on := c.before(days(c.Inactivity))
	if !on || c.Small < 0 {
		return Removed{Found: []string{}}, nil
	}
	quiet, err := c.quiet(ctx, before, int64(c.Small))
	if err != nil {
		return Removed{}, err
	}
	others := ` AND type NOT LIKE '` + strings.Join(kept(), `%' AND type NOT LIKE '`) + `%'`
	return c.removeAll(ctx, dryRun, quiet, `workspace_id = $1 AND pos < $2`+others, int64(before))
}

// deleted removes the events of workspaces that are gone.
func (c *Cleanup) deleted(ctx context.Context, dryRun bool) (Removed, error) {
	before, on := c.before(days(c.Deleted))
	if !on {
		return Removed{Found: []string{}}, nil
	}
	const whatever = 1 << 62
	quiet, err := c.quiet(ctx, before, whatever)
	if err != nil {
		return Removed{}, err
	}
	var gone []string
	for some := range slices.Chunk(quiet, 500) {
		known, err := c.Known(ctx, c.DB, some)
		if err != nil {
			return Removed{}, err
		}
		for _, id := range some {
			if !slices.Contains(known, id) {
				gone = append(gone, id)
			}
		}
	}
	return c.removeAll(ctx, dryRun, gone, `workspace_id = $1 AND pos < $2`, int64(before))
}

// quiet lists the workspaces whose newest event is before a position and that have at most so many. That of the platform is none of
// them: only their age removes its events.
func (c *Cleanup) quiet(ctx context.Context, before bus.Position, most int64) ([]string, error) {
	return sqldb.All(ctx, c.DB, func(rows *sql.Rows) (id string, err error) { return id, rows.Scan(&id) },
		`SELECT workspace_id FROM bus_events WHERE workspace_id <> $1 AND workspace_id <> ''
		GROUP BY workspace_id HAVING MAX(pos) < $2 AND COUNT(*) <= $3 ORDER BY workspace_id`, access.PlatformWorkspace, int64(before), most)
}

// removeAll removes what a condition selects of some workspaces, or counts which of them have any.
func (c *Cleanup) removeAll(ctx context.Context, dryRun bool, ids []string, where string, before int64) (Removed, error) {
	found, total := []string{}, int64(0)
	for _, id := range ids {
		n, err := c.removeOrCount(ctx, dryRun, where, id, before)
		if err != nil {
			return Removed{}, err
		}
		total += n
		if n > 0 && len(found) < mostNamed {
			found = append(found, id)
		}
	}
	if dryRun {
		return Removed{Found: found}, nil
	}
	return Removed{Found: found, Result: &Result{Events: total}}, nil
}
