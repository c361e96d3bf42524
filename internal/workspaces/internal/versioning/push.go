package versioning

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/gitcmd"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// The reasons of the locks that operations hold, which are also their kinds.
const (
	Pushing   = "push_in_progress"
	Pulling   = "pull_in_progress"
	Resolving = "resolve_in_progress"
)

// Push says what is pushed, and how.
type Push struct {
	RepositoryID string
	// Name is that of the version; made up when empty.
	Name string
	// Description is JSON: a text, or texts by language.
	Description json.RawMessage
	// PlanID, when given, is the plan that the push has to be.
	PlanID string
}

// attempts is how often a push is tried when others push to the same branch at the same time.
const attempts = 10

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`) //nolint:gochecknoglobals // compiled once, never changed

// Check refuses a push that cannot be.
func (p Push) Check() error {
	if p.Name != "" && (!nameForm.MatchString(p.Name) || gitcmd.CheckTag(p.Name) != nil || definitions.ReservedVersion(p.Name)) {
		return errs.Invalid(errs.Field{Field: "name", Message: "use 1 to 100 letters, digits and _ . -, as a tag of git can be called; these are reserved: " + definitions.ReservedVersions()})
	}
	return nil
}

// StartPush begins to push a workspace that the caller may update.
func (v *Versioning) StartPush(ctx context.Context, ref string, p Push) (*Job, error) {
	w, repository, err := v.mayPush(ctx, ref, p)
	if err != nil {
		return nil, err
	}
	return v.start(ctx, w, repository, Pushing, "", func(ctx context.Context, run *run) (any, error) { return v.push(ctx, run, p) })
}

func (v *Versioning) mayPush(ctx context.Context, ref string, p Push) (w workspaces.Workspace, r repositories.Repository, err error) {
	visit, err := v.Door.May(ctx, v.DB, ref, access.ActionUpdate)
	if err != nil {
		return w, r, err
	}
	if err := p.Check(); err != nil {
		return w, r, err
	}
	if r, err = v.repository(ctx, v.DB, visit.Workspace, p.RepositoryID); err != nil {
		return w, r, err
	}
	if err := r.MayPush(); err != nil {
		return w, r, err
	}
	return visit.Workspace, r, v.Definitions.ReadsAll(ctx, visit)
}

// Pushed is what a push did.
type Pushed struct {
	Name        string           `json:"name"`
	Description json.RawMessage  `json:"description,omitempty"`
	CreatedAt   time.Time        `json:"createdAt"`
	CreatedBy   string           `json:"createdBy,omitempty"`
	Repository  RepositoryChoice `json:"repository"`
	Commit      string           `json:"commit,omitempty"`
}

// told is what events say of the version.
func (p Pushed) told() *catalogue.Version {
	said := &catalogue.Version{
		Name: p.Name, Description: p.Description, CreatedAt: p.CreatedAt, Repository: &catalogue.RepositoryRef{ID: p.Repository.ID}, Commit: p.Commit,
	}
	if p.CreatedBy != "" {
		said.CreatedBy = &p.CreatedBy
	}
	return said
}

// RepositoryChoice names a repository.
type RepositoryChoice struct {
	ID string `json:"id"`
}

// pushing is a push on its way.
type pushing struct {
	Push

	run   *run
	local local
	known common
	seen  sight
	out   outgoing
	plan  pushPlan
	// number counts the names that were tried when nobody chose one.
	number int
}

// pushPlan is what a push is about to do, for whoever has to find out whether it did.
type pushPlan struct {
	planned

	Revision    int64           `json:"revision"`
	Name        string          `json:"name"`
	Description json.RawMessage `json:"description,omitempty"`
	Before      store.Sync      `json:"before"`
	Base        string          `json:"base"`
	Changes     changes         `json:"changes"`
	At          time.Time       `json:"at"`
}

// push pushes the workspace of an operation.
func (v *Versioning) push(ctx context.Context, run *run, p Push) (any, error) {
	run.progress.step(ctx, "checkout", "Opening the repository")
	other, err := v.open(ctx, run.op.Workspace, run.repository)
	if err != nil {
		return nil, err
	}
	return v.pushNow(ctx, run, p, other)
}

// pushNow pushes what the workspace is now.
func (v *Versioning) pushNow(ctx context.Context, run *run, p Push, other place) (any, error) {
	now, err := v.snapshot(ctx, run.op.Workspace.ID)
	if err != nil {
		return nil, err
	}
	failpoint.At("push.snapshot")
	return v.pushTo(ctx, &pushing{Push: p, run: run, local: now}, other)
}

// pushTo pushes what was read of the workspace to the other side.
func (v *Versioning) pushTo(ctx context.Context, p *pushing, other place) (any, error) {
	at := v.Definitions.Now()
	if p.Name == "" {
		p.number, p.Name = 1, AutoName(at, 1)
	}
	for left := attempts; ; left-- {
		if err := v.preparePush(ctx, p, other, at); err != nil {
			return nil, err
		}
		p.run.progress.step(ctx, "push", "Sending to the repository")
		err := other.send(ctx, p.seen, p.out, p.plan.planned)
		failpoint.At("push.sent")
		if left > 0 && moved(err) {
			continue // somebody else pushed; when our folder is as it was, we can again
		}
		if err != nil {
			return v.doubted(ctx, p, other, err)
		}
		return v.recorded(ctx, p)
	}
}

// recorded records a push that has arrived. It is recorded also when the process is being stopped; when it cannot be, the
// operation is left to the recovery.
func (v *Versioning) recorded(ctx context.Context, p *pushing) (any, error) {
	made, err := v.recordPush(context.WithoutCancel(ctx), p.run, p.plan)
	if err != nil {
		return nil, &unknownError{cause: err}
	}
	return made, nil
}

// doubted deals with a push that failed. When the answer got lost, the other side is asked; when that cannot be had either,
// the operation is left to the recovery, which asks until it knows.
func (v *Versioning) doubted(ctx context.Context, p *pushing, other place, failure error) (any, error) {
	if ctx.Err() != nil { // it was stopped in the middle of sending
		return nil, &unknownError{cause: failure}
	}
	problem, ok := errors.AsType[*gitcmd.Problem](failure)
	if !ok || problem.Kind != gitcmd.Unreachable && problem.Kind != gitcmd.TimedOut {
		return nil, failure
	}
	arrived, err := other.arrived(ctx, p.plan.planned)
	switch {
	case err != nil:
		return nil, &unknownError{cause: failure}
	case arrived:
		return v.recorded(ctx, p)
	default:
		return nil, failure
	}
}

// unknownError says that nobody knows yet whether a push arrived.
type unknownError struct{ cause error }

// Error implements error.
func (e *unknownError) Error() string {
	return "not known whether the push arrived: " + e.cause.Error()
}

// Unwrap gives the error to show.
func (e *unknownError) Unwrap() error { return e.cause }

// preparePush sees where the other side is, and makes what is to be sent.
func (v *Versioning) preparePush(ctx context.Context, p *pushing, other place, at time.Time) (err error) {
	p.run.progress.step(ctx, "pull", "Looking at the repository")
	if p.seen, err = other.look(ctx, latest, p.Name); err != nil {
		return err
	}
	for p.seen.TagTaken && p.number > 0 { // nobody chose the name, so the next one will do
		p.number++
		p.Name = AutoName(at, p.number)
		if p.seen, err = other.look(ctx, latest, p.Name); err != nil {
			return err
		}
	}
	if err := p.nameIsFree(); err != nil {
		return err
	}
	if p.known, err = v.common(ctx, v.DB, p.run.op.Workspace.ID, p.run.repository); err != nil {
		return err
	}
	failpoint.At("push.looked")
	if err := v.inStep(ctx, p, other); err != nil {
		return err
	}
	plan := planOf("push", p.run.repository, p.local.workspace, p.seen)
	if p.number == 0 {
		plan.version = p.Name
	}
	if err := v.planned(p.PlanID, plan); err != nil {
		return err
	}
	p.run.progress.step(ctx, "write", "Writing the documents")
	if err := v.outgoing(ctx, p, other, at); err != nil {
		return err
	}
	p.run.progress.step(ctx, "merge", "Merging into the branch")
	prepared, err := other.prepare(ctx, p.seen, p.out)
	if err != nil {
		return err
	}
	failpoint.At("push.prepared")
	return v.notePlan(ctx, p, prepared, at)
}

// nameIsFree refuses a name that a version in the repository has.
func (p *pushing) nameIsFree() error {
	if !p.seen.TagTaken {
		return nil
	}
	return errs.Newf(errs.AlreadyExists, "The repository has a version %s already; choose another name.", p.Name).
		With("tag", p.Name).With("repositoryId", p.run.repository.ID).With("branch", p.run.repository.Branch)
}

// inStep refuses to push when the other side has something that the workspace does not.
func (v *Versioning) inStep(ctx context.Context, p *pushing, other place) error {
	if b, ok := other.(*branch); ok && p.seen.Intermediate != "" && p.seen.Intermediate != p.known.Saved {
		ours, err := b.contains(ctx, p.seen.Head, p.seen.Intermediate)
		if err == nil && !ours {
			ours, err = store.PlannedCommit(ctx, v.DB, p.run.op.Workspace.ID, p.seen.Intermediate)
		}
		if err != nil {
			return err
		}
		if !ours {
			return behind(p.run.repository) // somebody worked on the intermediate branch
		}
	}
	if p.known.known && p.seen.Tree == p.known.Tree {
		return nil
	}
	if !hasDocuments(p.seen.Names) {
		p.known.base = side{} // nothing of it is there, not yet or not any more: there is nothing to pull and nothing to overwrite
		return nil
	}
	found, err := other.read(ctx, p.seen)
	if code := errs.CodeOf(err); code == errs.ValidationFailed || code == errs.PayloadTooLarge {
		return behind(p.run.repository) // a pull says what is wrong with it
	}
	if err != nil {
		return err
	}
	theirs := sideOf(found.Files)
	if !equal(theirs, p.local.side) {
		return behind(p.run.repository)
	}
	p.known.base = theirs
	return nil
}

func hasDocuments(names []string) bool {
	for _, name := range names {
		if _, _, is := archive.IsDocument(name); is {
			return true
		}
	}
	return false
}

// AutoName is the name of a version that nobody named: the day, a number, and the moment.
func AutoName(at time.Time, number int) string {
	return fmt.Sprintf("%d-%d-%d.%d-%d", at.Month(), at.Day(), at.Year(), number, at.UnixMilli())
}

// Stale says that a plan is not any more what would happen.
func Stale() error {
	return errs.New(errs.Conflict, "The workspace or the repository changed since this plan was made, so it is not applied; ask for a new plan.").
		With("reason", "plan_stale").WithStatus(http.StatusConflict)
}
