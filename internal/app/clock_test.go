package app_test

import (
	"net/http"
	"testing"
	"time"

	"atelier/internal/app/apptest"
	"atelier/internal/clock"
	"atelier/internal/sqldb/sqldbtest"
)

// A host whose clock is an hour ahead does not take a lock for expired that somebody else holds, and one that is an hour behind does
// not keep one for longer than all others do.
func TestLocksLastByTheDatabasesClock(t *testing.T) {
	t.Parallel()
	settings := []string{"DATABASE_URL=" + sqldbtest.PostgresURL(t), "DATABASE_MAX_CONNS=8", "WORKSPACES_STORAGE_FILESYSTEM_DIRPATH=" + t.TempDir(), "DATA_DIR=" + t.TempDir()}
	right, ahead := apptest.Start(t, clock.System{}, settings...), apptest.Start(t, skewed(time.Hour), settings...)
	behind := apptest.Start(t, skewed(-time.Hour), settings...)
	clients := []*apptest.Client{right.Admin(), ahead.Admin(), behind.Admin()}
	for _, holder := range clients {
		id := clients[0].Post("/v2/workspaces", map[string]any{"name": "Locked"}).Want(http.StatusCreated).Text("id")
		path := "/v2/workspaces/" + id
		holder.Post(path+"/writeLock", map[string]any{"reason": "careful"}).Want(http.StatusOK)
		for i, other := range clients {
			other.Patch(path, map[string]any{"name": "Mine"}).Want(http.StatusLocked)
			if other.Get(path).Want(http.StatusOK).At("writeLock") == nil {
				t.Errorf("instance %d does not see the lock", i)
			}
		}
	}
}

// skewed is the machine's clock, wrong by so much.
func skewed(by time.Duration) clock.Clock {
	return clock.Anchored(clock.System{}, clock.System{}.Now().Add(by))
}
