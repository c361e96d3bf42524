package rest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/failpoint"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
)

const mediaZip = "application/zip"

// ImportResult is what an import did.
type ImportResult struct {
	Imported            []string           `json:"imported" nullable:"false" doc:"The documents that were added or replaced."`
	Deleted             []string           `json:"deleted" nullable:"false" doc:"The documents that were deleted."`
	Unchanged           int                `json:"unchanged" doc:"How many documents were the same already."`
	Errors              []archives.Finding `json:"errors" nullable:"false" doc:"What was left out, or is wrong with what was imported."`
	Workspace           json.RawMessage    `json:"workspace,omitempty" doc:"The workspace after it; absent when nothing was changed, or many were."`
	CreatedWorkspaceIDs []string           `json:"createdWorkspaceIds,omitempty" doc:"Of a bulk import: the workspaces that were made."`
	UpdatedWorkspaceIDs []string           `json:"updatedWorkspaceIds,omitempty" doc:"Of a bulk import: the workspaces that were changed."`
	PublishedApps       []string           `json:"publishedApps,omitempty" doc:"The apps that were published."`
	DryRun              bool               `json:"dryRun,omitempty" doc:"Whether it was only tried: nothing was changed."`
	PlanID              string             `json:"planId,omitempty" doc:"Of a dry run: send it with the import to apply exactly this; it is refused when something changed since."`
	Operation           string             `json:"operation,omitempty" doc:"Of a dry run: import."`
	Created             []string           `json:"created,omitempty" doc:"Of a dry run: the documents that would be added."`
	Updated             []string           `json:"updated,omitempty" doc:"Of a dry run: the documents that would be changed."`
}

// BulkExport is the body that asks for an archive of many workspaces.
type BulkExport struct {
	Workspaces  BulkSelection `json:"workspaces,omitzero" doc:"Which workspaces; all that the caller may read when absent."`
	IncludeApps bool          `json:"includeApps,omitempty" doc:"Whether an import publishes the apps of the workspaces again."`
}

// BulkSelection says which workspaces.
type BulkSelection struct {
	Query      BulkFilter     `json:"query,omitzero" doc:"What they have."`
	Pagination BulkPagination `json:"pagination,omitzero" doc:"Which part of them."`
}

// BulkFilter is what the workspaces have.
type BulkFilter struct {
	IDs    []string `json:"ids,omitempty" maxItems:"1000" doc:"One of these ids."`
	Slug   string   `json:"slug,omitempty" maxLength:"64" doc:"Exactly this slug."`
	Labels []string `json:"labels,omitempty" maxItems:"100" doc:"Any of these labels."`
	Search string   `json:"search,omitempty" maxLength:"200" doc:"Text in the name, the description or the slug."`
}

// BulkPagination is which part of the workspaces.
type BulkPagination struct {
	Limit int `json:"limit,omitempty" minimum:"1" maximum:"1000" doc:"How many at most; 1000 when absent."`
	Page  int `json:"page,omitempty" minimum:"0" maximum:"1000000" doc:"Which page, counted from 0."`
}

// porter serves archives. Only so many are held in memory at a time.
type porter struct {
	archives *archives.Archives
	slots    chan struct{}
}

// importsAtOnce is how many archives one process reads at a time: each may take the memory of its whole content.
const importsAtOnce = 2

// uploadRoom is what a form may have besides the archive.
const uploadRoom = 64 << 10

// mostExported is how many workspaces a bulk archive has at most.
const mostExported = 1000

// RegisterArchives adds the operations on archives.
func RegisterArchives(api *restapi.API, a *archives.Archives) {
	p := &porter{archives: a, slots: make(chan struct{}, importsAtOnce)}
	p.registerExports(api)
	p.registerImports(api)
}

func (p *porter) registerExports(api *restapi.API) {
	export := restapi.Operation{
		ID: "exportWorkspace", Method: http.MethodGet, Path: "/v2/workspaces/{workspaceId}/export", Tag: "Archives", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Export a workspace", Description: "The documents of the workspace as a zip archive. Secrets, files and events are not part of it.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}, Gives: []restapi.Media{{Type: mediaZip}},
	}
	api.Raw(export, func(w http.ResponseWriter, r *http.Request) error {
		return p.export(w, r, r.PathValue("workspaceId"), definitions.Current)
	})
	export.ID, export.Method, export.Path = "exportVersion", http.MethodPost, "/v2/workspaces/{workspaceId}/versions/{version}/export"
	export.Summary = "Export a version of a workspace"
	api.Raw(export, func(w http.ResponseWriter, r *http.Request) error {
		return p.export(w, r, r.PathValue("workspaceId"), r.PathValue("version"))
	})
	api.Raw(restapi.Operation{
		ID: "exportWorkspaces", Method: http.MethodPost, Path: "/v2/workspaces/export", Tag: "Archives", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Export many workspaces", Description: "One zip archive with an archive of each workspace.", MaxBody: 1 << 20,
		Takes: []restapi.Media{{Type: mediaJSON, Of: BulkExport{}}}, Gives: []restapi.Media{{Type: mediaZip}},
	}, p.exportMany)
}

func (p *porter) export(w http.ResponseWriter, r *http.Request, ref, version string) error {
	if version == "" || len(version) > 15 {
		return errs.Missing("versions", shortened(version))
	}
	export, err := p.archives.Export(r.Context(), ref, version)
	if err != nil {
		return err
	}
	return stream(w, export)
}

func (p *porter) exportMany(w http.ResponseWriter, r *http.Request) error {
	query, err := bulkQuery(r.Body)
	if err != nil {
		return err
	}
	export, err := p.archives.ExportMany(r.Context(), query)
	if err != nil {
		return err
	}
	return stream(w, export)
}

// bulkQuery reads the body that asks for an archive of many workspaces; without one it is all of them.
func bulkQuery(from io.Reader) (query archives.BulkQuery, err error) {
	body := BulkExport{Workspaces: BulkSelection{Pagination: BulkPagination{Limit: mostExported}}}
	text, err := io.ReadAll(from)
	if err != nil {
		return query, uploadError(err)
	}
	if len(text) > 0 {
		if err := checkJSON(text); err != nil {
			return query, err
		}
		if err := decodeBulk(text, &body); err != nil {
			return query, err
		}
	}
	if err := body.check(); err != nil {
		return query, err
	}
	q, page := body.Workspaces.Query, body.Workspaces.Pagination
	return archives.BulkQuery{IncludeApps: body.IncludeApps, ListQuery: workspaces.ListQuery{
		IDs: q.IDs, Slug: q.Slug, Labels: q.Labels, Search: q.Search, Sort: "createdAt", Limit: page.Limit, Offset: page.Page * page.Limit,
	}}, nil
}

// check refuses what the document of the API does not allow.
func (b BulkExport) check() error {
	q, page := b.Workspaces.Query, b.Workspaces.Pagination
	var wrong []errs.Field
	add := func(bad bool, field, message string) {
		if bad {
			wrong = append(wrong, errs.Field{Field: "workspaces." + field, Message: message})
		}
	}
	add(len(q.IDs) > mostExported, "query.ids", "give at most 1000")
	add(len(q.Labels) > 100, "query.labels", "give at most 100")
	add(len(q.Slug) > 64, "query.slug", "use at most 64 characters")
	add(len(q.Search) > 200, "query.search", "use at most 200 characters")
	add(page.Limit < 1 || page.Limit > mostExported, "pagination.limit", "use 1 to 1000")
	add(page.Page < 0 || page.Page > 1_000_000, "pagination.page", "use 0 to 1000000")
	if wrong == nil {
		return nil
	}
	return errs.Invalid(wrong...)
}

// decodeBulk reads the body and refuses what it does not know; names are known only as they are written.
func decodeBulk(text []byte, into *BulkExport) error {
	whole, err := known(text, "", "workspaces", "includeApps")
	if err != nil {
		return err
	}
	selection, err := known(whole["workspaces"], "workspaces.", "query", "pagination")
	if err != nil {
		return err
	}
	if _, err := known(selection["query"], "workspaces.query.", "ids", "slug", "labels", "search"); err != nil {
		return err
	}
	if _, err := known(selection["pagination"], "workspaces.pagination.", "limit", "page"); err != nil {
		return err
	}
	err = json.Unmarshal(text, into)
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return errs.Invalid(errs.Field{Field: wrong.Field, Message: "its value does not fit"})
	}
	return err
}

// known reads an object, which may be absent, and refuses names other than these.
func known(text []byte, at string, names ...string) (object map[string]json.RawMessage, err error) {
	if text == nil {
		return map[string]json.RawMessage{}, nil
	}
	if json.Unmarshal(text, &object) != nil {
		return nil, errs.Invalid(errs.Field{Field: strings.TrimSuffix(at, "."), Message: "this must be an object"})
	}
	for name := range object {
		if !slices.Contains(names, name) {
			return nil, errs.Invalid(errs.Field{Field: at + shortened(name), Message: "it is not known; use one of: " + strings.Join(names, ", ")})
		}
	}
	return object, nil
}

// stream sends an archive. When that fails half-way the connection is cut, so that nobody takes it for whole.
func stream(w http.ResponseWriter, export archives.Export) error {
	out := &opened{ResponseWriter: w, name: export.Name}
	err := export.Write(out)
	if err != nil && out.begun {
		panic(http.ErrAbortHandler) //nolint:forbidigo // the one way to cut an answer off
	}
	return err
}

// opened writes the headers with the first byte, so that what fails before is answered as an error.
type opened struct {
	http.ResponseWriter

	name  string
	begun bool
}

func (o *opened) Write(b []byte) (int, error) {
	if !o.begun {
		o.begun = true
		o.Header().Set("Content-Type", mediaZip)
		o.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": o.name}))
	}
	return o.ResponseWriter.Write(b)
}

func (p *porter) registerImports(api *restapi.API) {
	op := restapi.Operation{
		ID: "importWorkspace", Method: http.MethodPost, Path: "/v2/workspaces/{workspaceId}/import", Tag: "Archives", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary:     "Import an archive into a workspace",
		Description: "Checks the whole archive and applies it in one step, or not at all. Ids, owners and secrets in it mean nothing; its roles and rules apply when the caller may manage the security.",
		Errors:      []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.Locked, errs.AlreadyExists},
		MaxBody:     p.archives.Limits.Input + uploadRoom,
		Takes:       []restapi.Media{{Type: formData, Of: ArchiveForm{}}, {Type: mediaZip}, {Type: "application/octet-stream"}},
		Gives:       []restapi.Media{{Type: mediaJSON, Of: ImportResult{}}},
		Query: []restapi.Param{
			{Name: "prune", Doc: "true deletes the automations, pages and app instances that the archive does not have."},
			{Name: "dryRun", Doc: "true changes nothing and answers what would happen."},
			{Name: "planId", Doc: "The plan that the import has to be; it is refused with 409 when something changed since."},
		},
	}
	api.Raw(op, func(w http.ResponseWriter, r *http.Request) error {
		ref := r.PathValue("workspaceId")
		return p.importing(w, r, importer{
			may: func(ctx context.Context) error { return p.archives.MayImport(ctx, ref) },
			run: func(ctx context.Context, from *archive.Archive, opts archives.Options) (archives.Result, error) {
				return p.archives.Import(ctx, ref, from, opts)
			},
		})
	})
	op.ID, op.Path, op.Summary = "importNewWorkspace", "/v2/workspaces/import", "Make workspaces from an archive"
	op.Description = "Makes a workspace of the caller, or as many as a bulk archive has: those that the caller has imported before are updated."
	api.Raw(op, func(w http.ResponseWriter, r *http.Request) error {
		return p.importing(w, r, importer{may: p.archives.MayCreate, run: p.archives.Create})
	})
}

// ArchiveForm is the form with an archive.
type ArchiveForm struct {
	Archive string `json:"archive" format:"binary" doc:"The archive; the name of the file ends in .zip."`
}

// importer is one of the ways to import: who may, and what is done.
type importer struct {
	may func(context.Context) error
	run func(context.Context, *archive.Archive, archives.Options) (archives.Result, error)
}

// importing receives an archive and imports it.
func (p *porter) importing(w http.ResponseWriter, r *http.Request, by importer) error {
	ctx := r.Context()
	opts, err := importOptions(r)
	if err != nil {
		return err
	}
	if err := by.may(ctx); err != nil {
		return err
	}
	var result archives.Result
	err = p.receive(r, func(from *archive.Archive) (err error) {
		result, err = by.run(ctx, from, opts)
		return err
	})
	if err != nil {
		return err
	}
	return p.answer(ctx, w, result, opts)
}

// receive takes the archive of a request into a file without a name, which is gone however the process ends, and lets
// use have it. What is still on its way takes no place from others.
func (p *porter) receive(r *http.Request, use func(*archive.Archive) error) error {
	file, err := os.CreateTemp("", "atelier-import-*")
	if err != nil {
		return errs.Wrap(err, "keep an uploaded archive")
	}
	defer func() { _ = file.Close() }()
	if err := os.Remove(file.Name()); err != nil { //nolint:gosec // the name is ours
		return errs.Wrap(err, "keep an uploaded archive")
	}
	size, err := p.upload(r, file)
	if err != nil {
		return err
	}
	failpoint.At("import.received")
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-r.Context().Done():
		return r.Context().Err()
	}
	from, err := p.archives.Read(file, size)
	if err != nil {
		return err
	}
	return use(from)
}

// upload writes the archive of a request to a file: the body itself, or the one file of a form.
func (p *porter) upload(r *http.Request, to io.Writer) (int64, error) {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != formData {
		return p.copied(to, r.Body)
	}
	form, err := openForm(r)
	if err != nil {
		return 0, err
	}
	alone := errs.Parameter("archive", "send the archive alone, in the field archive, as a file whose name ends in .zip")
	part, err := form.next()
	if err != nil {
		return 0, err
	}
	if part == nil || part.field != "archive" || !part.file || !namesArchive(part.name) {
		return 0, alone
	}
	size, err := p.copied(to, part.body)
	if err != nil {
		return 0, form.explain(err)
	}
	further, err := form.next()
	if err != nil {
		return 0, err
	}
	if further != nil {
		return 0, alone
	}
	return size, nil
}

// namesArchive tells whether a file is called as archives are; its name is of no use beyond that.
func namesArchive(name string) bool {
	name = strings.ToLower(name)
	return strings.HasSuffix(name, ".zip") || strings.HasSuffix(name, ".x-zip-compressed")
}

func (p *porter) copied(to io.Writer, from io.Reader) (int64, error) {
	limit := p.archives.Limits.Input
	size, err := io.Copy(to, io.LimitReader(from, limit+1))
	if err != nil {
		return 0, uploadError(err)
	}
	if size > limit {
		return 0, errs.Newf(errs.PayloadTooLarge, "The archive may have at most %d bytes.", limit).With("limit", limit)
	}
	return size, nil
}

// uploadError is what to answer when a body cannot be read, or not be kept.
func uploadError(err error) error {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return errs.New(errs.PayloadTooLarge, "The body is too large.").With("limit", tooLarge.Limit)
	}
	if _, ours := errors.AsType[*os.PathError](err); ours {
		return errs.Wrap(err, "keep an uploaded archive")
	}
	return httpx.BodyError(err)
}

func importOptions(r *http.Request) (opts archives.Options, err error) {
	for name, into := range map[string]*bool{"prune": &opts.Prune, "dryRun": &opts.DryRun} {
		switch r.URL.Query().Get(name) {
		case "true":
			*into = true
		case "", "false":
		default:
			return opts, errs.Parameter(name, "use true or false")
		}
	}
	opts.PlanID = r.URL.Query().Get("planId")
	return opts, nil
}

func (p *porter) answer(ctx context.Context, w http.ResponseWriter, result archives.Result, opts archives.Options) error {
	shown := ImportResult{
		Imported: orEmpty(result.Imported), Deleted: orEmpty(result.Deleted), Unchanged: result.Unchanged, Errors: result.Findings, DryRun: opts.DryRun,
		CreatedWorkspaceIDs: result.Created, UpdatedWorkspaceIDs: result.Updated, PublishedApps: result.Published,
	}
	if shown.Errors == nil {
		shown.Errors = []archives.Finding{}
	}
	if opts.DryRun {
		shown.PlanID, shown.Operation, shown.Created = result.PlanID, "import", orEmpty(result.Added)
		shown.Updated = slices.DeleteFunc(slices.Clone(result.Imported), func(path string) bool { return slices.Contains(result.Added, path) })
	}
	if result.WorkspaceID != "" && !opts.DryRun {
		var err error
		if shown.Workspace, err = p.imported(ctx, result.WorkspaceID); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", mediaJSON)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(shown)
}

// imported is the workspace after an import; nothing for callers that may change it and not read it.
func (p *porter) imported(ctx context.Context, id string) (json.RawMessage, error) {
	workspace, err := p.archives.Engine.Get(ctx, id)
	switch errs.CodeOf(err) {
	case "":
	case errs.PermissionDenied, errs.WorkspaceAccessDenied:
		return nil, nil
	default:
		return nil, err
	}
	detail, err := detailed(ctx, p.archives.Definitions, workspace, definitions.Current)
	if err != nil {
		return nil, err
	}
	return detail.Body, nil
}
