package apptest

import (
	"context"
	"os"

	"atelier/internal/app"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/catalogue/cataloguetest"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqlite"
)

// checkEvents holds every event that a stopped server has in its data directory against the catalogue. What a test has broken
// or taken away is not looked at.
func (s *Server) checkEvents() {
	s.t.Helper()
	file := app.DatabasePath(s.DataDir)
	if _, err := os.Stat(file); err != nil || !s.embedded {
		return
	}
	ctx := context.Background()
	db, err := sqlite.Open(ctx, file)
	if err != nil {
		return
	}
	defer func() { _ = db.Close() }()
	events, err := sqldb.All(ctx, db, sqlbus.ScanEvent, `SELECT pos, workspace_id, type, body FROM bus_events`)
	if err != nil {
		return
	}
	for _, e := range events {
		cataloguetest.Conforms(s.t, e)
	}
}
