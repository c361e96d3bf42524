package archives

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// keepRepositories gives the index of an archive the repositories that the workspace has: where a workspace is pushed to
// is not for an archive to say. A workspace without any takes those of the archive when the caller may manage them.
func (r *Result) keepRepositories(ctx context.Context, e *definitions.Edit, index document) (document, error) {
	local, err := e.Get(ctx, string(dsul.Index))
	if err != nil || local == nil {
		return index, err
	}
	text := index.Text
	for _, key := range repositoryKeys() {
		mine, theirs := local.Parsed.Get(key), index.Get(key)
		switch {
		case mine == nil && theirs == nil, mine != nil && theirs != nil && splice.Equal(mine, theirs):
			continue
		case mine != nil:
			text, err = splice.Set(text, []string{key}, mine)
			r.Findings = append(r.Findings, Finding{Msg: key + " of the archive were left out: the workspace keeps its own.", Err: "repositories_kept", Path: string(dsul.Index)})
		case e.Visit.Check(access.ActionManageRepositories) != nil:
			text, err = splice.Delete(text, []string{key})
			r.Findings = append(r.Findings, Finding{
				Msg: key + " were left out: only who may manage the repositories of the workspace can import them.", Err: string(errs.PermissionDenied), Path: string(dsul.Index),
			})
		}
		if err != nil {
			return index, errs.Wrap(err, "keep the repositories of a workspace")
		}
	}
	doc, problems := dsul.Parse(dsul.Index, "", text)
	return document{doc, index.ext}, problems.Err()
}

// mayReplace refuses an import that does what its caller could not do document by document: rules can be about single
// fields of a workspace, and about single pages.
func mayReplace(ctx context.Context, e *definitions.Edit, doc document) error {
	if doc.Kind != dsul.Index && doc.Kind != dsul.Page {
		return nil
	}
	before, err := store.GetDocument(ctx, e.Tx, e.Workspace.ID, doc.Path())
	if sqldb.IsNotFound(err) || err == nil && before.Hash == store.Hash(doc.Text) {
		return nil
	}
	if err != nil {
		return err
	}
	if doc.Kind == dsul.Page {
		err = e.Visit.CheckObject(access.ActionUpdate, access.SubjectPages, definitions.PageFields(e.Visit.Ability, before))
	} else {
		err = mayTouch(ctx, e, doc)
	}
	if err != nil && errs.CodeOf(err) == errs.PermissionDenied {
		return errs.From(err).With("document", doc.Path())
	}
	return err
}

// mayTouch checks the fields in which the index of the archive differs. Its slug is not taken over.
func mayTouch(ctx context.Context, e *definitions.Edit, index document) error {
	before, err := e.Get(ctx, string(dsul.Index))
	if err != nil || before == nil {
		return err
	}
	old, given := fieldsOf(before.Parsed), fieldsOf(index.Document)
	for _, field := range slices.Sorted(maps.Keys(given)) {
		if old[field] == given[field] {
			delete(old, field)
		} else {
			old[field] = ""
		}
	}
	delete(old, "slug")
	for _, field := range slices.Sorted(maps.Keys(old)) {
		if err := e.Visit.CheckField(access.ActionUpdate, field); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf are the fields of a document with what they say.
func fieldsOf(doc *dsul.Document) map[string]string {
	var object map[string]json.RawMessage
	if text, err := doc.JSON(); err != nil || json.Unmarshal(text, &object) != nil {
		return nil
	}
	fields := make(map[string]string, len(object))
	for name, value := range object {
		fields[name] = string(value)
	}
	return fields
}
