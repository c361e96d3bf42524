package events

import (
	"embed"
	"io/fs"

	"atelier/internal/sqldb"
)

//go:embed migrations
var files embed.FS

// Migrations are the tables of webhooks. The events themselves are in those of the log.
func Migrations() sqldb.Migrations {
	steps, _ := fs.Sub(files, "migrations") // cannot fail: the folder is embedded
	return sqldb.Migrations{Component: "events", Files: steps}
}
