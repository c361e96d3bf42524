package bulk

import (
	"context"
	"encoding/json"
	"unicode/utf8"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/versioning"
)

// Started says what a bulk operation is about to do.
type Started struct {
	RepositoryID string             `json:"repositoryId" doc:"The repository of the platform."`
	Groups       []string           `json:"groups" nullable:"false" doc:"The groups that were asked for."`
	Workspaces   []StartedWorkspace `json:"workspaces" nullable:"false" doc:"The workspaces, in their order."`
}

// StartedWorkspace is a workspace of a bulk operation before anything came of it.
type StartedWorkspace struct {
	Slug        string `json:"slug" doc:"Its slug: the folder in the repository."`
	WorkspaceID string `json:"workspaceId,omitempty" doc:"Its id."`
	Name        string `json:"name,omitempty" doc:"Its name."`
	Status      string `json:"status,omitempty" enum:"candidate,mergeConflict,inProgress,alreadyPushed" doc:"What a push has to do with it."`
}

// Plan is what a bulk operation would do.
type Plan struct {
	versioning.Plan

	Groups     []string           `json:"groups" nullable:"false" doc:"The groups that were asked for."`
	Workspaces []StartedWorkspace `json:"workspaces" nullable:"false" doc:"The workspaces, in their order."`
}

// started is the payload of the started event.
func (l listing) started() Started {
	s := Started{RepositoryID: l.options.RepositoryID, Groups: orEmpty(l.options.Groups), Workspaces: make([]StartedWorkspace, 0, len(l.items))}
	for _, i := range l.items {
		one := StartedWorkspace{Slug: i.Slug}
		if l.options.Kind == Pushing {
			one.WorkspaceID, one.Name, one.Status = i.WorkspaceID, i.Name, i.Status
		}
		s.Workspaces = append(s.Workspaces, one)
	}
	return s
}

// plan is the same as a plan that can be applied.
func (l listing) plan() Plan {
	s := l.started()
	p := Plan{Groups: s.Groups, Workspaces: s.Workspaces, Plan: versioning.Plan{
		PlanID: l.id(), Operation: l.options.operation(), RepositoryID: l.options.RepositoryID, Version: l.options.Name, Commit: l.source, DryRun: true,
		Created: []string{}, Updated: []string{}, Deleted: []string{}, Conflicts: []versioning.Conflict{}, Order: []string{},
	}}
	for _, i := range l.items {
		switch {
		case i.Wrong != nil || l.options.Kind == Pushing && i.Status != Candidate || l.options.current(i):
			continue
		case i.New:
			p.Created = append(p.Created, i.Slug)
		default:
			p.Updated = append(p.Updated, i.Slug)
		}
		p.Order = append(p.Order, i.Slug)
	}
	return p
}

// Progress says what came of a workspace.
type Progress struct {
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
}

// ImportedWorkspace is what a bulk import made of a workspace.
type ImportedWorkspace struct {
	Slug               string       `json:"slug" doc:"Its slug: the folder in the repository."`
	WorkspaceID        string       `json:"workspaceId,omitempty" doc:"Its id."`
	Name               string       `json:"name,omitempty" doc:"Its name."`
	Version            string       `json:"version,omitempty" doc:"The version that the repository has."`
	Status             string       `json:"status" enum:"imported,skipped,error" doc:"What came of it."`
	Reason             string       `json:"reason,omitempty" doc:"Why it was skipped."`
	Errors             []errs.Shown `json:"errors" nullable:"false" doc:"Why it failed, or what was left out."`
	ImportedFilesCount int          `json:"importedFilesCount" doc:"How many documents were written."`
	DeletedFilesCount  int          `json:"deletedFilesCount" doc:"How many documents were removed."`
	Duration           int64        `json:"duration" doc:"How many milliseconds it took."`
	App                *ImportedApp `json:"app,omitempty" doc:"The app that it publishes."`
}

// ImportCompleted is what a bulk import did.
type ImportCompleted struct {
	RepositoryID        string              `json:"repositoryId" doc:"The repository of the platform."`
	Groups              []string            `json:"groups" nullable:"false" doc:"The groups that were asked for."`
	Duration            int64               `json:"duration" doc:"How many milliseconds it took."`
	Errors              []errs.Shown        `json:"errors" nullable:"false" doc:"What failed; details.slug names the workspace."`
	CreatedWorkspaceIDs []string            `json:"createdWorkspaceIds" nullable:"false" doc:"The workspaces that were made."`
	UpdatedWorkspaceIDs []string            `json:"updatedWorkspaceIds" nullable:"false" doc:"The workspaces that were updated."`
	SkippedWorkspaceIDs []string            `json:"skippedWorkspaceIds" nullable:"false" doc:"The workspaces that had the version already."`
	ImportedFilesCount  int                 `json:"importedFilesCount" doc:"How many documents were written."`
	DeletedFilesCount   int                 `json:"deletedFilesCount" doc:"How many documents were removed."`
	Workspaces          []ImportedWorkspace `json:"workspaces" nullable:"false" doc:"The workspaces, in their order."`
	OperationID         string              `json:"operationId" doc:"The bulk operation."`
}

// PushedWorkspace is what a bulk push made of a workspace.
type PushedWorkspace struct {
	Slug        string       `json:"slug" doc:"Its slug: the folder in the repository."`
	WorkspaceID string       `json:"workspaceId,omitempty" doc:"Its id."`
	Name        string       `json:"name,omitempty" doc:"Its name."`
	Status      string       `json:"status" enum:"pushed,error,mergeConflict,alreadyPushed,inProgress" doc:"What came of it."`
	Reason      string       `json:"reason,omitempty" doc:"Why it was not pushed."`
	Errors      []errs.Shown `json:"errors" nullable:"false" doc:"Why it failed."`
	Duration    int64        `json:"duration" doc:"How many milliseconds it took."`
}

// PushCompleted is what a bulk push did.
type PushCompleted struct {
	RepositoryID              string            `json:"repositoryId" doc:"The repository of the platform."`
	Groups                    []string          `json:"groups" nullable:"false" doc:"The groups that were asked for."`
	Version                   string            `json:"version,omitempty" doc:"The version that was pushed."`
	Duration                  int64             `json:"duration" doc:"How many milliseconds it took."`
	Errors                    []errs.Shown      `json:"errors" nullable:"false" doc:"What failed; details.slug names the workspace."`
	PushedWorkspaceIDs        []string          `json:"pushedWorkspaceIds" nullable:"false" doc:"The workspaces that were pushed."`
	MergeConflictWorkspaceIDs []string          `json:"mergeConflictWorkspaceIds" nullable:"false" doc:"Those with a merge conflict, which were left out."`
	AlreadyPushedWorkspaceIDs []string          `json:"alreadyPushedWorkspaceIds" nullable:"false" doc:"Those without a change since their last push."`
	Workspaces                []PushedWorkspace `json:"workspaces" nullable:"false" doc:"The workspaces, in their order."`
	OperationID               string            `json:"operationId" doc:"The bulk operation."`
}

// completed is what a bulk operation did; failure is why it could not even begin.
func (b *Bulk) completed(r *running, failure error) any {
	failures := r.failures(failure)
	if r.options.Kind == Importing {
		return b.importCompleted(r, failures)
	}
	done := PushCompleted{
		RepositoryID: r.options.RepositoryID, Groups: orEmpty(r.options.Groups), Version: r.options.Name, Duration: b.since(r.row.StartedAt), Errors: failures,
		PushedWorkspaceIDs: []string{}, MergeConflictWorkspaceIDs: []string{}, AlreadyPushedWorkspaceIDs: []string{}, Workspaces: []PushedWorkspace{}, OperationID: r.row.ID,
	}
	for _, o := range r.outcomes {
		done.Workspaces = append(done.Workspaces, PushedWorkspace{
			Slug: o.Slug, WorkspaceID: o.WorkspaceID, Name: o.Name, Status: o.Status, Reason: o.Reason, Errors: orEmpty(o.Errors), Duration: o.Duration,
		})
		switch o.Status {
		case Pushed:
			done.PushedWorkspaceIDs = append(done.PushedWorkspaceIDs, o.WorkspaceID)
		case MergeConflict:
			done.MergeConflictWorkspaceIDs = append(done.MergeConflictWorkspaceIDs, o.WorkspaceID)
		case AlreadyPushed:
			done.AlreadyPushedWorkspaceIDs = append(done.AlreadyPushedWorkspaceIDs, o.WorkspaceID)
		}
	}
	return done
}

func (b *Bulk) importCompleted(r *running, failures []errs.Shown) ImportCompleted {
	done := ImportCompleted{
		RepositoryID: r.options.RepositoryID, Groups: orEmpty(r.options.Groups), Duration: b.since(r.row.StartedAt), Errors: failures,
		CreatedWorkspaceIDs: []string{}, UpdatedWorkspaceIDs: []string{}, SkippedWorkspaceIDs: []string{}, Workspaces: []ImportedWorkspace{}, OperationID: r.row.ID,
	}
	for _, o := range r.outcomes {
		done.Workspaces = append(done.Workspaces, ImportedWorkspace{
			Slug: o.Slug, WorkspaceID: o.WorkspaceID, Name: o.Name, Version: o.Version, Status: o.Status, Reason: o.Reason, Errors: orEmpty(o.Errors),
			ImportedFilesCount: o.Imported, DeletedFilesCount: o.Deleted, Duration: o.Duration, App: o.App,
		})
		done.ImportedFilesCount += o.Imported
		done.DeletedFilesCount += o.Deleted
		switch {
		case o.Status == Skipped:
			done.SkippedWorkspaceIDs = append(done.SkippedWorkspaceIDs, o.WorkspaceID)
		case o.Status == Imported && o.Created:
			done.CreatedWorkspaceIDs = append(done.CreatedWorkspaceIDs, o.WorkspaceID)
		case o.Status == Imported:
			done.UpdatedWorkspaceIDs = append(done.UpdatedWorkspaceIDs, o.WorkspaceID)
		}
	}
	return done
}

// failures are what failed: workspaces, or all of it.
func (r *running) failures(failure error) []errs.Shown {
	all := []errs.Shown{}
	if failure != nil {
		all = append(all, errs.From(failure).Show())
	}
	for _, o := range r.outcomes {
		if o.Status != Failed {
			continue
		}
		for _, one := range o.Errors {
			all = append(all, errs.Shown{Error: one.Error, Message: one.Message, Details: with(one.Details, "slug", o.Slug)})
		}
	}
	return all
}

func with(details map[string]any, key string, value any) map[string]any {
	all := map[string]any{key: value}
	for k, v := range details {
		if k != key {
			all[k] = v
		}
	}
	return all
}

// emit stores an event of the platform workspace that says what is given. One that is too large loses first what is told of single workspaces.
func (b *Bulk) emit(ctx context.Context, tx *sqldb.Tx, event catalogue.Payload, payload any) error {
	text, err := json.Marshal(payload)
	if err != nil {
		return err
	}
	var fields map[string]any
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	const envelope = 2000
	if b.EventMaxLen > 0 && utf8.RuneCount(text) > b.EventMaxLen-envelope {
		shorten(fields)
	}
	if err := catalogue.Fill(event, fields); err != nil {
		return err
	}
	return b.Definitions.Emit(ctx, tx, access.PlatformWorkspace, event)
}

// shorten cuts the lists of an event, and says how long they were.
func shorten(fields map[string]any) {
	const most = 50
	counts := map[string]any{}
	for key, value := range fields {
		if list, ok := value.([]any); ok {
			counts[key], fields[key] = len(list), list[:min(len(list), most)]
		}
	}
	delete(fields, "workspaces")
	fields["counts"], fields["stripped"] = counts, true
}

// completedEvent is the event of an operation that ended.
func (o Options) completedEvent() catalogue.Payload {
	if o.Kind == Importing {
		return new(catalogue.BulkImportCompleted)
	}
	return new(catalogue.BulkPushCompleted)
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
