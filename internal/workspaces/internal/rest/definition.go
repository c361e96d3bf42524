package rest

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/strictjson"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// The forms in which documents travel.
const (
	mediaJSON = "application/json"
	mediaYAML = "application/yaml"
)

// maxDocument is the largest body with a document: its text may have 1 MiB, and JSON says the same with more characters.
const maxDocument = 4 << 20

// resource is a kind of documents with routes of its own.
type resource struct {
	kind dsul.Kind
	// name and names are what it is called, tag groups its operations.
	name, names, tag string
	// of is a value of the type that describes it.
	of any
	// vet refuses what the documents of the workspace alone do not tell; nil when they tell all.
	vet func(ctx context.Context, e *definitions.Edit, before, after *dsul.Document) error
}

// OfDocument names a document of a workspace; inputs embed it.
type OfDocument struct {
	InWorkspace

	Slug string `path:"slug" maxLength:"100" doc:"The slug of the document; it may contain slashes."`
}

type readInput struct {
	OfDocument

	Accept string `header:"Accept" maxLength:"1000" doc:"application/yaml asks for the text, byte for byte as it was written."`
}

type writeInput struct {
	OfDocument

	ContentType string `header:"Content-Type" maxLength:"200" doc:"application/yaml when the body is the text itself."`
	IfMatch     string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
	IfNoneMatch string `header:"If-None-Match" maxLength:"200" doc:"* to add it only when it is not there; otherwise 412."`
	RawBody     []byte
}

type addInput struct {
	InWorkspace

	ContentType string `header:"Content-Type" maxLength:"200" doc:"application/yaml when the body is the text itself."`
	RawBody     []byte
}

type removeInput struct {
	OfDocument

	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
}

type documentOutput struct {
	Status      int
	ETag        string `header:"ETag" doc:"The revision; send it as If-Match with a change."`
	Location    string `header:"Location"`
	ContentType string `header:"Content-Type"`
	Body        []byte
}

type removedOutput struct {
	Body struct {
		ID   string `json:"id" doc:"The slug of what was deleted."`
		Slug string `json:"slug" doc:"The slug of what was deleted."`
	}
}

type metasInput struct {
	InWorkspace
	restapi.Page
	Search string `query:"search" maxLength:"200" doc:"Text in the name, the slug, the description or the labels."`
	Label  string `query:"label" maxLength:"60" doc:"Exactly this label."`
	Sort   string `query:"sort" enum:"slug,-slug,createdAt,-createdAt,updatedAt,-updatedAt" default:"slug" doc:"The order; a dash reverses it."`
}

type metasOutput struct {
	restapi.Listed
	ContentType string `header:"Content-Type"`
	Body        []byte
}

// RegisterDocuments adds the operations on automations and pages.
func RegisterDocuments(api *restapi.API, d *definitions.Definitions, cursors *restapi.Cursors) {
	for _, r := range []resource{
		{kind: dsul.Automation, name: "automation", names: "automations", tag: "Automations", of: Automation{}},
		{kind: dsul.Page, name: "page", names: "pages", tag: "Pages", of: PageDefinition{}},
	} {
		r.register(api, d, cursors)
	}
}

func (r resource) operation(verb, method, path, summary string) restapi.Operation {
	op := restapi.Operation{
		ID: verb + title(r.name), Method: method, Path: path, Tag: r.tag, Summary: summary, Policy: access.Callers, Scope: access.WorkspacesWrite,
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
	}
	if method == http.MethodGet {
		op.Scope = access.WorkspacesRead
		if r.kind == dsul.Page { // a page may be public
			op.Policy, op.Scope = access.ByRules, access.PagesRead
		}
		return op
	}
	op.MaxBody, op.Errors = maxDocument, append(op.Errors, errs.AlreadyExists, errs.Locked)
	return op
}

// forms describe the document in JSON and as a text.
func (r resource) forms() []restapi.Media {
	return []restapi.Media{{Type: mediaJSON, Of: r.of}, {Type: mediaYAML, Of: ""}}
}

func (r resource) register(api *restapi.API, d *definitions.Definitions, cursors *restapi.Cursors) {
	all := "/v2/workspaces/{workspaceId}/" + r.names
	one := all + "/{slug...}"
	list := r.operation("list", http.MethodGet, all, "List "+r.names)
	list.ID += "s"
	list.Gives = []restapi.Media{{Type: mediaJSON, Of: []definitions.Meta{}}}
	restapi.Register(api, list, func(ctx context.Context, in *metasInput) (*metasOutput, error) { return r.list(ctx, d, cursors, in) })
	read := r.operation("get", http.MethodGet, one, "Read one "+r.name)
	read.Gives = r.forms()
	restapi.Register(api, read, func(ctx context.Context, in *readInput) (*documentOutput, error) {
		stored, err := d.Read(ctx, in.WorkspaceID, r.kind, in.Slug)
		return shown(stored, err, in.Accept)
	})
	create := r.operation("create", http.MethodPost, all, "Add one "+r.name)
	create.Status, create.Takes, create.Gives = http.StatusCreated, r.forms(), r.forms()[:1]
	restapi.Register(api, create, func(ctx context.Context, in *addInput) (*documentOutput, error) { return r.create(ctx, d, in) })
	replace := r.operation("replace", http.MethodPut, one, "Replace one "+r.name+", or add it")
	replace.Takes, replace.Gives = r.forms(), r.forms()[:1]
	replace.Description = "What was written elsewhere in the text survives: a JSON body changes only what differs. A body with another slug renames it."
	restapi.Register(api, replace, func(ctx context.Context, in *writeInput) (*documentOutput, error) { return r.write(ctx, d, in, false) })
	update := r.operation("update", http.MethodPatch, one, "Change keys of one "+r.name)
	update.Takes, update.Gives = r.forms()[:1], r.forms()[:1]
	update.Description = "Replaces the keys that the body has and removes those that are null; comments and order of the rest survive."
	restapi.Register(api, update, func(ctx context.Context, in *writeInput) (*documentOutput, error) { return r.write(ctx, d, in, true) })
	restapi.Register(api, r.operation("delete", http.MethodDelete, one, "Delete one "+r.name),
		func(ctx context.Context, in *removeInput) (*removedOutput, error) {
			out := &removedOutput{}
			out.Body.ID, out.Body.Slug = in.Slug, in.Slug
			return out, d.Remove(ctx, in.WorkspaceID, definitions.Write{Kind: r.kind, Slug: in.Slug, IfMatch: in.IfMatch})
		})
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

func (r resource) create(ctx context.Context, d *definitions.Definitions, in *addInput) (*documentOutput, error) {
	write := definitions.Write{Kind: r.kind, Body: in.RawBody, YAML: isYAML(in.ContentType), Vet: r.vet}
	if err := readable(write); err != nil {
		return nil, err
	}
	stored, err := d.Create(ctx, in.WorkspaceID, write)
	out, err := shown(stored, err, "")
	if err != nil {
		return nil, err
	}
	out.Status = http.StatusCreated
	out.Location = "/v2/workspaces/" + stored.Workspace.ID + "/" + r.names + "/" + escapedSlug(stored.Slug())
	return out, nil
}

func (r resource) write(ctx context.Context, d *definitions.Definitions, in *writeInput, merge bool) (*documentOutput, error) {
	write := definitions.Write{Kind: r.kind, Slug: in.Slug, IfMatch: in.IfMatch, New: in.IfNoneMatch == "*", Body: in.RawBody, YAML: isYAML(in.ContentType), Merge: merge, Vet: r.vet}
	if err := readable(write); err != nil {
		return nil, err
	}
	stored, created, err := d.Replace(ctx, in.WorkspaceID, write)
	out, err := shown(stored, err, "")
	if err != nil {
		return nil, err
	}
	out.Status = http.StatusOK
	if created {
		out.Status = http.StatusCreated
	}
	return out, nil
}

// escapedSlug writes a slug into an address; its slashes stay.
func escapedSlug(slug string) string {
	return strings.ReplaceAll(url.PathEscape(slug), "%2F", "/")
}

func isYAML(contentType string) bool {
	kind, _, err := mime.ParseMediaType(contentType)
	return err == nil && kind == mediaYAML
}

// wantsYAML tells that a client asks for the text. Anything it cannot have is answered in JSON.
func wantsYAML(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		kind, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(kind)) {
		case mediaYAML, "application/x-yaml", "text/yaml":
			return true
		case mediaJSON, "*/*", "application/*":
			return false
		}
	}
	return false
}

// readable refuses a body that is not JSON the way every operation does.
func readable(write definitions.Write) error {
	if write.YAML {
		return nil
	}
	return checkJSON(write.Body)
}

// checkJSON refuses a body that is not a JSON object.
func checkJSON(body []byte) error {
	if err := strictjson.Check(body, strictjson.Default()); err != nil {
		return errs.Newf(errs.InvalidRequest, "The body is not acceptable JSON: %s.", err.Error())
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(body, &object) != nil || object == nil {
		return errs.Invalid(errs.Field{Field: "", Message: "expected object"})
	}
	return nil
}

// shown is the answer with a document, in the form that the client asks for.
func shown(stored definitions.Stored, err error, accept string) (*documentOutput, error) {
	if err != nil {
		return nil, err
	}
	out := &documentOutput{Status: http.StatusOK, ETag: restapi.ETag(stored.Revision), ContentType: mediaJSON, Body: nil}
	if wantsYAML(accept) {
		out.ContentType, out.Body = mediaYAML+"; charset=utf-8", stored.Parsed.Text
		return out, nil
	}
	if out.Body, err = stored.JSON(); err != nil {
		return nil, err
	}
	out.Body = append(out.Body, '\n')
	return out, nil
}

func (r resource) list(ctx context.Context, d *definitions.Definitions, cursors *restapi.Cursors, in *metasInput) (*metasOutput, error) {
	query := url.Values{"limit": {strconv.Itoa(in.Limit)}, "sort": {in.Sort}}
	for name, value := range map[string]string{"search": in.Search, "label": in.Label} {
		if value != "" {
			query.Set(name, value)
		}
	}
	path := "/v2/workspaces/" + in.WorkspaceID + "/" + r.names
	offset, err := in.From(ctx, cursors, path+"?"+query.Encode())
	if err != nil {
		return nil, err
	}
	found, total, err := d.List(ctx, in.WorkspaceID, r.kind, store.DocumentQuery{
		Search: in.Search, Label: in.Label, Sort: strings.TrimPrefix(in.Sort, "-"), Descending: strings.HasPrefix(in.Sort, "-"),
		Limit: in.Limit, Offset: offset,
	})
	if err != nil {
		return nil, err
	}
	listed, err := restapi.NewListed(ctx, cursors, restapi.Place{Path: path, Query: query, Next: offset + len(found), Total: total})
	return &metasOutput{Listed: listed, ContentType: mediaJSON, Body: metasOf(found)}, err
}

// metasOf is a list of documents in JSON.
func metasOf(found []store.Document) []byte {
	body := []byte{'['}
	for i, document := range found {
		if i > 0 {
			body = append(body, ',')
		}
		body = definitions.AppendMeta(body, document)
	}
	return append(body, ']', '\n')
}
