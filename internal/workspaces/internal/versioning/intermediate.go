package versioning

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/failpoint"
)

// savedSide is what the workspace was when it was last saved to the intermediate branch; what both had when it never was.
func (v *Versioning) savedSide(ctx context.Context, p *pulling, b *branch) (side, error) {
	if has, err := v.hasCommit(ctx, b, p.known.Saved); err != nil || !has {
		return p.known.base, err
	}
	return v.at(ctx, p, b, p.known.Saved)
}

// at reads the documents of another commit.
func (v *Versioning) at(ctx context.Context, p *pulling, b *branch, commit string) (side, error) {
	s, err := b.at(ctx, p.seen, commit)
	if err != nil {
		return nil, err
	}
	found, err := b.read(ctx, s)
	if err != nil {
		return nil, err
	}
	return sideOf(found.Files), nil
}

// savePull writes what the workspace was, and what it becomes, to the intermediate branch, when there is anything of ours in
// it and the repository may be written.
func (v *Versioning) savePull(ctx context.Context, p *pulling) error {
	b, ok := p.other.(*branch)
	if !ok || p.Discard || p.resolved || !writable(p.run.repository) || equal(p.result.side, p.theirs) || equal(p.result.side, p.local.side) {
		return nil
	}
	p.run.progress.step(ctx, "write", "Saving the workspace")
	saved, err := v.commitLocal(ctx, p, b)
	if err != nil {
		return err
	}
	failpoint.At("pull.written")
	merge, err := v.commitMerge(ctx, p, b, saved)
	if err != nil {
		return err
	}
	if err := p.saveAs(ctx, b, merge); err != nil {
		return err
	}
	p.known.Saved = merge
	return nil
}

// saveAs writes a commit to the intermediate branch, after noting that it is ours: when the pull ends before its import, nobody
// takes what it saved for somebody's work.
func (p *pulling) saveAs(ctx context.Context, b *branch, commit string) error {
	if err := p.run.op.Plan(ctx, planned{Commit: commit}); err != nil {
		return err
	}
	return b.save(ctx, p.seen, commit)
}

// commitLocal makes the commit of what the workspace is, on top of what it came from.
func (v *Versioning) commitLocal(ctx context.Context, p *pulling, b *branch) (string, error) {
	var parents []string
	if has, err := v.hasCommit(ctx, b, p.known.Commit); err != nil {
		return "", err
	} else if has {
		parents = append(parents, p.known.Commit)
	}
	within, err := b.contains(ctx, p.known.Commit, p.seen.Intermediate)
	if err != nil {
		return "", err
	}
	if !within {
		parents = append(parents, p.seen.Intermediate)
	}
	w := p.run.op.Workspace
	o, err := v.rewriting(ctx, p, b, parents, p.ours)
	if err != nil {
		return "", err
	}
	o.author, o.when, o.message = v.Person(ctx, access.From(ctx).UserID), v.Definitions.Now(), "State of "+w.Slug+" before a pull"
	made, err := b.prepare(ctx, sight{}, o)
	return made.Commit, err
}

// rewriting is what makes the folder in the first parent have these documents.
func (v *Versioning) rewriting(ctx context.Context, p *pulling, b *branch, parents []string, to side) (outgoing, error) {
	from := side{}
	if len(parents) > 0 {
		s, err := b.at(ctx, p.seen, parents[0])
		if err != nil {
			return outgoing{}, err
		}
		if hasDocuments(s.Names) {
			found, err := b.read(ctx, s)
			if err != nil {
				return outgoing{}, err
			}
			from = sideOf(found.Files)
		}
	}
	o := difference(from, to)
	o.parents = parents
	return o, nil
}

// commitMerge makes the commit of the merge: on top of what the workspace was, and of the target branch.
func (v *Versioning) commitMerge(ctx context.Context, p *pulling, b *branch, saved string) (string, error) {
	o := difference(p.theirs, p.result.side)
	w := p.run.op.Workspace
	o.parents = []string{p.seen.Commit, saved} // the first one gives the files that are not ours
	o.author, o.when, o.message = v.Person(ctx, access.From(ctx).UserID), v.Definitions.Now(), "Merge "+p.run.repository.Branch+" into "+w.Slug
	made, err := b.prepare(ctx, p.seen, o)
	return made.Commit, err
}

func (v *Versioning) hasCommit(ctx context.Context, b *branch, commit string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	return b.clone.Has(ctx, commit)
}
