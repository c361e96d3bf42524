package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/files"
)

// UpdateFile is the body of a change; absent fields stay as they are.
type UpdateFile struct {
	ExpiresAfter *int64          `json:"expiresAfter,omitempty" minimum:"0" doc:"After how many seconds from now the file ends; 0 for never."`
	Public       *bool           `json:"public,omitempty" doc:"Whether everybody who knows its address may read it."`
	ShareToken   json.RawMessage `json:"shareToken,omitempty" doc:"True for a new share token, false for none, or a token of your own: 20 to 200 letters, digits, - and _. It ends all links that were made before."`
	Metadata     *files.Metadata `json:"metadata,omitempty" doc:"What is said of the file; it replaces what was said before."`
}

// ShareFile is the body of a temporary link.
type ShareFile struct {
	ExpiresIn int64 `json:"expiresIn,omitempty" minimum:"1" maximum:"2592000" default:"60" doc:"After how many seconds the link ends: 60 unless you say otherwise, and 30 days at most."`
}

// OfFile names a file of a workspace; inputs embed it.
type OfFile struct {
	InWorkspace

	FileID string `path:"fileId" maxLength:"2000" doc:"The file's id, or its path."`
}

type fileOutput struct {
	ETag string `header:"ETag" doc:"The revision; send it as If-Match with a change."`
	Body files.File
}

func fileAnswer(f *files.Files, s files.Seen, err error) (*fileOutput, error) {
	if err != nil {
		return nil, err
	}
	return &fileOutput{ETag: restapi.ETag(s.Revision), Body: f.Show(s.Stored, s.Changes)}, nil
}

type listFilesInput struct {
	InWorkspace
	restapi.Page
	Sort      string `query:"sort" enum:"name,-name,mimetype,-mimetype,size,-size,createdAt,-createdAt,updatedAt,-updatedAt,expiresAt,-expiresAt" default:"-createdAt" doc:"The order; a dash reverses it."`
	ID        string `query:"id" maxLength:"100" doc:"Only the file with this id."`
	Name      string `query:"name" maxLength:"250" doc:"Only files with exactly this name."`
	Mimetype  string `query:"mimetype" maxLength:"100" doc:"Only files of this type."`
	Path      string `query:"path" maxLength:"2000" doc:"Only the file with this path."`
	CreatedBy string `query:"createdBy" maxLength:"200" doc:"Only files that this user uploaded."`
	Public    string `query:"public" enum:"true,false" doc:"Only files that are, or are not, public."`
	Size      string `query:"size" pattern:"^[0-9]{1,18}$" patternDescription:"a number of bytes" doc:"Only files of exactly this size."`
	Metadata  string `query:"metadata" maxLength:"2000" doc:"Only files whose metadata have these values, as a JSON object of texts, whole numbers and truths, such as {\"kind\":\"avatar\"}."`
}

type filesOutput struct {
	restapi.Listed
	Body []files.File
}

type updateFileInput struct {
	OfFile

	IfMatch string `header:"If-Match" maxLength:"200" doc:"The ETag you have seen; another revision is refused with 412."`
	Body    UpdateFile
}

type shareFileInput struct {
	OfFile

	Body *ShareFile
}

type linkOutput struct{ Body files.Link }

const filesPath = "/v2/workspaces/{workspaceId}/files"

// RegisterFiles adds the operations on files.
func RegisterFiles(api *restapi.API, f *files.Files, cursors *restapi.Cursors) {
	registerUploads(api, f)
	registerDownload(api, f)
	operation := func(id, method, path, summary string, scope access.Scope) restapi.Operation {
		return restapi.Operation{
			ID: id, Method: method, Path: filesPath + path, Tag: "Files", Summary: summary, Policy: access.Callers, Scope: scope,
			Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
		}
	}
	list := operation("listFiles", http.MethodGet, "", "List files", access.FilesRead)
	list.Description = "The files of a workspace. It needs manage_security on the workspace: whoever may read files need not know which there are."
	restapi.Register(api, list, func(ctx context.Context, in *listFilesInput) (*filesOutput, error) {
		return listFiles(ctx, f, cursors, in)
	})
	get := operation("getFile", http.MethodGet, "/{fileId...}", "Read what is known of a file", access.FilesRead)
	get.Policy = access.ByRules
	restapi.Register(api, get, func(ctx context.Context, in *OfFile) (*fileOutput, error) {
		s, err := f.Get(ctx, in.WorkspaceID, in.FileID)
		return fileAnswer(f, s, err)
	})
	restapi.Register(api, operation("updateFile", http.MethodPatch, "/{fileId...}", "Change what is known of a file", access.FilesWrite),
		func(ctx context.Context, in *updateFileInput) (*fileOutput, error) { return updateFile(ctx, f, in) })
	restapi.Register(api, operation("deleteFile", http.MethodDelete, "/{fileId...}", "Delete a file", access.FilesWrite),
		func(ctx context.Context, in *OfFile) (*deletedOutput, error) {
			out := &deletedOutput{}
			var err error
			out.Body.ID, err = f.Delete(ctx, in.WorkspaceID, in.FileID)
			return out, err
		})
	share := operation("shareFile", http.MethodPost, "/{fileId}/share", "Make a temporary link to a file", access.FilesWrite)
	share.Description = "Everybody who has the link may read the file until it ends. It needs the rights to read and to update the file."
	share.Once = true
	restapi.Register(api, share, func(ctx context.Context, in *shareFileInput) (*linkOutput, error) {
		lasts := time.Minute
		if in.Body != nil && in.Body.ExpiresIn > 0 {
			lasts = time.Duration(in.Body.ExpiresIn) * time.Second
		}
		link, err := f.Share(ctx, in.WorkspaceID, in.FileID, lasts)
		return &linkOutput{Body: link}, err
	})
}

func updateFile(ctx context.Context, f *files.Files, in *updateFileInput) (*fileOutput, error) {
	changes := files.Options{Public: in.Body.Public, ExpiresAfter: in.Body.ExpiresAfter, Metadata: in.Body.Metadata}
	if in.Body.ShareToken != nil {
		var asked any
		_ = json.Unmarshal(in.Body.ShareToken, &asked) // it is JSON: the whole body was read
		token, err := shareToken(f, asked)
		if err != nil {
			return nil, err
		}
		changes.ShareToken = &token
	}
	if changes.Metadata != nil {
		if err := changes.Metadata.Check(); err != nil {
			return nil, err
		}
	}
	s, err := f.Update(ctx, in.WorkspaceID, in.FileID, in.IfMatch, changes)
	return fileAnswer(f, s, err)
}

// shareToken reads what a caller asks for: a token, or that there is to be one, or none.
func shareToken(f *files.Files, asked any) (string, error) {
	switch asked := asked.(type) {
	case nil:
		return "", nil
	case bool:
		if asked {
			return f.IDs.Secret(), nil
		}
		return "", nil
	case string:
		if asked == "" || files.ValidToken(asked) {
			return asked, nil
		}
	}
	return "", errs.Invalid(errs.Field{Field: "shareToken", Message: "use true, false, or 20 to 200 letters, digits, - and _"})
}

func listFiles(ctx context.Context, f *files.Files, cursors *restapi.Cursors, in *listFilesInput) (*filesOutput, error) {
	query := url.Values{"limit": {strconv.Itoa(in.Limit)}, "sort": {in.Sort}}
	for name, value := range map[string]string{
		"id": in.ID, "name": in.Name, "mimetype": in.Mimetype, "path": in.Path, "createdBy": in.CreatedBy, "public": in.Public, "size": in.Size, "metadata": in.Metadata,
	} {
		if value != "" {
			query.Set(name, value)
		}
	}
	place := restapi.Place{Path: "/v2/workspaces/" + url.PathEscape(in.WorkspaceID) + "/files", Query: query}
	q, err := in.query()
	if err != nil {
		return nil, err
	}
	if q.Offset, err = in.From(ctx, cursors, place.Path+"?"+query.Encode()); err != nil {
		return nil, err
	}
	items, total, err := f.List(ctx, in.WorkspaceID, q)
	if err != nil {
		return nil, err
	}
	out := &filesOutput{Body: make([]files.File, 0, len(items))}
	for _, s := range items {
		out.Body = append(out.Body, f.Show(s.Stored, s.Changes))
	}
	place.Next, place.Total = q.Offset+len(items), total
	if len(items) == 0 {
		place.Next = total
	}
	out.Listed, err = restapi.NewListed(ctx, cursors, place)
	return out, err
}

// query reads the filters.
func (in *listFilesInput) query() (files.Query, error) {
	q := files.Query{
		ID: in.ID, Name: in.Name, Mimetype: in.Mimetype, Path: in.Path, CreatedBy: in.CreatedBy,
		Sort: strings.TrimPrefix(in.Sort, "-"), Descending: strings.HasPrefix(in.Sort, "-"), Limit: in.Limit,
	}
	if in.Public != "" {
		public := in.Public == "true"
		q.Public = &public
	}
	if in.Size != "" {
		size, _ := strconv.ParseInt(in.Size, 10, 64) // digits that always fit
		q.Size = &size
	}
	var err error
	if in.Metadata != "" {
		q.Metadata, err = files.MetadataFilter(in.Metadata)
	}
	return q, err
}
