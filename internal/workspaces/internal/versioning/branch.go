package versioning

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/repositories"
)

// branch is the folder of a workspace on a branch of a git repository.
type branch struct {
	clone      *gitcmd.Repository
	remote     gitcmd.Remote
	repository repositories.Repository
	folder     string
	limits     archive.Limits
	signer     *gitcmd.Signer
	slot       chan struct{}
	// target and intermediate are refs; tags is what the names of tags begin with.
	target, intermediate, tags string
	// shared is what is known of the repository while many workspaces are dealt with; nil when there is only this one.
	shared *Shared
}

// tracking is where the clone keeps what a ref of the repository was.
func tracking(ref string) string { return "refs/atelier/" + strings.TrimPrefix(ref, "refs/") }

func (b *branch) tagRef(name string) string { return "refs/tags/" + b.tags + name }

// look sees where the branches are, and fetches what the clone does not have.
func (b *branch) look(ctx context.Context, version, tag string) (sight, error) {
	s, err := b.see(ctx, version, tag)
	return s, failed(err, b.repository)
}

func (b *branch) see(ctx context.Context, version, tag string) (sight, error) {
	refs := []string{b.target, b.intermediate}
	if tag != "" {
		refs = append(refs, b.tagRef(tag))
	}
	named := version != latest && gitcmd.CheckTag(b.tags+version) == nil
	if named {
		refs = append(refs, b.tagRef(version))
	}
	heads, err := b.heads(ctx, refs)
	if err != nil {
		return sight{}, err
	}
	s := sight{Head: heads[b.target], Intermediate: heads[b.intermediate], TagTaken: tag != "" && heads[b.tagRef(tag)] != ""}
	wanted := map[string]string{b.target: s.Head, b.intermediate: s.Intermediate}
	if named && heads[b.tagRef(version)] != "" {
		wanted[b.tagRef(version)] = heads[b.tagRef(version)]
	}
	if err := b.fetch(ctx, wanted); err != nil {
		return sight{}, err
	}
	if s.Commit, err = b.resolve(ctx, s, version, wanted[b.tagRef(version)]); err != nil {
		return sight{}, err
	}
	return b.complete(ctx, s)
}

// heads are what refs of the repository point to.
func (b *branch) heads(ctx context.Context, refs []string) (map[string]string, error) {
	if b.shared != nil {
		return b.shared.heads(ctx, refs)
	}
	return b.clone.ListRemote(ctx, b.remote, refs...)
}

// complete adds what is in the commits that were seen.
func (b *branch) complete(ctx context.Context, s sight) (sight, error) {
	if s.Commit != "" {
		tree, err := b.clone.Tree(ctx, s.Commit, b.folder)
		if err != nil {
			return s, err
		}
		s.Tree, s.objects = tree.ID, make(map[string]string, len(tree.Entries))
		if err := b.acceptable(tree); err != nil {
			return s, err
		}
		for _, entry := range tree.Entries {
			s.Names = append(s.Names, entry.Path)
			s.objects[entry.Path] = entry.Object
		}
	}
	if s.Head == s.Commit {
		s.HeadTree = s.Tree
		return s, nil
	}
	if s.Head == "" {
		return s, nil
	}
	tree, err := b.clone.Tree(ctx, s.Head, b.folder)
	s.HeadTree = tree.ID
	return s, err
}

// resolve finds the commit of a version: the newest, a tag, or a commit of the target branch.
func (b *branch) resolve(ctx context.Context, s sight, version, tagged string) (string, error) {
	if version == latest {
		return s.Head, nil
	}
	if tagged != "" {
		return b.clone.Resolve(ctx, tagged)
	}
	missing := errs.Newf(errs.NotFound, "The repository has no version %s: no tag is called so, and no commit of the branch.", version).
		With("subjectType", "versions").With("commit", version).With("repositoryId", b.repository.ID)
	commit, err := b.clone.Resolve(ctx, version)
	if err != nil || s.Head == "" {
		return "", missing
	}
	if within, err := b.clone.IsAncestor(ctx, commit, s.Head); err != nil || !within {
		return "", missing // somebody else's commit in the same clone does not exist for this branch
	}
	return commit, nil
}

// fetch gets those commits that the clone does not have.
func (b *branch) fetch(ctx context.Context, wanted map[string]string) error {
	select {
	case b.slot <- struct{}{}:
		defer func() { <-b.slot }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var unsure []string
	for _, object := range wanted {
		if object != "" && !b.shared.has(object) {
			unsure = append(unsure, object)
		}
	}
	missing, err := b.clone.Lacks(ctx, unsure...)
	if err != nil {
		return err
	}
	gone := make(map[string]bool, len(missing))
	for _, object := range missing {
		gone[object] = true
	}
	lacking := map[string]string{}
	for ref, object := range wanted {
		if gone[object] {
			lacking[ref] = tracking(ref)
		}
	}
	if len(lacking) == 0 {
		return nil
	}
	return b.clone.Fetch(ctx, b.remote, lacking)
}

// acceptable refuses a folder with documents that are no plain files, such as links.
func (b *branch) acceptable(tree gitcmd.Tree) error {
	const most = 100
	var wrong []errs.Field
	for _, entry := range tree.Entries {
		if _, _, is := archive.IsDocument(entry.Path); !is && entry.Path != archive.ImportName {
			continue // not ours: a README, a script
		}
		if entry.Mode != "100644" && len(wrong) < most {
			wrong = append(wrong, errs.Field{Field: entry.Path, Message: "it is no plain file but has the mode " + entry.Mode + "; only plain files can be pulled"})
		}
		if entry.Size > b.limits.File && len(wrong) < most {
			wrong = append(wrong, errs.Field{Field: entry.Path, Message: "it is too large for a document"})
		}
	}
	if len(wrong) > 0 {
		return errs.Invalid(wrong...).With("repositoryId", b.repository.ID)
	}
	return nil
}

// read gives the documents that were seen.
func (b *branch) read(ctx context.Context, s sight) (*archive.Archive, error) {
	var objects []string
	for _, name := range s.Names {
		if _, _, is := archive.IsDocument(name); is || name == archive.ImportName {
			objects = append(objects, s.objects[name])
		}
	}
	slices.Sort(objects)
	objects = slices.Compact(objects)
	texts := make(map[string][]byte, len(objects))
	var total int64
	err := b.clone.Texts(ctx, objects, b.limits.File, func(object string, text []byte) error {
		if total += int64(len(text)); total > b.limits.Output {
			return errs.Newf(errs.PayloadTooLarge, "The documents of a workspace may have at most %d bytes together.", b.limits.Output)
		}
		texts[object] = slices.Clone(text)
		return nil
	})
	if err != nil {
		return nil, failed(err, b.repository)
	}
	return archive.FromFolder(s.Names, b.limits, func(name string) ([]byte, error) { return texts[s.objects[name]], nil })
}

// untouched refuses to overwrite a file that is not what both sides had: one that no pull has taken up.
func (b *branch) untouched(s sight, base side, o outgoing, r repositories.Repository) error {
	if s.objects == nil {
		return nil // there is nothing, or it is what it was as a whole
	}
	had := make(map[string]string, len(base))
	for document, f := range base {
		had[document+f.ext] = gitcmd.BlobID(f.text)
	}
	check := func(name string, becomes string) error {
		document, _, is := archive.IsDocument(name)
		there := s.objects[name]
		if !is || r.Excludes(document) || there == had[name] || there == "" || there == becomes {
			return nil
		}
		return behind(r)
	}
	for name, text := range o.write {
		if err := check(name, gitcmd.BlobID(text)); err != nil {
			return err
		}
	}
	for _, name := range o.remove {
		if err := check(name, ""); err != nil {
			return err
		}
	}
	return nil
}

// at sees another commit that was fetched.
func (b *branch) at(ctx context.Context, s sight, commit string) (sight, error) {
	other, err := b.complete(ctx, sight{Commit: commit, Head: s.Head, HeadTree: s.HeadTree, Intermediate: s.Intermediate})
	return other, failed(err, b.repository)
}

// contains tells whether a commit incorporates another; the empty commit is in every one, and incorporates none.
func (b *branch) contains(ctx context.Context, commit, other string) (bool, error) {
	if other == "" || commit == other {
		return true, nil
	}
	if commit == "" {
		return false, nil
	}
	if has, err := b.clone.Has(ctx, other); err != nil || !has {
		return false, err
	}
	return b.clone.IsAncestor(ctx, other, commit)
}

// within puts names of the workspace's folder where they are in the repository.
func (b *branch) within(name string) string { return path.Join(b.folder, name) }

// prepare makes the commit.
func (b *branch) prepare(ctx context.Context, s sight, o outgoing) (planned, error) {
	if o.empty() && len(o.parents) == 1 && !o.said {
		return planned{Commit: o.parents[0], Tree: s.HeadTree, Head: s.Head, Tag: o.tag}, nil // there is nothing to say
	}
	commit := gitcmd.Commit{
		Parents: o.parents, Write: make(map[string][]byte, len(o.write)), Author: o.author, Committer: committer(), When: o.when, Message: o.message, Sign: b.signer,
	}
	if len(o.parents) > 0 {
		commit.From = o.parents[0]
	}
	for name, text := range o.write {
		commit.Write[b.within(name)] = text
	}
	for _, name := range o.remove {
		commit.Delete = append(commit.Delete, b.within(name))
	}
	id, err := b.clone.Commit(ctx, commit)
	if err != nil {
		return planned{}, failed(err, b.repository)
	}
	made, err := b.clone.Find(ctx, id, b.folder)
	if err != nil {
		return planned{}, failed(err, b.repository)
	}
	return planned{Commit: id, Tree: made[0].Object, Head: s.Head, Tag: o.tag}, nil
}

// send pushes the commit to the intermediate branch, the target branch, and as a tag.
func (b *branch) send(ctx context.Context, s sight, o outgoing, p planned) error {
	var updates []gitcmd.Update
	if p.Commit != s.Intermediate {
		updates = append(updates, gitcmd.Update{Ref: b.intermediate, Old: s.Intermediate, New: p.Commit})
	}
	if p.Commit != s.Head {
		updates = append(updates, gitcmd.Update{Ref: b.target, Old: s.Head, New: p.Commit})
	}
	if o.tag != "" {
		updates = append(updates, gitcmd.Update{Ref: b.tagRef(o.tag), New: p.Commit})
	}
	if err := b.push(ctx, updates...); err != nil {
		b.shared.forget()
		return err
	}
	if b.shared != nil {
		b.shared.sent(updates)
		return nil
	}
	return b.track(ctx, b.target, p.Commit)
}

// save pushes a commit to the intermediate branch alone.
func (b *branch) save(ctx context.Context, s sight, commit string) error {
	if commit == s.Intermediate {
		return nil
	}
	if err := b.push(ctx, gitcmd.Update{Ref: b.intermediate, Old: s.Intermediate, New: commit}); err != nil {
		return err
	}
	return b.track(ctx, b.intermediate, commit)
}

func (b *branch) push(ctx context.Context, updates ...gitcmd.Update) error {
	if len(updates) == 0 {
		return nil
	}
	return failed(b.clone.Push(ctx, b.remote, updates...), b.repository)
}

// track keeps what was pushed from being removed from the clone.
func (b *branch) track(ctx context.Context, ref, commit string) error {
	return b.clone.SetRef(ctx, tracking(ref), commit)
}

// arrived tells whether the repository has what was sent: the tag, or a commit on the target branch that was not there before.
func (b *branch) arrived(ctx context.Context, p planned) (bool, error) {
	refs := []string{b.target}
	if p.Tag != "" {
		refs = append(refs, b.tagRef(p.Tag))
	}
	heads, err := b.clone.ListRemote(ctx, b.remote, refs...)
	if err != nil {
		return false, failed(err, b.repository)
	}
	if p.Tag != "" && heads[b.tagRef(p.Tag)] == p.Commit {
		return true, nil
	}
	if p.Commit == p.Head {
		return false, nil // there was only the tag to send
	}
	if err := b.fetch(ctx, map[string]string{b.target: heads[b.target]}); err != nil {
		return false, failed(err, b.repository)
	}
	return b.contains(ctx, heads[b.target], p.Commit)
}

// moved tells that the other side moved between being seen and being sent to.
func moved(err error) bool {
	problem, ok := errors.AsType[*gitcmd.Problem](err)
	return ok && problem.Kind == gitcmd.Moved
}
