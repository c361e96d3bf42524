package definitions

import (
	"context"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces"
)

// ParseIndex reads the definition of a workspace that a caller sends as JSON, for a new one.
func ParseIndex(body []byte) (*dsul.Document, error) {
	doc, problems := dsul.FromJSON(dsul.Index, "", body)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	if err := doc.Check(dsul.Strict).Err(); err != nil {
		return nil, err
	}
	if err := checkDescription(doc); err != nil {
		return nil, err
	}
	return doc, CheckSlug(textOf(doc.Get("slug")))
}

// longestDescription is the longest description of a workspace, in characters.
const longestDescription = 4000

// checkDescription refuses a description that lists could not carry.
func checkDescription(index *dsul.Document) error {
	if text, _ := localized(index); utf8.RuneCountInString(text) > longestDescription {
		return errs.Invalid(errs.Field{Field: "description", Message: "use at most 4000 characters"})
	}
	return nil
}

// CheckSlug refuses what no workspace can be called; none at all is fine.
func CheckSlug(slug string) error {
	if slug == "" || workspaces.ValidSlug(slug) {
		return nil
	}
	return errs.Invalid(errs.Field{Field: "slug", Message: "use 1 to 64 lower-case letters, digits and dashes, not at the ends a dash; a few words are reserved"})
}

// WithSlug is the index with a slug in it.
func WithSlug(doc *dsul.Document, slug string) (*dsul.Document, error) {
	prepend(doc.Root, "slug", slug)
	named, problems := dsul.Parse(dsul.Index, "", dsul.Encode(doc.Root))
	return named, problems.Err()
}

// Update changes keys of the definition of a workspace: each that the body has is replaced, and one that is null removed.
// ifMatch, when given, is the revision the caller has seen. Shown is what the caller could have read of the workspace: what
// the body repeats of it unchanged, and is not for a caller to set, is taken for not said.
func (d *Definitions) Update(ctx context.Context, ref, ifMatch string, body []byte, shown map[string]json.RawMessage) (workspaces.Workspace, error) {
	given, err := parseBody(Write{Kind: dsul.Index, Body: body})
	if err != nil {
		return workspaces.Workspace{}, err
	}
	if knownKeys(given) != nil {
		dropSaid(given.Root, shown)
	}
	return d.Edit(ctx, ref, Purpose{}, func(ctx context.Context, e *Edit) error {
		if err := e.Visit.Check(access.ActionUpdate); err != nil {
			return err
		}
		if err := restapi.CheckIfMatch(ifMatch, restapi.ETag(e.Workspace.Revision)); err != nil {
			return err
		}
		return e.patchIndex(ctx, given)
	})
}

func (e *Edit) patchIndex(ctx context.Context, given *dsul.Document) error {
	before, err := e.Get(ctx, string(dsul.Index))
	if err != nil {
		return err
	}
	if before == nil {
		return missing(string(dsul.Index))
	}
	write := Write{Kind: dsul.Index, Merge: true}
	doc, touched, err := merged(write, given, before)
	if err != nil {
		return err
	}
	if err := checked(doc, write, touched); err != nil {
		return err
	}
	if slices.Contains(touched, "description") {
		if err := checkDescription(doc); err != nil {
			return err
		}
	}
	if slices.Contains(touched, "slug") {
		if err := e.Reslug(textOf(doc.Get("slug"))); err != nil {
			return err
		}
	}
	if slices.Contains(touched, "labels") {
		e.Workspace.Labels = Labels(doc)
	}
	if e.Workspace.Slug == e.before.Slug && slices.Equal(e.Workspace.Labels, e.before.Labels) {
		return e.Put(ctx, doc, before.Ext)
	}
	if doc, err = e.settle(ctx, doc); err != nil {
		return err
	}
	// The workspace changes also when its index has said so before, as after an import.
	e.changes = append(e.changes, &change{path: before.Path, before: &before.Document, after: doc, afterExt: before.Ext})
	return nil
}

// mayTouch checks the rules on single fields of a workspace. Its slug and its labels can differ from what the index says.
func (e *Edit) mayTouch(before, after *dsul.Document) error {
	for _, field := range slices.Concat(rootKeys(before), rootKeys(after), []string{"slug", "labels"}) {
		if !e.touches(before, after, field) {
			continue
		}
		if field == "repositories" || field == "platformRepositories" {
			if err := e.Visit.Check(access.ActionManageRepositories); err != nil {
				return err
			}
		}
		if err := e.Visit.CheckField(access.ActionUpdate, field); err != nil {
			return err
		}
	}
	return nil
}

// touches tells whether the edit gives a field of the workspace another value. A slug that is only written in the index is
// not taken over.
func (e *Edit) touches(before, after *dsul.Document, field string) bool {
	switch field {
	case "slug":
		return e.Workspace.Slug != e.before.Slug
	case "labels":
		return changed(before, after, field) || !slices.Equal(e.Workspace.Labels, e.before.Labels)
	default:
		return changed(before, after, field)
	}
}

// Reslug gives the workspace another slug.
func (e *Edit) Reslug(slug string) error {
	if slug == e.Workspace.Slug {
		return nil
	}
	if e.Workspace.ID == access.PlatformWorkspace {
		return errs.Invalid(errs.Field{Field: "slug", Message: "the platform workspace keeps its slug"})
	}
	if slug == "" {
		return errs.Invalid(errs.Field{Field: "slug", Message: "a workspace needs a slug; give another one instead of none"})
	}
	if err := CheckSlug(slug); err != nil {
		return err
	}
	e.Workspace.Slug = slug
	return nil
}

// Section reads what the index says at a path, such as config; nil when it says nothing. With a version it is that of a
// native version.
func (d *Definitions) Section(ctx context.Context, ref, version string, path ...string) (section []byte, revision int64, err error) {
	index, err := d.Read(ctx, ref, dsul.Index, "")
	if err != nil {
		return nil, 0, err
	}
	of := index.Parsed
	if version != "" && version != Current {
		if of, _, err = d.Overview(ctx, index.Workspace, version); err != nil {
			return nil, 0, err
		}
	}
	if n := of.Get(path...); n != nil {
		return dsul.JSON(n), index.Revision, nil
	}
	return nil, index.Revision, nil
}

// SetSection replaces what the index says at a path, such as one block, and gives the index; nil removes it. ifMatch, when
// given, is the revision of the index that the caller has seen.
func (d *Definitions) SetSection(ctx context.Context, ref, ifMatch string, value []byte, path ...string) (Stored, error) {
	return d.editIndex(ctx, ref, ifMatch, path[0], func(index *dsul.Document) (*dsul.Document, error) {
		return withSection(index, value, path)
	})
}

// UpdateConfig replaces the parts of the configuration that the body has, one by one, removes those that are null, and gives
// the index.
func (d *Definitions) UpdateConfig(ctx context.Context, ref, ifMatch string, body []byte) (Stored, error) {
	return d.editIndex(ctx, ref, ifMatch, "config", func(index *dsul.Document) (*dsul.Document, error) {
		return withConfig(index, body)
	})
}

// editIndex changes a field of the index for a caller that may, and gives the index as the edit left it.
func (d *Definitions) editIndex(ctx context.Context, ref, ifMatch, field string, change func(*dsul.Document) (*dsul.Document, error)) (Stored, error) {
	var edit *Edit
	var was *Stored
	_, err := d.Edit(ctx, ref, Purpose{}, func(ctx context.Context, e *Edit) error {
		before, err := e.standing(ctx, string(dsul.Index), ifMatch)
		if err != nil {
			return err
		}
		if err := e.Visit.CheckField(access.ActionUpdate, field); err != nil {
			return err
		}
		edit, was = e, before
		doc, err := change(before.Parsed)
		if err != nil {
			return err
		}
		return e.Put(ctx, doc, before.Ext)
	})
	if err != nil {
		return Stored{}, err
	}
	return edit.result(string(dsul.Index), was), nil
}
