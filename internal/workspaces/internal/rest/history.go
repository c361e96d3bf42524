package rest

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/store"
)

// HistoryEntry is an edit of a workspace's documents.
type HistoryEntry struct {
	Revision       int64           `json:"revision" doc:"The revision of the workspace that it made; undo it by this."`
	Reason         string          `json:"reason" enum:"edit,import,undo,rollback,pull" doc:"How it came about."`
	Note           string          `json:"note,omitempty" doc:"More about it: the version of a rollback, the revision that was undone."`
	CreatedAt      time.Time       `json:"createdAt" doc:"When it was made."`
	CreatedBy      string          `json:"createdBy,omitempty" doc:"By whom."`
	Documents      []HistoryChange `json:"documents" nullable:"false" maxItems:"100" doc:"What it changed: the first hundred documents, in the order of their paths."`
	DocumentsCount int             `json:"documentsCount" doc:"How many documents it changed."`
}

// HistoryChange is what an edit did to a document.
type HistoryChange struct {
	Path   string `json:"path" doc:"The document, such as automations/hello."`
	Action string `json:"action" enum:"created,updated,deleted" doc:"What happened to it."`
	Before string `json:"before,omitempty" doc:"The checksum it had."`
	After  string `json:"after,omitempty" doc:"The checksum it has."`
}

func historyView(v store.Revision) HistoryEntry {
	entry := HistoryEntry{
		Revision: v.Revision, Reason: v.Reason, Note: v.Note, CreatedAt: v.CreatedAt, CreatedBy: v.CreatedBy, DocumentsCount: v.Total,
		Documents: make([]HistoryChange, 0, len(v.Changes)),
	}
	for _, c := range v.Changes {
		action := "updated"
		switch {
		case c.BeforeHash == "":
			action = "created"
		case c.AfterHash == "":
			action = "deleted"
		}
		entry.Documents = append(entry.Documents, HistoryChange{Path: c.Path, Action: action, Before: c.BeforeHash, After: c.AfterHash})
	}
	return entry
}

type historyInput struct {
	InWorkspace

	Path   string `query:"path" maxLength:"120" doc:"Only edits of this document, such as automations/hello or index."`
	Before int64  `query:"before" minimum:"0" doc:"Only edits before this revision: the last one of the previous answer."`
	Limit  int    `query:"limit" minimum:"1" maximum:"200" default:"20" doc:"How many at most."`
}

type historyOutput struct{ Body []HistoryEntry }

// OfRevision names an edit; inputs embed it.
type OfRevision struct {
	InWorkspace

	Revision int64 `path:"revision" minimum:"1" doc:"The revision that the edit made."`
}

type textAtInput struct {
	OfRevision

	Path string `query:"path" required:"true" maxLength:"120" doc:"The document."`
}

// UndoResult is what an undo did.
type UndoResult struct {
	Revision int64    `json:"revision" doc:"The revision of the workspace after it."`
	Imported []string `json:"imported" nullable:"false" doc:"The documents that are again what they were."`
	Deleted  []string `json:"deleted" nullable:"false" doc:"The documents that are gone again."`
}

type undoOutput struct{ Body UndoResult }

// RegisterHistory adds the operations on the history of documents.
func RegisterHistory(api *restapi.API, d *definitions.Definitions) {
	const path = "/v2/workspaces/{workspaceId}/history"
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	restapi.Register(api, restapi.Operation{
		ID: "listHistory", Method: http.MethodGet, Path: path, Tag: "History", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List the edits of a workspace", Description: "Who changed what, the newest first; of one document with path.", Errors: denied,
	}, func(ctx context.Context, in *historyInput) (*historyOutput, error) {
		if _, _, ok := dsul.SplitPath(in.Path); in.Path != "" && !ok {
			return nil, errs.Parameter("path", "use index, security, or a folder and a slug such as automations/hello")
		}
		edits, err := d.History(ctx, in.WorkspaceID, in.Path, in.Before, in.Limit)
		out := &historyOutput{Body: make([]HistoryEntry, 0, len(edits))}
		for _, edit := range edits {
			out.Body = append(out.Body, historyView(edit))
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "getTextAtRevision", Method: http.MethodGet, Path: path + "/{revision}/text", Tag: "History", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Read the text that a document had", Errors: denied, Gives: []restapi.Media{{Type: mediaYAML, Of: ""}},
	}, func(ctx context.Context, in *textAtInput) (*documentOutput, error) {
		if _, _, ok := dsul.SplitPath(in.Path); !ok {
			return nil, errs.Parameter("path", "use index, security, or a folder and a slug such as automations/hello")
		}
		text, err := d.TextAt(ctx, in.WorkspaceID, in.Path, in.Revision)
		return &documentOutput{Status: http.StatusOK, ETag: `"` + strconv.FormatInt(in.Revision, 10) + `"`, ContentType: mediaYAML + "; charset=utf-8", Body: text}, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "undoEdit", Method: http.MethodPost, Path: path + "/{revision}/undo", Tag: "History", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Undo an edit", Description: "Every document that the edit changed is again what it was before. A document that was changed since is a conflict, and nothing is done.",
		Errors: append(denied, errs.Locked, errs.AlreadyExists),
	}, func(ctx context.Context, in *OfRevision) (*undoOutput, error) {
		after, written, deleted, err := d.Undo(ctx, in.WorkspaceID, in.Revision)
		return &undoOutput{Body: UndoResult{Revision: after.Revision, Imported: orEmpty(written), Deleted: orEmpty(deleted)}}, err
	})
}

func orEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}
