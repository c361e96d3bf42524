package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
)

// Diff is how two states of a workspace differ.
type Diff struct {
	From      string                     `json:"from" doc:"The state that is compared."`
	To        string                     `json:"to" doc:"The state that it is compared with."`
	Documents []definitions.DocumentDiff `json:"documents" nullable:"false" doc:"The documents that differ."`
}

type diffInput struct {
	InWorkspace

	From string `query:"from" default:"lastImport" maxLength:"15" doc:"The state before: current, lastPush, lastImport, latest, or the name of a native version."`
	To   string `query:"to" default:"current" maxLength:"15" doc:"The state after; the same names."`
}

type diffOutput struct{ Body Diff }

// Status is how a workspace stands against what was last imported.
type Status struct {
	Version     *StatusVersion             `json:"version,omitempty" doc:"What it is compared with; absent when nothing was imported."`
	Dirty       bool                       `json:"dirty" doc:"Whether the content has changed since the last push."`
	Errors      []archives.Finding         `json:"errors" nullable:"false" doc:"What the last import reported."`
	Changes     []definitions.StatusChange `json:"changes" nullable:"false" doc:"The documents that have changed since."`
	Automations []StatusItem               `json:"automations" nullable:"false" doc:"The automations."`
	Imports     []StatusItem               `json:"imports" nullable:"false" doc:"The app instances."`
	Pages       []StatusItem               `json:"pages" nullable:"false" doc:"The pages."`
}

// StatusVersion is what a workspace is compared with.
type StatusVersion struct {
	Type       string    `json:"type" enum:"import" doc:"How it came about."`
	ImportedAt time.Time `json:"importedAt" doc:"When it was imported."`
}

// StatusItem names a document.
type StatusItem struct {
	Slug string `json:"slug" doc:"Its slug."`
}

type statusOutput struct{ Body Status }

// RegisterDiff adds the operations that compare states of a workspace.
func RegisterDiff(api *restapi.API, d *definitions.Definitions, a *archives.Archives) {
	const path = "/v2/workspaces/{workspaceId}/diff"
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	restapi.Register(api, restapi.Operation{
		ID: "getWorkspaceStatus", Method: http.MethodGet, Path: "/v2/workspaces/{workspaceId}/status", Tag: "History", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Tell what has changed since the last import", Errors: denied,
	}, func(ctx context.Context, in *InWorkspace) (*statusOutput, error) {
		status, err := d.Status(ctx, in.WorkspaceID)
		if err != nil {
			return nil, err
		}
		return statusView(status)
	})
	restapi.Register(api, restapi.Operation{
		ID: "diffWorkspace", Method: http.MethodGet, Path: path, Tag: "History", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Compare two states of a workspace", Description: "Document by document, as a text and by key paths.", Errors: denied,
	}, func(ctx context.Context, in *diffInput) (*diffOutput, error) {
		if in.From == definitions.InArchive || in.To == definitions.InArchive {
			return nil, errs.Parameter("from", "send the archive with POST to compare with it")
		}
		documents, err := d.Diff(ctx, in.WorkspaceID, in.From, in.To, nil)
		return &diffOutput{Body: Diff{From: in.From, To: in.To, Documents: documents}}, err
	})
	p := &porter{archives: a, slots: make(chan struct{}, importsAtOnce)}
	api.Raw(restapi.Operation{
		ID: "diffArchive", Method: http.MethodPost, Path: path, Tag: "History", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Compare a workspace with an archive", Description: "The archive is the state named archive, which is what from is unless to is. Nothing is changed.", Errors: denied,
		MaxBody: a.Limits.Input + uploadRoom, Takes: []restapi.Media{{Type: formData, Of: ArchiveForm{}}, {Type: mediaZip}, {Type: "application/octet-stream"}},
		Gives: []restapi.Media{{Type: mediaJSON, Of: Diff{}}},
		Query: []restapi.Param{{Name: "from", Doc: "The state before; archive when absent, or current when that is to."}, {Name: "to", Doc: "The state after; current when absent."}},
	}, p.diff)
}

func (p *porter) diff(w http.ResponseWriter, r *http.Request) error {
	ctx, ref := r.Context(), r.PathValue("workspaceId")
	from, to, err := sides(r.URL.Query())
	if err != nil {
		return err
	}
	if _, err := p.archives.Engine.Get(ctx, ref); err != nil {
		return err
	}
	var documents []definitions.DocumentDiff
	err = p.receive(r, func(read *archive.Archive) (err error) {
		documents, err = p.archives.Compare(ctx, ref, from, to, read)
		return err
	})
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Diff{From: from, To: to, Documents: documents})
}

// sides are the states that an archive is compared with: it is one of them.
func sides(query url.Values) (from, to string, err error) {
	from, to = query.Get("from"), query.Get("to")
	switch {
	case from == "" && to == definitions.InArchive:
		from = definitions.Current
	case from == "":
		from = definitions.InArchive
	}
	if to == "" {
		to = definitions.Current
	}
	if from != definitions.InArchive && to != definitions.InArchive {
		return "", "", errs.Parameter("from", "name the archive as one of the states: from=archive or to=archive")
	}
	return from, to, nil
}

func statusView(status definitions.Status) (*statusOutput, error) {
	out := &statusOutput{Body: Status{
		Dirty: status.Dirty, Errors: []archives.Finding{}, Changes: status.Changes,
		Automations: items(status.Metas[dsul.Automation]), Imports: items(status.Metas[dsul.Import]), Pages: items(status.Metas[dsul.Page]),
	}}
	if out.Body.Changes == nil {
		out.Body.Changes = []definitions.StatusChange{}
	}
	if status.ImportedAt.IsZero() {
		return out, nil
	}
	out.Body.Version = &StatusVersion{Type: "import", ImportedAt: status.ImportedAt}
	return out, json.Unmarshal(status.Findings, &out.Body.Errors)
}

func items(metas map[string]definitions.Meta) []StatusItem {
	list := make([]StatusItem, 0, len(metas))
	for slug := range metas {
		list = append(list, StatusItem{Slug: slug})
	}
	slices.SortFunc(list, func(a, b StatusItem) int { return strings.Compare(a.Slug, b.Slug) })
	return list
}
