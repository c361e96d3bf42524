// Package archives exports workspaces as archives and imports them. An import is checked whole before anything is changed,
// and applied in one transaction: however the process ends, a workspace is wholly before or wholly after it.
package archives

import (
	"context"
	"encoding/json"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/engine"
)

// Archives is the use cases of archives.
type Archives struct {
	DB          *sqldb.DB
	Clock       clock.Clock
	Engine      *engine.Engine
	Definitions *definitions.Definitions
	Apps        Apps
	Limits      archive.Limits
}

// Apps knows which apps workspaces publish.
type Apps interface {
	// Of gives the app that a workspace publishes; nil when it publishes none.
	Of(ctx context.Context, r sqldb.Reader, workspaceID string) (*archive.AppInfo, error)
	// Schema is that of the configuration of an app's instances, as JSON, also of an app that the caller may not read; nil
	// when there is none.
	Schema(ctx context.Context, r sqldb.Reader, appSlug, version string) (json.RawMessage, error)
	// Publish publishes a workspace as an app, for the caller of ctx.
	Publish(ctx context.Context, workspaceID string, app archive.AppInfo) error
}

// Finding is something that an import reports without refusing the archive.
type Finding struct {
	Msg  string `json:"msg" doc:"What it is, in words."`
	Err  string `json:"err" doc:"A short stable name of it."`
	Path string `json:"path,omitempty" doc:"The document that it is about."`
	Line int    `json:"line,omitempty" doc:"The line in the text."`
	// Slug and ConflictingWorkspaceID say more of a slug that is taken; the workspace only to those who may change it.
	Slug                   string `json:"slug,omitempty" doc:"The slug that is taken."`
	ConflictingWorkspaceID string `json:"conflictingWorkspaceId,omitempty" doc:"The workspace that has it, when the caller may change that one."`
}

// Result is what an import did.
type Result struct {
	// Imported and Deleted are paths of documents; Unchanged counts those that were the same already.
	Imported, Deleted []string
	Unchanged         int
	Findings          []Finding
	// WorkspaceID is the workspace that was imported into.
	WorkspaceID string
	// Created and Updated are the workspaces of a bulk import, Published the apps that it published.
	Created, Updated, Published []string
	// Added are those of Imported that are new.
	Added []string
	// PlanID stands for exactly this import; it is of use only before it is done.
	PlanID string
	// LeftOut are the documents that were not imported although they are there.
	LeftOut []string
}

// maySecure tells whether the caller may replace the rules of a workspace.
func maySecure(check func(actions ...string) error) bool {
	return check(access.ActionManageSecurity, access.ActionManagePermissions) == nil
}
