package catalogue

import (
	"time"

	"atelier/internal/errs"
)

// VersionProgress is the payload of workspaces.versions.progress.
type VersionProgress struct {
	Operation    string      `json:"operation" doc:"pull or push."`
	OperationID  string      `json:"operationId" doc:"The operation."`
	Step         string      `json:"step" doc:"The step that begins, or error."`
	Message      string      `json:"message" doc:"What it is, for people."`
	StartedAt    time.Time   `json:"startedAt" doc:"When the operation began."`
	StepDuration int64       `json:"stepDuration" doc:"How many milliseconds the step before took."`
	RepositoryID string      `json:"repositoryId,omitempty" doc:"The repository."`
	Branch       string      `json:"branch,omitempty" doc:"The branch."`
	Error        *errs.Shown `json:"error,omitempty" doc:"Why the operation failed."`
	Stripped
}

// EventType names the event.
func (*VersionProgress) EventType() string { return "workspaces.versions.progress" }

// HostKeysForgotten is the payload of workspaces.hostKeys.forgotten.
type HostKeysForgotten struct {
	Audited
	RepositoryID string `json:"repositoryId" doc:"The repository."`
	Host         string `json:"host" doc:"The server whose key is believed anew."`
}

// EventType names the event.
func (*HostKeysForgotten) EventType() string { return "workspaces.hostKeys.forgotten" }

// DriftDetected is the payload of workspaces.drift.detected. Lists are cut.
type DriftDetected struct {
	Workspace    WorkspaceRef `json:"workspace" doc:"The workspace."`
	RepositoryID string       `json:"repositoryId" doc:"The repository."`
	Status       string       `json:"status" doc:"How the two stand to each other."`
	Local        []string     `json:"local,omitzero" doc:"Documents that were changed in the workspace."`
	Remote       []string     `json:"remote,omitzero" doc:"Documents that were changed in the repository."`
	Conflicts    []string     `json:"conflicts,omitzero" doc:"Documents that were changed in both."`
	Commit       string       `json:"commit" doc:"The commit that was looked at."`
	Stripped
}

// EventType names the event.
func (*DriftDetected) EventType() string { return "workspaces.drift.detected" }

// Shortened tells that lists of an event were cut.
type Shortened struct {
	Counts map[string]int `json:"counts,omitempty" doc:"How long the lists were that were cut."`
	Stripped
}

// Bulk is the operation that an event of many workspaces is about.
type Bulk string

// The operations on many workspaces.
const (
	BulkImport Bulk = "bulkImport"
	BulkPush   Bulk = "bulkPush"
)

// BulkStarted is the payload of workspaces.bulkImport.started and workspaces.bulkPush.started.
type BulkStarted struct {
	Bulk         Bulk            `json:"-"`
	RepositoryID string          `json:"repositoryId" doc:"The repository of the platform."`
	Groups       []string        `json:"groups,omitzero" doc:"The groups that were asked for."`
	Workspaces   []BulkCandidate `json:"workspaces,omitzero" doc:"The workspaces, in their order."`
	Shortened
}

// BulkCandidate is a workspace before anything came of it.
type BulkCandidate struct {
	Slug        string `json:"slug" doc:"Its slug."`
	WorkspaceID string `json:"workspaceId,omitempty" doc:"Its id."`
	Name        string `json:"name,omitempty" doc:"Its name."`
	Status      string `json:"status,omitempty" doc:"What a push has to do with it."`
}

// EventType names the event.
func (e *BulkStarted) EventType() string { return "workspaces." + string(e.Bulk) + ".started" }

// BulkProgress is the payload of workspaces.bulkImport.progress and workspaces.bulkPush.progress.
type BulkProgress struct {
	Bulk               Bulk         `json:"-"`
	RepositoryID       string       `json:"repositoryId" doc:"The repository of the platform."`
	WorkspaceSlug      string       `json:"workspaceSlug" doc:"The slug of the workspace."`
	WorkspaceID        string       `json:"workspaceId,omitempty" doc:"Its id."`
	WorkspaceName      string       `json:"workspaceName,omitempty" doc:"Its name."`
	Status             string       `json:"status" doc:"imported, skipped, pushed or error."`
	Duration           int64        `json:"duration" doc:"How many milliseconds it took."`
	Errors             []errs.Shown `json:"errors,omitempty" doc:"What was wrong."`
	ImportedFilesCount *int         `json:"importedFilesCount,omitempty" doc:"How many documents were written."`
	DeletedFilesCount  *int         `json:"deletedFilesCount,omitempty" doc:"How many documents were removed."`
	Current            int          `json:"current" doc:"Which of the workspaces it is, counted from 1."`
	Total              int          `json:"total" doc:"How many there are."`
	Percentage         int          `json:"percentage" doc:"How much of it is done."`
	OperationID        string       `json:"operationId" doc:"The bulk operation."`
	Shortened
}

// EventType names the event.
func (e *BulkProgress) EventType() string { return "workspaces." + string(e.Bulk) + ".progress" }

// BulkImportCompleted is the payload of workspaces.bulkImport.completed.
type BulkImportCompleted struct {
	RepositoryID        string        `json:"repositoryId" doc:"The repository of the platform."`
	Groups              []string      `json:"groups,omitzero" doc:"The groups that were asked for."`
	Duration            int64         `json:"duration" doc:"How many milliseconds it took."`
	Errors              []errs.Shown  `json:"errors,omitzero" doc:"What failed; details.slug names the workspace."`
	CreatedWorkspaceIDs []string      `json:"createdWorkspaceIds,omitzero" doc:"The workspaces that were made."`
	UpdatedWorkspaceIDs []string      `json:"updatedWorkspaceIds,omitzero" doc:"The workspaces that were updated."`
	SkippedWorkspaceIDs []string      `json:"skippedWorkspaceIds,omitzero" doc:"The workspaces that had the version already."`
	ImportedFilesCount  int           `json:"importedFilesCount" doc:"How many documents were written."`
	DeletedFilesCount   int           `json:"deletedFilesCount" doc:"How many documents were removed."`
	Workspaces          []BulkOutcome `json:"workspaces,omitzero" doc:"The workspaces, in their order."`
	OperationID         string        `json:"operationId" doc:"The bulk operation."`
	Shortened
}

// EventType names the event.
func (*BulkImportCompleted) EventType() string { return "workspaces.bulkImport.completed" }

// BulkOutcome is what came of a workspace.
type BulkOutcome struct {
	Slug               string       `json:"slug" doc:"Its slug."`
	WorkspaceID        string       `json:"workspaceId,omitempty" doc:"Its id."`
	Name               string       `json:"name,omitempty" doc:"Its name."`
	Version            string       `json:"version,omitempty" doc:"The version that the repository has."`
	Status             string       `json:"status" doc:"What came of it."`
	Reason             string       `json:"reason,omitempty" doc:"Why it was left out."`
	Errors             []errs.Shown `json:"errors" doc:"Why it failed, or what was left out."`
	ImportedFilesCount *int         `json:"importedFilesCount,omitempty" doc:"How many documents were written."`
	DeletedFilesCount  *int         `json:"deletedFilesCount,omitempty" doc:"How many documents were removed."`
	Duration           int64        `json:"duration" doc:"How many milliseconds it took."`
	App                *BulkApp     `json:"app,omitempty" doc:"The app that it publishes."`
}

// BulkApp is an app that an imported workspace publishes.
type BulkApp struct {
	Slug        string `json:"slug" doc:"Its slug."`
	Name        string `json:"name,omitempty" doc:"What it is called."`
	Description string `json:"description,omitempty" doc:"What it is for."`
}

// BulkPushCompleted is the payload of workspaces.bulkPush.completed.
type BulkPushCompleted struct {
	RepositoryID              string        `json:"repositoryId" doc:"The repository of the platform."`
	Groups                    []string      `json:"groups,omitzero" doc:"The groups that were asked for."`
	Version                   string        `json:"version,omitempty" doc:"The version that was pushed."`
	Duration                  int64         `json:"duration" doc:"How many milliseconds it took."`
	Errors                    []errs.Shown  `json:"errors,omitzero" doc:"What failed; details.slug names the workspace."`
	PushedWorkspaceIDs        []string      `json:"pushedWorkspaceIds,omitzero" doc:"The workspaces that were pushed."`
	MergeConflictWorkspaceIDs []string      `json:"mergeConflictWorkspaceIds,omitzero" doc:"Those with a merge conflict, which were left out."`
	AlreadyPushedWorkspaceIDs []string      `json:"alreadyPushedWorkspaceIds,omitzero" doc:"Those without a change since their last push."`
	Workspaces                []BulkOutcome `json:"workspaces,omitzero" doc:"The workspaces, in their order."`
	OperationID               string        `json:"operationId" doc:"The bulk operation."`
	Shortened
}

// EventType names the event.
func (*BulkPushCompleted) EventType() string { return "workspaces.bulkPush.completed" }
