package archives

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// importing is the reason of the lock that an import holds.
const importing = "import_in_progress"

// errRehearsed ends the transaction of a dry run, so that nothing of it is kept.
var errRehearsed = errors.New("archives: this was only a rehearsal")

// Options say how an archive is imported.
type Options struct {
	// Prune deletes the automations, pages and app instances that the archive does not have.
	Prune bool
	// DryRun changes nothing and tells what would happen.
	DryRun bool
	// PlanID, when given, is the plan that the import has to be.
	PlanID string

	pull Pulled
}

// Read reads an archive by the rules of the installation.
func (a *Archives) Read(from io.ReaderAt, size int64) (*archive.Archive, error) {
	limits := a.Limits
	limits.Clock = a.Clock
	return archive.Read(from, size, limits)
}

// MayImport refuses callers that may not import into the workspace, before they send anything.
func (a *Archives) MayImport(ctx context.Context, ref string) error {
	_, err := a.Engine.Door.May(ctx, a.DB, ref, access.ActionUpdate)
	return err
}

// MayCreate refuses callers that may not make workspaces, before they send anything.
func (a *Archives) MayCreate(ctx context.Context) error { return a.Engine.MayCreate(ctx) }

// Import imports an archive into a workspace that the caller may update.
func (a *Archives) Import(ctx context.Context, ref string, from *archive.Archive, opts Options) (Result, error) {
	v, err := a.Engine.Door.May(ctx, a.DB, ref, access.ActionUpdate)
	if err != nil {
		return Result{}, err
	}
	if from.Bulk != nil {
		return Result{}, errs.New(errs.InvalidRequest, "This archive holds many workspaces; import it with POST /v2/workspaces/import.")
	}
	checked, err := a.check(ctx, from)
	if err != nil {
		return Result{}, err
	}
	failpoint.At("import.checked")
	return a.into(ctx, v.Workspace, checked, opts)
}

// into imports an archive that was checked.
func (a *Archives) into(ctx context.Context, w workspaces.Workspace, c *content, opts Options) (Result, error) {
	if opts.DryRun { // it needs no lock: it is refused while somebody else holds it, and changes nothing
		plan, err := applying(c, func(c *content) (Result, error) { return a.apply(ctx, &definitions.Operation{Workspace: w}, c, opts) })
		a.planned(c.info, &plan)
		return plan, err
	}
	op, err := a.Definitions.Begin(ctx, w.ID, definitions.Start{Reason: importing})
	if err != nil {
		return Result{}, err
	}
	failpoint.At("import.locked")
	result, err := applying(c, func(c *content) (Result, error) { return a.apply(ctx, op, c, opts) })
	if err != nil {
		if lost := op.Abandon(ctx, err); lost != nil {
			return Result{}, errs.Wrap(lost, "release the lock of an import")
		}
		return Result{}, err
	}
	failpoint.At("import.committed")
	a.publish(ctx, w.ID, c.info, &result)
	return result, nil
}

// applying applies an archive, and does it again without its roles and rules when these are what is refused: because they
// would lock somebody out, or give more than the caller has.
func applying(c *content, apply func(*content) (Result, error)) (Result, error) {
	result, err := apply(c)
	if refusal, ok := errors.AsType[*definitions.SecurityError](err); ok && c.security != nil {
		return apply(c.withoutSecurity(refusal))
	}
	return result, err
}

// secure tells whether the roles and rules of an archive apply, and reports it when they do not.
func (r *Result) secure(c *content, check func(actions ...string) error) bool {
	if c.security == nil {
		return false
	}
	if maySecure(check) {
		return true
	}
	r.LeftOut = append(r.LeftOut, string(dsul.Security))
	r.Findings = append(r.Findings, Finding{
		Msg: "The roles and rules were left out: only who may manage the security of the workspace can import them.", Err: string(errs.PermissionDenied), Path: string(dsul.Security),
	})
	return false
}

// apply stores the documents in one transaction, which also releases the lock; a dry run takes it back.
func (a *Archives) apply(ctx context.Context, op *definitions.Operation, c *content, opts Options) (result Result, err error) {
	err = a.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		result = Result{WorkspaceID: op.Workspace.ID, Findings: slices.Clone(c.findings), LeftOut: slices.Clone(c.leftOut)}
		purpose := definitions.Purpose{Reason: definitions.ByImport, Epoch: op.Epoch, Quiet: true, KeepLabels: true}
		if opts.pull.Also != nil {
			purpose.Reason, purpose.Note = definitions.ByPull, opts.pull.Note
		}
		after, err := a.Definitions.EditIn(ctx, tx, op.Workspace.ID, purpose, func(ctx context.Context, e *definitions.Edit) error {
			return a.write(ctx, e, c, opts, &result)
		})
		if err != nil {
			return err
		}
		if opts.DryRun {
			return errRehearsed
		}
		failpoint.At("import.written")
		if err := a.finish(ctx, tx, after, c, result); err != nil {
			return err
		}
		failpoint.At("import.finished")
		if opts.pull.Also != nil {
			return opts.pull.Also(ctx, tx, after, &result)
		}
		return op.Complete(ctx, tx, nil)
	})
	if errors.Is(err, errRehearsed) {
		err = nil
	}
	return result, err
}

// write puts the documents of an archive into the workspace.
func (a *Archives) write(ctx context.Context, e *definitions.Edit, c *content, opts Options, result *Result) (err error) {
	if err := e.Visit.Check(access.ActionUpdate); err != nil {
		return err
	}
	if err := e.CheckLock(); err != nil {
		return err
	}
	if opts.pull.Expect != nil {
		if err := opts.pull.Expect(e.Workspace); err != nil {
			return err
		}
	}
	if opts, err = opts.excluding(ctx, e); err != nil {
		return err
	}
	documents := slices.DeleteFunc(c.all(result.secure(c, e.Visit.Check)), func(d document) bool { return opts.pull.keeps(d.Path()) && d.Kind != dsul.Index })
	if err := a.reslug(ctx, e, c, opts, result); err != nil {
		return err
	}
	if documents[0], err = result.keepRepositories(ctx, e, documents[0]); err != nil {
		return err
	}
	for _, doc := range documents {
		if doc, err = a.keepSecrets(ctx, e, doc); err != nil {
			return err
		}
		if err := e.Put(ctx, doc.Document, doc.ext); err != nil {
			return err
		}
	}
	if opts.Prune {
		surplus, err := c.surplus(ctx, e.Tx, e.Workspace.ID)
		if err != nil {
			return err
		}
		for _, path := range surplus {
			if opts.pull.keeps(path) {
				continue
			}
			if err := e.Delete(ctx, path); err != nil {
				return err
			}
		}
	}
	result.Imported, result.Deleted = e.Changed()
	result.Added = e.Added()
	if err := result.planned(e, c, opts); err != nil {
		return err
	}
	result.Unchanged = len(documents) - len(result.Imported)
	if slices.Contains(result.Imported, string(dsul.Index)) {
		e.Workspace.Labels = union(e.Workspace.Labels, definitions.Labels(c.index.Document))
	}
	return nil
}

// union is the labels of the workspace and those of the archive.
func union(local, imported []string) []string {
	all := slices.Clone(local)
	for _, label := range imported {
		if !slices.Contains(all, label) {
			all = append(all, label)
		}
	}
	return all
}

// finish remembers what was imported, for the status of the workspace, and tells of it.
func (a *Archives) finish(ctx context.Context, tx *sqldb.Tx, w workspaces.Workspace, c *content, result Result) error {
	tree, err := a.Definitions.KeepTree(ctx, tx, w.ID)
	if err != nil {
		return err
	}
	findings, err := json.Marshal(nonNil(result.Findings))
	if err != nil {
		return err
	}
	err = store.PutVersion(ctx, tx, w.ID, store.Version{
		Kind: store.Imported, Description: string(findings), Tree: tree, Revision: w.Revision, CreatedAt: a.Definitions.Now(), CreatedBy: definitions.Author(ctx),
	})
	if err != nil {
		return err
	}
	return a.Definitions.Emit(ctx, tx, w.ID, told(w, c, result))
}

// told is what the event of an import says. Long lists are cut: the counts tell how many there were.
func told(w workspaces.Workspace, c *content, result Result) *catalogue.WorkspaceImported {
	payload := &catalogue.WorkspaceImported{
		Workspace: catalogue.Workspace{ID: w.ID, Slug: w.Slug, Name: w.Name},
		Files:     first(400, result.Imported), ImportedFilesCount: len(result.Imported),
		Deleted: first(400, result.Deleted), DeletedFilesCount: len(result.Deleted),
		Errors: []catalogue.Finding{},
	}
	for _, finding := range first(50, result.Findings) {
		payload.Errors = append(payload.Errors, catalogue.Finding(finding))
	}
	if c.info != nil && c.info.Version.Name != "" {
		payload.Version = &catalogue.Version{Name: c.info.Version.Name}
	}
	if c.info != nil && c.info.App != nil {
		payload.PublishedAppSlug = c.info.App.Slug
	}
	return payload
}

func first[T any](most int, list []T) []T { return nonNil(list[:min(len(list), most)]) }

func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
