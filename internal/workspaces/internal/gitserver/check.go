package gitserver

import (
	"context"
	"fmt"
	"slices"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/workspaces/internal/archive"
)

// mostRefusals is how many reasons are told for which a push is refused.
const mostRefusals = 100

// refusals collects what is wrong with a push.
type refusals []errs.Field

func (r *refusals) add(name, message string) {
	if len(*r) < mostRefusals {
		*r = append(*r, errs.Field{Field: name, Message: message})
	}
}

func (r refusals) err() error {
	if len(r) == 0 {
		return nil
	}
	return errs.Invalid(r...)
}

// check refuses a commit that cannot become the content of the workspace, and reads its documents.
func (s *Server) check(ctx context.Context, p *pushed) error {
	if there, err := p.quarantine.Has(ctx, p.commit); err != nil || !there {
		return incomplete(err)
	}
	forward, err := p.quarantine.IsAncestor(ctx, p.head.Commit, p.commit)
	if _, ended := gitEnded(err); ended {
		return incomplete(nil)
	}
	if err != nil {
		return err
	}
	if !forward {
		return errs.New(errs.Conflict, "This is a non-fast-forward push: history cannot be written anew. Pull, then push again.")
	}
	tree, err := p.quarantine.Tree(ctx, p.commit, "")
	if _, ended := gitEnded(err); ended {
		return incomplete(nil)
	}
	if err != nil {
		return err
	}
	before, err := p.Tree(ctx, p.head.Commit, "")
	if err != nil {
		return err
	}
	if err := s.acceptable(tree); err != nil {
		return err
	}
	if p.files, err = s.read(ctx, p, tree); err != nil {
		return err
	}
	if err := p.valid(documentsOf(before)); err != nil {
		return err
	}
	return s.discreet(ctx, p, documentsOf(before))
}

// discreet refuses secret values: the history is for everybody who may read the workspace, and nothing leaves it again.
func (s *Server) discreet(ctx context.Context, p *pushed, before map[string]gitcmd.Entry) error {
	var wrong refusals
	for _, file := range p.files.Files {
		name := file.Path + file.Ext
		if before[name].Object == gitcmd.BlobID(file.Text) {
			continue
		}
		kind, slug, _ := dsul.SplitPath(file.Path)
		doc, problems := dsul.Parse(kind, slug, file.Text)
		if problems.Err() != nil || doc == nil || doc.Root == nil {
			continue // said already
		}
		places, err := s.Archives.Secrets(ctx, doc)
		if err != nil {
			return err
		}
		for _, place := range places {
			wrong.add(name, place+": this is secret, and a history keeps it for everybody to read; keep it as a secret of the workspace and write {{secret.name}}")
		}
	}
	return wrong.err()
}

// incomplete says that a push lacks something; cause is why that could not be found out.
func incomplete(cause error) error {
	if cause != nil {
		return cause
	}
	return errs.New(errs.InvalidRequest, "What was pushed is not complete; push again.")
}

// acceptable refuses a tree with links, and with documents that are no plain files.
func (s *Server) acceptable(tree gitcmd.Tree) error {
	var wrong refusals
	for _, entry := range tree.Entries {
		_, _, document := archive.IsDocument(entry.Path)
		switch {
		case entry.Mode == "120000":
			wrong.add(entry.Path, "it is a link; links are not taken")
		case entry.Mode == "160000":
			wrong.add(entry.Path, "it is a submodule; submodules are not taken")
		case document && entry.Mode != plainFile:
			wrong.add(entry.Path, "it has the mode "+entry.Mode+"; make it a plain file, with git update-index --chmod=-x")
		case document && entry.Size > s.Archives.Limits.File:
			wrong.add(entry.Path, fmt.Sprintf("it has %d bytes; a document may have at most %d", entry.Size, s.Archives.Limits.File))
		}
	}
	return wrong.err()
}

// read reads the documents of a tree, by the rules of archives.
func (s *Server) read(ctx context.Context, p *pushed, tree gitcmd.Tree) (*archive.Archive, error) {
	limits := s.Archives.Limits
	limits.Clock = s.Clock
	objects := map[string]string{}
	var names, wanted []string
	for name, entry := range documentsOf(tree) {
		names, wanted = append(names, name), append(wanted, entry.Object)
		objects[name] = entry.Object
	}
	slices.Sort(names)
	slices.Sort(wanted)
	texts := map[string][]byte{}
	var size int64
	err := p.quarantine.Texts(ctx, slices.Compact(wanted), limits.File, func(object string, text []byte) error {
		if size += int64(len(text)); size > limits.Output {
			return errs.Newf(errs.PayloadTooLarge, "The documents of a workspace may have at most %d bytes together.", limits.Output)
		}
		texts[object] = slices.Clone(text)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return archive.FromFolder(names, limits, func(name string) ([]byte, error) { return texts[objects[name]], nil })
}

// valid refuses documents with errors, in the words of the linter. Those that the push leaves as they were are not looked
// at; roles and rules that it leaves as they were are not applied, because not everybody who may push may change them.
func (p *pushed) valid(before map[string]gitcmd.Entry) error {
	var wrong refusals
	kept := p.files.Files[:0]
	hasSecurity := false
	for _, file := range p.files.Files {
		name := file.Path + file.Ext
		same := before[name].Object == gitcmd.BlobID(file.Text)
		hasSecurity = hasSecurity || file.Path == string(dsul.Security)
		if same && file.Path == string(dsul.Security) {
			continue
		}
		kept = append(kept, file)
		if !same {
			lint(file, &wrong)
		}
	}
	p.files.Files = kept
	for name := range before {
		if path, _, _ := archive.IsDocument(name); path == string(dsul.Security) && !hasSecurity {
			wrong.add(name, "the roles and rules of a workspace cannot be deleted; bring the file back")
		}
	}
	return wrong.err()
}

// lint adds what is wrong with a document.
func lint(file archive.File, wrong *refusals) {
	name := file.Path + file.Ext
	kind, slug, _ := dsul.SplitPath(file.Path)
	doc, problems := dsul.Parse(kind, slug, file.Text)
	if doc != nil && doc.Root != nil {
		problems = append(problems, doc.Check(dsul.Strict)...)
	}
	for _, problem := range problems.Errors() {
		if problem.Code == "server_owned" {
			continue // it means nothing in a text, and texts stay as they are written
		}
		message := problem.Message
		if problem.Path != "" {
			message = problem.Path + ": " + message
		}
		if problem.Line > 0 {
			message = fmt.Sprintf("line %d: %s", problem.Line, message)
		}
		wrong.add(name, message)
	}
	if kind == dsul.Security && len(problems.Errors()) == 0 {
		if _, err := access.ParseSecurity(file.Text); err != nil {
			secured := errs.From(err)
			for _, field := range secured.Fields {
				wrong.add(name, field.Field+": "+field.Message)
			}
			if len(secured.Fields) == 0 {
				wrong.add(name, secured.Message)
			}
		}
	}
}
