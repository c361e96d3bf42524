package archives

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// document is a document of an archive that was found to be readable.
type document struct {
	*dsul.Document

	ext string
}

// content is an archive that was checked: nothing in it can make its import fail half-way.
type content struct {
	index     document
	security  *document
	documents []document
	info      *archive.ImportInfo
	findings  []Finding
	// leftOut are documents that are there and are not imported.
	leftOut []string
	// unsaid is how many findings there are more.
	unsaid int
}

// note adds a finding, unless there are more than anybody reads.
func (c *content) note(f Finding) {
	const most = 1000
	if len(c.findings) < most {
		c.findings = append(c.findings, f)
	} else {
		c.unsaid++
	}
}

// refused collects what makes an archive unacceptable.
type refused []errs.Field

func (r *refused) add(file string, problems dsul.Problems) {
	for _, p := range problems.Errors() {
		field := file
		if p.Path != "" {
			field += ": " + p.Path
		}
		message := p.Message
		if p.Line > 0 {
			message = fmt.Sprintf("line %d: %s", p.Line, message)
		}
		*r = append(*r, errs.Field{Field: field, Message: message})
	}
}

// mostRefusals is how many reasons are told for which an archive is refused.
const mostRefusals = 100

func (r refused) err() error {
	if len(r) == 0 {
		return nil
	}
	return errs.Invalid(r[:min(len(r), mostRefusals)]...)
}

// check reads the documents of an archive. What cannot be read refuses the archive; what is merely wrong is kept as it was
// written, and reported. It takes no longer than twice what the reading of an archive may.
func (a *Archives) check(ctx context.Context, from *archive.Archive) (*content, error) {
	c := &content{info: from.Import}
	var wrong refused
	c.verify(from, &wrong)
	until := a.Clock.Now().Add(2 * a.Limits.Time)
	for _, file := range from.Files {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err() // nobody waits for it any more
		case a.Clock.Now().After(until):
			return nil, errs.Invalid(errs.Field{Field: "archive", Message: "it takes too long to read; make it smaller"})
		case len(wrong) >= mostRefusals:
			return nil, wrong.err()
		}
		if err := c.take(file, &wrong); err != nil {
			return nil, err
		}
	}
	c.distinct(&wrong)
	for _, ignored := range from.Ignored {
		c.note(Finding{Msg: "This file is not part of a workspace and was ignored.", Err: "ignored", Path: ignored})
	}
	if c.unsaid > 0 {
		c.findings = append(c.findings, Finding{Msg: fmt.Sprintf("There are %d more findings.", c.unsaid), Err: "more"})
	}
	return c, wrong.err()
}

// verify holds the files against what .import.yml says of them.
func (c *content) verify(from *archive.Archive, wrong *refused) {
	if from.Import == nil {
		return
	}
	for _, p := range from.Import.Verify(from.Files) {
		if p.Severity == dsul.SeverityError {
			wrong.add(".import.yml: "+p.Document, dsul.Problems{p})
			continue
		}
		c.note(Finding{Msg: p.Message, Err: p.Code, Path: p.Document})
	}
	for _, note := range from.Import.Notes {
		c.note(Finding{Msg: note, Err: "ignored", Path: ".import.yml"})
	}
}

// take adds a file of the archive.
func (c *content) take(file archive.File, wrong *refused) error {
	kind, slug, _ := dsul.SplitPath(file.Path)
	doc, problems := dsul.Parse(kind, slug, file.Text)
	if len(problems.Errors()) > 0 || doc == nil || doc.Root == nil {
		wrong.add(file.Path+file.Ext, problems)
		return nil
	}
	if own := slugOf(doc); own != "" && dsul.ValidSlug(own) && !kind.Single() {
		doc.Slug = own
	}
	switch kind {
	case dsul.Index:
		return c.takeIndex(document{doc, file.Ext})
	case dsul.Security:
		c.takeSecurity(document{doc, file.Ext})
	default:
		c.report(doc)
		doc.Root = nil // nodes take a hundred times the memory of the text; they are read again one by one
		c.documents = append(c.documents, document{doc, file.Ext})
	}
	return nil
}

func slugOf(doc *dsul.Document) string {
	if n := doc.Get("slug"); n != nil {
		return n.Value
	}
	return ""
}

// report notes what is wrong with a document that is kept nevertheless.
func (c *content) report(doc *dsul.Document) {
	for _, p := range doc.Check(dsul.Lenient) {
		message := p.Message
		if p.Path != "" {
			message = p.Path + ": " + message
		}
		c.note(Finding{Msg: message, Err: p.Code, Path: doc.Path(), Line: p.Line})
	}
}

func (c *content) takeIndex(index document) error {
	safe, removed, err := without(index.Document, repositoryCredentials)
	if err != nil {
		return err
	}
	index.Document = safe
	for _, gone := range removed {
		c.note(Finding{
			Msg: gone.String() + " was left out: credentials are not imported. Keep them as a secret and write {{secret.name}}.", Err: "credentials", Path: string(dsul.Index),
		})
	}
	c.index = index
	c.report(index.Document)
	return nil
}

func (c *content) takeSecurity(security document) {
	if _, err := access.ParseSecurity(security.Text); err != nil {
		c.note(Finding{
			Msg: "The roles and rules were left out because they are not valid: " + reason(err), Err: "security_invalid", Path: string(dsul.Security),
		})
		c.leftOut = append(c.leftOut, string(dsul.Security))
		return
	}
	c.security = &security
}

// withoutSecurity is the content without its roles and rules, and says why.
func (c *content) withoutSecurity(why error) *content {
	other := *c
	other.security = nil
	other.leftOut = append(slices.Clone(c.leftOut), string(dsul.Security))
	other.findings = append(slices.Clone(c.findings), Finding{
		Msg: "The roles and rules were left out: " + reason(why), Err: string(errs.CodeOf(why)), Path: string(dsul.Security),
	})
	return &other
}

// reason is why something was refused, in words.
func reason(err error) string {
	const most = 3
	problem := errs.From(err)
	if len(problem.Fields) == 0 {
		return problem.Message
	}
	var said []string
	for _, field := range problem.Fields[:min(len(problem.Fields), most)] {
		said = append(said, field.Field+": "+field.Message)
	}
	if more := len(problem.Fields) - most; more > 0 {
		said = append(said, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(said, "; ")
}

// distinct refuses two files with one slug.
func (c *content) distinct(wrong *refused) {
	seen := map[string]bool{}
	for _, doc := range c.documents {
		if key := archive.Fold(doc.Path()); seen[key] {
			*wrong = append(*wrong, errs.Field{Field: doc.Path(), Message: "two files have this slug; rename one of them"})
		} else {
			seen[key] = true
		}
	}
}

// all lists the documents; those that are to be stored.
func (c *content) all(secure bool) []document {
	list := append([]document{c.index}, c.documents...)
	if secure && c.security != nil {
		list = append(list, *c.security)
	}
	return list
}

// files are the documents with their texts, for comparing them.
func (c *content) files() []definitions.File {
	all := c.all(true)
	files := make([]definitions.File, 0, len(all))
	for _, doc := range all {
		files = append(files, definitions.File{Entry: store.Entry{Path: doc.Path(), Ext: doc.ext, Hash: store.Hash(doc.Text)}, Text: doc.Text})
	}
	return files
}

// surplus lists the documents of a workspace that the archive does not have. The index and the security are never surplus.
func (c *content) surplus(ctx context.Context, r sqldb.Reader, workspaceID string) ([]string, error) {
	tree, err := store.Tree(ctx, r, workspaceID)
	if err != nil {
		return nil, err
	}
	has := make(map[string]bool, len(c.documents))
	for _, doc := range c.documents {
		has[doc.Path()] = true
	}
	var paths []string
	for _, entry := range tree {
		if kind, _, _ := dsul.SplitPath(entry.Path); !kind.Single() && !has[entry.Path] {
			paths = append(paths, entry.Path)
		}
	}
	return paths, nil
}
