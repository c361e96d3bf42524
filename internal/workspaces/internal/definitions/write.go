package definitions

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/store"
)

// Write is a document that a caller sends.
type Write struct {
	Kind dsul.Kind
	// Slug is that of the document which is meant; empty for a new one.
	Slug string
	// IfMatch is the entity tag that the caller has seen; another one is refused with 412. New asks for a document that is
	// not there yet.
	IfMatch string
	New     bool
	Body    []byte
	// YAML tells that the body is the text itself; otherwise it is JSON.
	YAML bool
	// Merge replaces only the keys that the body has, and removes those that are null.
	Merge bool
	// Vet, when given, refuses what the documents of the workspace alone do not tell; before is nil for a new document.
	Vet func(ctx context.Context, e *Edit, before, after *dsul.Document) error
}

// vet asks whoever knows more whether a document may be written.
func (w Write) vet(ctx context.Context, e *Edit, before *Stored, after *dsul.Document) error {
	switch {
	case w.Vet == nil:
		return nil
	case before == nil:
		return w.Vet(ctx, e, nil, after)
	default:
		return w.Vet(ctx, e, before.Parsed, after)
	}
}

// Create adds a document. Its slug is what the body says, or is made from the name; one that is taken is resource_already_exists.
func (d *Definitions) Create(ctx context.Context, ref string, write Write) (Stored, error) {
	var path string
	var edit *Edit
	given, err := parseBody(write)
	if err != nil {
		return Stored{}, err
	}
	_, err = d.Edit(ctx, ref, Purpose{}, func(ctx context.Context, e *Edit) error {
		if err := e.Visit.Check(access.ActionUpdate); err != nil {
			return err
		}
		doc, err := e.named(ctx, given, write)
		if err != nil {
			return err
		}
		if err := checked(doc, write, nil); err != nil {
			return err
		}
		if err := write.vet(ctx, e, nil, doc); err != nil {
			return err
		}
		path, edit = doc.Path(), e
		return e.Put(ctx, doc, ".yml")
	})
	if err != nil {
		return Stored{}, err
	}
	return edit.result(path, nil), nil
}

// Replace stores a document in the place of the one with the slug, or adds it; created tells which. A body with another
// slug renames the document.
func (d *Definitions) Replace(ctx context.Context, ref string, write Write) (stored Stored, created bool, err error) {
	given, err := parseBody(write)
	if err != nil {
		return Stored{}, false, err
	}
	var edit *Edit
	var path string
	var was *Stored
	_, err = d.Edit(ctx, ref, Purpose{}, func(ctx context.Context, e *Edit) error {
		before, err := e.Get(ctx, dsul.Path(write.Kind, write.Slug))
		if err != nil {
			return err
		}
		if err := e.mayWrite(write, before); err != nil {
			return err
		}
		doc, touched, err := merged(write, given, before)
		if err != nil {
			return err
		}
		if err := checked(doc, write, touched); err != nil {
			return err
		}
		if err := write.vet(ctx, e, before, doc); err != nil {
			return err
		}
		edit, path, was, created = e, doc.Path(), before, before == nil
		return e.store(ctx, write, before, doc)
	})
	if err != nil {
		return Stored{}, false, err
	}
	return edit.result(path, was), created, nil
}

// store puts the document where it belongs, which may be another path than before.
func (e *Edit) store(ctx context.Context, write Write, before *Stored, doc *dsul.Document) error {
	ext := ".yml"
	if before != nil {
		ext = before.Ext
	}
	if doc.Slug == write.Slug {
		return e.Put(ctx, doc, ext)
	}
	if before == nil {
		return errs.Invalid(errs.Field{Field: "slug", Message: "it differs from the slug in the address; make them the same, or add it with POST"})
	}
	other, err := e.Get(ctx, dsul.Path(doc.Kind, doc.Slug))
	if err != nil {
		return err
	}
	if other != nil {
		return alreadyThere(doc.Kind, doc.Slug)
	}
	return e.Rename(ctx, before.Path, doc, ext)
}

func alreadyThere(kind dsul.Kind, slug string) error {
	return errs.Newf(errs.AlreadyExists, "There is %s already; choose another slug.", dsul.Path(kind, slug)).
		With("subjectType", string(kind)).With("slug", slug)
}

// mayWrite checks the caller's rights and what it has seen.
func (e *Edit) mayWrite(write Write, before *Stored) error {
	if write.Kind == dsul.Page && before != nil {
		object := PageFields(e.Visit.Ability, before.Document)
		if err := e.Visit.CheckObject(access.ActionUpdate, access.SubjectPages, object); err != nil {
			return err
		}
	} else if err := e.Visit.Check(access.ActionUpdate); err != nil {
		return err
	}
	if before == nil && write.Merge {
		return missing(dsul.Path(write.Kind, write.Slug))
	}
	if write.New && before != nil {
		return errs.Newf(errs.Conflict, "There is %s already.", before.Path).WithStatus(http.StatusPreconditionFailed)
	}
	return e.seen(write.IfMatch, before)
}

// seen refuses a caller that has seen another revision of the document.
func (e *Edit) seen(ifMatch string, before *Stored) error {
	if before == nil && ifMatch != "" {
		return errs.New(errs.Conflict, "There is no such document any more; what you have seen was deleted.").WithStatus(http.StatusPreconditionFailed)
	}
	if before == nil {
		return nil
	}
	return restapi.CheckIfMatch(ifMatch, restapi.ETag(before.Revision))
}

// standing is the document at a path, for a caller that may update the workspace and has seen this revision of it.
func (e *Edit) standing(ctx context.Context, path, ifMatch string) (*Stored, error) {
	if err := e.Visit.Check(access.ActionUpdate); err != nil {
		return nil, err
	}
	before, err := e.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, missing(path)
	}
	return before, e.seen(ifMatch, before)
}

// Remove deletes a document.
func (d *Definitions) Remove(ctx context.Context, ref string, write Write) error {
	path := dsul.Path(write.Kind, write.Slug)
	_, err := d.Edit(ctx, ref, Purpose{}, func(ctx context.Context, e *Edit) error {
		if _, err := e.standing(ctx, path, write.IfMatch); err != nil {
			return err
		}
		return e.Delete(ctx, path)
	})
	return err
}

// parseBody reads the body of a request.
func parseBody(write Write) (*dsul.Document, error) {
	read := dsul.FromJSON
	if write.YAML {
		read = dsul.Parse
	}
	doc, problems := read(write.Kind, write.Slug, write.Body)
	return doc, problems.Err()
}

// merged is the document that results from what is stored and what is sent, and the keys that the caller is responsible for:
// nil for all of them.
func merged(write Write, given *dsul.Document, before *Stored) (doc *dsul.Document, touched []string, err error) {
	if !write.YAML && before != nil {
		dropSaid(given.Root, before.owned())
	}
	text := given.Text
	switch {
	case write.Merge && before != nil:
		if err := knownKeys(given); err != nil {
			return nil, nil, err
		}
		if text, touched, err = spliced(before.Parsed.Text, given.Root); err != nil {
			return nil, nil, err
		}
	case !write.YAML && before != nil:
		if text, err = splice.Replace(before.Parsed.Text, given.Root); err != nil {
			return nil, nil, err
		}
	case !write.YAML:
		text = dsul.Encode(given.Root)
	}
	return reparsed(write, text, touched)
}

// reparsed reads a text as it will be stored, under the slug that it says.
func reparsed(write Write, text []byte, touched []string) (*dsul.Document, []string, error) {
	doc, problems := dsul.Parse(write.Kind, write.Slug, text)
	if err := problems.Err(); err != nil {
		return nil, nil, err
	}
	if slug := textOf(doc.Get("slug")); slug != "" && !write.Kind.Single() {
		doc.Slug = slug
	}
	return doc, touched, nil
}

// knownKeys refuses keys that a caller may not set, also when it only wants to remove them.
func knownKeys(given *dsul.Document) error {
	problems := slices.DeleteFunc(given.Check(dsul.Strict), func(p dsul.Problem) bool {
		return p.Code != serverOwned && p.Code != unknownKey || strings.ContainsAny(p.Path, ".[")
	})
	return problems.Err()
}

// spliced sets the keys of a mapping in a text, one by one, so that everything else stays as it was written.
func spliced(text []byte, with *yaml.Node) (result []byte, touched []string, err error) {
	for i := 0; i+1 < len(with.Content); i += 2 {
		key, value := with.Content[i].Value, with.Content[i+1]
		touched = append(touched, key)
		if value.Kind == yaml.ScalarNode && value.Tag == "!!null" {
			text, err = splice.Delete(text, []string{key})
		} else {
			text, err = splice.Set(text, []string{key}, value)
		}
		if err != nil {
			return nil, nil, misplaced(err, key)
		}
	}
	return text, touched, nil
}

// misplaced says that a value cannot be set because what leads to it is not a map.
func misplaced(err error, path ...string) error {
	if errors.Is(err, splice.ErrPath) {
		return errs.Invalid(errs.Field{Field: strings.Join(path, "."), Message: "it cannot be set, because what is there now is not a map; replace that first"})
	}
	return err
}

// checked refuses a document with errors. Of keys that the caller did not touch only those count which stop it from running.
func checked(doc *dsul.Document, write Write, touched []string) error {
	if !doc.Kind.Single() && !dsul.ValidSlug(doc.Slug) {
		return errs.Invalid(errs.Field{Field: "slug", Message: "use letters, digits, spaces, - and _, in parts separated by /, at most 100 characters"})
	}
	problems := doc.Check(dsul.Strict)
	if write.YAML {
		problems = slices.DeleteFunc(problems, func(p dsul.Problem) bool { return p.Code == serverOwned })
	}
	if touched == nil {
		return problems.Err()
	}
	problems = slices.DeleteFunc(problems, func(p dsul.Problem) bool { return !slices.Contains(touched, rootKey(p.Path)) })
	return append(problems, doc.Check(dsul.Lenient)...).Err()
}

// serverOwned is the code of the problem that a document says what only the service can say.
const serverOwned = "server_owned"

// unknownKey is the code of the problem that a document has a key which means nothing.
const unknownKey = "unknown_key"

// rootKey is the first key of a path inside a document.
func rootKey(path string) string {
	if end := strings.IndexAny(path, ".["); end >= 0 {
		return path[:end]
	}
	return path
}

// named gives a new document its slug, and writes it into a text that was made here.
func (e *Edit) named(ctx context.Context, doc *dsul.Document, write Write) (*dsul.Document, error) {
	slug := textOf(doc.Get("slug"))
	if slug == "" {
		var err error
		slug = inventSlug(doc, func(candidate string) bool {
			twin, failure := store.Twin(ctx, e.Tx, e.Workspace.ID, dsul.Path(doc.Kind, candidate))
			if failure != nil {
				err = failure
			}
			return failure == nil && twin != ""
		})
		if err != nil {
			return nil, err
		}
	} else if other, err := e.Get(ctx, dsul.Path(doc.Kind, slug)); err != nil || other != nil {
		if err == nil {
			err = alreadyThere(doc.Kind, slug)
		}
		return nil, err
	}
	text := doc.Text
	if !write.YAML {
		prepend(doc.Root, "slug", slug)
		validateByDefault(doc)
		text = dsul.Encode(doc.Root)
	}
	named, problems := dsul.Parse(doc.Kind, slug, text)
	return named, problems.Err()
}

// inventSlug gives a document that says none the first slug that is free: made from its name, or that of its app.
func inventSlug(doc *dsul.Document, taken func(string) bool) string {
	app := textOf(doc.Get("appSlug"))
	if doc.Kind != dsul.Import || !dsul.ValidSlug(app) {
		return dsul.Slug(FirstText(doc.Get("name")), taken)
	}
	slug := app
	for n := 1; taken(slug); n++ {
		slug = app + "-" + strconv.Itoa(n)
	}
	return slug
}

// validateByDefault makes a new automation check its arguments unless it says otherwise.
func validateByDefault(doc *dsul.Document) {
	if doc.Kind != dsul.Automation || doc.Get("validateArguments") != nil {
		return
	}
	doc.Root.Content = append(doc.Root.Content, scalar("!!str", "validateArguments"), scalar("!!bool", "true"))
}

func prepend(mapping *yaml.Node, key, value string) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return
		}
	}
	mapping.Content = append([]*yaml.Node{scalar("!!str", key), scalar("!!str", value)}, mapping.Content...)
}

func scalar(tag, value string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: value}
}

// dropSaid takes the keys out of a body whose values are what the service says itself: so a client can send back what it has
// read. What differs stays, and is refused by the check.
func dropSaid(root *yaml.Node, owned map[string]json.RawMessage) {
	kept := root.Content[:0]
	for i := 0; i+1 < len(root.Content); i += 2 {
		if said, ok := owned[root.Content[i].Value]; ok && sameJSON(root.Content[i+1], said) {
			continue
		}
		kept = append(kept, root.Content[i], root.Content[i+1])
	}
	root.Content = kept
}

func sameJSON(n *yaml.Node, said json.RawMessage) bool {
	var a, b any
	return json.Unmarshal(dsul.JSON(n), &a) == nil && json.Unmarshal(said, &b) == nil && reflect.DeepEqual(a, b)
}

// FirstText is a text, or the first of the texts by language.
func FirstText(n *yaml.Node) string {
	if n != nil && n.Kind == yaml.MappingNode && len(n.Content) > 1 {
		return textOf(n.Content[1])
	}
	return textOf(n)
}
