package rest

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/files"
)

// UploadFiles is the form of an upload.
type UploadFiles struct {
	File         string `json:"file" format:"binary" doc:"A file. The form may have several of them, in fields of any names, also as texts of the form data:{type};filename:{name};base64,{bytes}."`
	ExpiresAfter string `json:"expiresAfter,omitempty" doc:"After how many seconds the file ends; never when absent or 0."`
	Public       string `json:"public,omitempty" enum:"true,false" doc:"Whether everybody who knows its address may read the file."`
	ShareToken   string `json:"shareToken,omitempty" doc:"True for a share token, which opens the file as ?token= in its address; or a token of your own."`
	Metadata     string `json:"metadata,omitempty" doc:"What you say of the file, as a JSON object. A field metadata.{name} adds one text to it."`
}

// ReplaceFile is the form of another content.
type ReplaceFile struct {
	File string `json:"file" format:"binary" doc:"The new content."`
}

const formData = "multipart/form-data"

func registerUploads(api *restapi.API, f *files.Files) {
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	api.Raw(restapi.Operation{
		ID: "uploadFiles", Method: http.MethodPost, Path: filesPath, Tag: "Files", Policy: access.ByRules, Scope: access.FilesWrite,
		Summary: "Upload files", Status: http.StatusCreated, Errors: denied, MaxBody: largestForm(f, maxParts),
		Description: "Stores one or more files: all of them, or none. A field that is given once is about every file; one that is given " +
			"several times is about the first, the second and so on. Put the fields before the files when rules look at them.",
		Takes: []restapi.Media{{Type: formData, Of: UploadFiles{}}}, Gives: []restapi.Media{{Type: "application/json", Of: []files.File{}}},
	}, func(w http.ResponseWriter, r *http.Request) error {
		all, err := uploadFiles(r, f)
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusCreated, all)
	})
	api.Raw(restapi.Operation{
		ID: "replaceFile", Method: http.MethodPut, Path: filesPath + "/{fileId...}", Tag: "Files", Policy: access.Callers, Scope: access.FilesWrite,
		Summary: "Replace the content of a file", Errors: append(denied, errs.Conflict), MaxBody: largestForm(f, 1),
		Description: "Gives a file another content. Its name and its address stay.",
		Takes:       []restapi.Media{{Type: formData, Of: ReplaceFile{}}}, Gives: []restapi.Media{{Type: "application/json", Of: files.File{}}},
	}, func(w http.ResponseWriter, r *http.Request) error {
		replaced, err := replaceFile(r, f)
		if err != nil {
			return err
		}
		w.Header().Set("ETag", restapi.ETag(replaced.Revision))
		return writeJSON(w, http.StatusOK, f.Show(replaced.Stored, replaced.Changes))
	})
}

// largestForm is what the files of a form may have together, also as base64, with what is written around them.
func largestForm(f *files.Files, parts int64) int64 {
	const room = 16 << 10
	return parts * (f.Settings.MaxSize/3*4 + 4 + room)
}

func writeJSON(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // a client that has left is no fault of ours
	return nil
}

// uploadFiles stores the files of a form as they come, and makes them when the form has ended well.
func uploadFiles(r *http.Request, f *files.Files) ([]files.File, error) {
	ctx := r.Context()
	batch, err := f.Begin(ctx, r.PathValue("workspaceId"))
	if err != nil {
		return nil, err
	}
	form, err := openForm(r)
	if err != nil {
		return nil, err
	}
	for {
		part, err := form.next()
		if err != nil {
			return nil, err
		}
		if part == nil {
			break
		}
		if err := addPart(ctx, batch, form, part); err != nil {
			return nil, form.explain(err)
		}
	}
	if batch.Len() == 0 {
		return nil, errs.Invalid(errs.Field{Field: "file", Message: "send at least one file"})
	}
	options, err := form.all(f, batch.Len())
	if err != nil {
		return nil, err
	}
	made, err := batch.Commit(ctx, options)
	all := make([]files.File, 0, len(made))
	for _, s := range made {
		all = append(all, f.Show(s, true)) // whoever made it knows it
	}
	return all, err
}

// addPart takes a field, or stores a file.
func addPart(ctx context.Context, batch *files.Batch, form *form, part *formPart) error {
	if isOption(part.field) && !part.file {
		return form.keep(part)
	}
	incoming, err := part.incoming()
	if err != nil || incoming == nil {
		return err
	}
	if incoming.Options, err = form.soFar(batch.Len()); err != nil {
		return err
	}
	return batch.Add(ctx, *incoming)
}

func replaceFile(r *http.Request, f *files.Files) (replaced files.Seen, err error) {
	ctx := r.Context()
	replacement, err := f.BeginReplace(ctx, r.PathValue("workspaceId"), r.PathValue("fileId"))
	if err != nil {
		return replaced, err
	}
	form, err := openForm(r)
	if err != nil {
		return replaced, err
	}
	alone := errs.Invalid(errs.Field{Field: "file", Message: "send one file in this field, and nothing else"})
	part, err := form.next()
	if err != nil {
		return replaced, err
	}
	if part == nil || part.field != "file" {
		return replaced, alone
	}
	incoming, err := part.incoming()
	if err == nil && incoming == nil {
		return replaced, alone
	}
	if err == nil {
		err = replacement.Add(ctx, *incoming)
	}
	if err != nil {
		return replaced, form.explain(err)
	}
	if further, err := form.next(); err != nil || further != nil {
		return replaced, errors.Join(err, alone)
	}
	return replacement.Commit(ctx)
}
