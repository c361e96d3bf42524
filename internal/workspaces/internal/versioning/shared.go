package versioning

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// Shared is a repository of the platform that is opened once for many workspaces: it is listed and fetched once, and what is
// sent is known to be there. Somebody else's push is found out when something is sent, for nothing is ever forced; then the
// repository is looked at again. One goroutine uses it at a time.
type Shared struct {
	// Repository is as the operator configured it: its folder is the one that has those of the workspaces.
	Repository repositories.Repository

	v *Versioning
	// branch is the opened repository without a workspace; nil for a directory.
	branch *branch
	// names are all refs that matter, refs what they were found to be; nil when that is to be found out.
	names   []string
	refs    map[string]string
	objects map[string]bool
	// pinned is the commit that everything comes from; empty for the newest.
	pinned string
	head   string
}

// Share opens a repository of the platform for many workspaces.
func (v *Versioning) Share(ctx context.Context, repository repositories.Repository) (*Shared, error) {
	s := &Shared{Repository: repository, v: v, objects: map[string]bool{}}
	if repository.Kind == repositories.Filesystem {
		return s, nil
	}
	var err error
	s.branch, err = v.openGit(ctx, workspaces.Workspace{}, repository)
	return s, err
}

// Look finds out where the repository is, for workspaces with these slugs and a version that is about to be pushed, if any. It
// gives the newest commit of the target branch: empty for a branch without one, and for directories.
func (s *Shared) Look(ctx context.Context, slugs []string, version string) (string, error) {
	if s.branch == nil {
		return "", nil
	}
	names := map[string]bool{s.branch.target: true}
	for _, slug := range slugs {
		b := s.of(workspaces.Workspace{Slug: slug})
		names[b.intermediate] = true
		if version != "" {
			names[b.tagRef(version)] = true
		}
	}
	s.names, s.refs = slices.Sorted(maps.Keys(names)), nil
	if err := s.list(ctx); err != nil {
		return "", failed(err, s.Repository)
	}
	s.head = s.refs[s.branch.target]
	return s.head, failed(s.fetch(ctx), s.Repository)
}

// Pin makes a commit what everything comes from, whatever happens to the branch.
func (s *Shared) Pin(ctx context.Context, commit string) error {
	if s.branch == nil || commit == "" {
		return nil
	}
	s.pinned = commit
	has, err := s.branch.clone.Has(ctx, commit)
	if err == nil && !has {
		err = s.branch.clone.Fetch(ctx, s.branch.remote, map[string]string{commit: tracking("refs/heads/pinned")})
	}
	s.objects[commit] = err == nil
	return failed(err, s.Repository)
}

// namesAtOnce is how many refs are asked for at once.
const namesAtOnce = 500

// list asks the repository for its refs.
func (s *Shared) list(ctx context.Context) error {
	refs := map[string]string{}
	for some := range slices.Chunk(s.names, namesAtOnce) {
		found, err := s.branch.clone.ListRemote(ctx, s.branch.remote, some...)
		if err != nil {
			return err
		}
		maps.Copy(refs, found)
	}
	s.refs = refs
	return nil
}

// fetch gets the branches that were listed. Those of single workspaces may fail here: they are tried again when it is their
// turn.
func (s *Shared) fetch(ctx context.Context) error {
	target := s.branch.target
	if err := s.branch.fetch(ctx, map[string]string{target: s.refs[target]}); err != nil {
		return err
	}
	if s.head = s.refs[target]; s.head != "" {
		s.objects[s.head] = true
	}
	wanted := map[string]string{}
	for ref, object := range s.refs {
		if ref != target && strings.HasPrefix(ref, headsPrefix) {
			wanted[ref] = object
		}
	}
	if s.branch.fetch(ctx, wanted) == nil {
		for _, object := range wanted {
			s.objects[object] = true
		}
	}
	return ctx.Err()
}

const headsPrefix = "refs/heads/"

// heads are what refs point to, as far as is known.
func (s *Shared) heads(ctx context.Context, refs []string) (map[string]string, error) {
	for _, ref := range refs {
		if _, known := slices.BinarySearch(s.names, ref); !known { // its workspace got another slug meanwhile
			s.names, s.refs = slices.Sorted(slices.Values(append(s.names, ref))), nil
		}
	}
	if s.refs == nil {
		if err := s.list(ctx); err != nil {
			return nil, err
		}
	}
	if s.pinned == "" {
		return s.refs, nil
	}
	pinned := maps.Clone(s.refs)
	pinned[s.branch.target] = s.pinned
	return pinned, nil
}

// has tells whether an object is known to be in the clone.
func (s *Shared) has(object string) bool { return s != nil && s.objects[object] }

// forget makes the next look a real one.
func (s *Shared) forget() {
	if s != nil {
		s.refs = nil
	}
}

// sent notes what was pushed.
func (s *Shared) sent(updates []gitcmd.Update) {
	for _, update := range updates {
		if s.refs != nil {
			s.refs[update.Ref] = update.New
		}
		s.objects[update.New] = true
		if update.Ref == s.branch.target {
			s.head = update.New
		}
	}
}

// Close keeps what was pushed in the clone, and the clone in order.
func (s *Shared) Close(ctx context.Context) {
	if s.branch == nil {
		return
	}
	var err error
	if s.head != "" {
		err = s.branch.track(ctx, s.branch.target, s.head)
	}
	if err == nil {
		err = s.branch.clone.Maintain(ctx)
	}
	if err != nil && ctx.Err() == nil {
		s.v.Log.WarnContext(ctx, "the clone of a platform repository could not be put in order", "error", err)
	}
}

// of is the folder of a workspace on the branch.
func (s *Shared) of(w workspaces.Workspace) *branch {
	b := *s.branch
	b.repository = s.repository(w.Slug)
	b.folder, b.shared, b.tags = b.repository.Folder, s, w.Slug+"/"
	names := branchesOf(w, b.repository)
	b.target, b.intermediate = headsPrefix+names.Target, headsPrefix+names.Intermediate
	return &b
}

func (s *Shared) repository(slug string) repositories.Repository {
	r := s.Repository
	r.Folder = s.v.Platform.Folder(r, slug)
	return r
}

func (s *Shared) place(w workspaces.Workspace) place {
	if s.branch == nil {
		return &directory{path: s.v.Platform.Folder(s.Repository, w.Slug), limits: s.v.limits()}
	}
	return s.of(w)
}

// Push pushes a workspace to the repository, as an operation with this id. The caller may update the workspace.
func (s *Shared) Push(ctx context.Context, w workspaces.Workspace, id string, p Push) (Pushed, error) {
	start := definitions.Start{ID: id, Reason: Pushing, RepositoryID: s.Repository.ID}
	result, err := s.carryOut(ctx, w, start, func(ctx context.Context, run *run) (any, error) {
		run.progress.step(ctx, "checkout", "Opening the repository")
		return s.v.pushNow(ctx, run, p, s.place(run.op.Workspace))
	})
	pushed, _ := result.(Pushed)
	return pushed, err
}

// Pull pulls from the repository into a workspace that has this folder there, as an operation with this id: what was changed
// in the workspace is given up, and kept as a native version. The caller may update the workspace.
func (s *Shared) Pull(ctx context.Context, w workspaces.Workspace, id string) (Pulled, error) {
	start := definitions.Start{ID: id, Reason: Pulling, RepositoryID: s.Repository.ID, Over: workspaces.MergeConflict}
	result, err := s.carryOut(ctx, w, start, func(ctx context.Context, run *run) (any, error) {
		run.progress.step(ctx, "checkout", "Opening the repository")
		p := Pull{RepositoryID: s.Repository.ID, Version: latest, Discard: true, KeepSlug: true}
		return s.v.pullFrom(ctx, &pulling{Pull: p, run: run, other: s.place(w)})
	})
	pulled, _ := result.(Pulled)
	return pulled, err
}

func (s *Shared) carryOut(ctx context.Context, w workspaces.Workspace, start definitions.Start, fn func(ctx context.Context, run *run) (any, error)) (any, error) {
	op, err := s.v.Definitions.Begin(ctx, w.ID, start)
	if err != nil {
		return nil, err
	}
	return s.v.carryOut(ctx, op, s.repository(w.Slug), start.Reason, fn)
}

// Check reads the folder of a workspace that does not exist yet, and refuses what could not be imported.
func (s *Shared) Check(ctx context.Context, slug string) error {
	other := s.place(workspaces.Workspace{Slug: slug})
	seen, err := other.look(ctx, latest, "")
	if err != nil {
		return err
	}
	found, err := other.read(ctx, seen)
	if err != nil {
		return err
	}
	return s.v.Archives.Readable(ctx, found)
}

// Folder is a folder of the repository that may be a workspace.
type Folder struct {
	Name string
	// Info is what it says of itself; nil when it says nothing.
	Info *archive.ImportInfo
	// Err is why it can be no workspace; Unfit tells that it is its name, or that it is no folder.
	Err   error
	Unfit bool
}

// Folders lists the folders that have workspaces, in the order of their names; hidden ones are left out.
func (s *Shared) Folders(ctx context.Context) ([]Folder, error) {
	if s.branch == nil {
		return s.directories()
	}
	commit := s.head
	if s.pinned != "" {
		commit = s.pinned
	}
	if commit == "" {
		return nil, nil
	}
	entries, err := s.branch.clone.Folders(ctx, commit, s.Repository.Folder)
	if err != nil {
		return nil, failed(err, s.Repository)
	}
	var folders []Folder
	var files []string
	for _, entry := range entries {
		folder := Folder{Name: entry.Path}
		if hidden(entry.Path) {
			continue
		}
		if entry.Mode != "040000" {
			folder.Err = noFolder(entry.Path)
		} else {
			folder.Err = checkSlug(entry.Path)
		}
		folder.Unfit = folder.Err != nil
		if !folder.Unfit {
			files = append(files, path.Join(s.Repository.Folder, entry.Path, archive.ImportName))
		}
		folders = append(folders, folder)
	}
	return folders, s.describe(ctx, commit, folders, files)
}

// describe reads what folders say of themselves.
func (s *Shared) describe(ctx context.Context, commit string, folders []Folder, files []string) error {
	found, err := s.branch.clone.Find(ctx, commit, files...)
	if err != nil {
		return failed(err, s.Repository)
	}
	at := map[string][]*Folder{} // by object: workspaces that say the same
	next := 0
	for i := range folders {
		if folders[i].Err != nil {
			continue
		}
		entry := found[next]
		next++
		switch {
		case entry.Object == "":
		case entry.Size > s.branch.limits.File:
			folders[i].Err = tooLarge(archive.ImportName)
		default:
			at[entry.Object] = append(at[entry.Object], &folders[i])
		}
	}
	return failed(s.branch.clone.Texts(ctx, slices.Sorted(maps.Keys(at)), s.branch.limits.File, func(object string, text []byte) error {
		for _, folder := range at[object] {
			folder.Info, folder.Err = archive.ParseImport(slices.Clone(text))
		}
		return nil
	}), s.Repository)
}

// Done gives what an operation with this id of a workspace came to, when it succeeded; running tells that it is still on its
// way, or that its process is gone and nobody knows yet.
func (v *Versioning) Done(ctx context.Context, workspaceID, id string) (result string, succeeded, running bool, err error) {
	o, err := store.GetOperation(ctx, v.DB, workspaceID, id)
	if sqldb.IsNotFound(err) {
		return "", false, false, nil
	}
	return o.Result, o.Status == store.Succeeded, o.Status == store.Running, err
}
