package rest

import (
	"context"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/files"
)

func registerDownload(api *restapi.API, f *files.Files) {
	api.Raw(restapi.Operation{
		ID: "downloadFile", Method: http.MethodGet, Path: "/v2/files/{path...}", Tag: "Files", Policy: access.ByRules, Scope: access.FilesRead,
		Summary: "Download a file", Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
		Description: "The bytes of a file that is public, that you may read, or whose token you have. Ranges and conditional requests work. " +
			"Browsers show plain images, sounds, films and texts; everything else is saved.",
		Query: []restapi.Param{{Name: "token", Doc: "The share token of the file, or that of a temporary link."}},
		Gives: []restapi.Media{{Type: "*/*"}},
	}, func(w http.ResponseWriter, r *http.Request) error { return sendFile(w, r, f, api.Errors().Failed) })
}

// sendFile sends the bytes. When they cannot be read to their end after all, that is told, and the connection is cut.
func sendFile(w http.ResponseWriter, r *http.Request, f *files.Files, failed func(ctx context.Context, doing string, err error)) error {
	d, err := f.Open(r.Context(), r.PathValue("path"), r.URL.Query().Get("token"))
	if err != nil {
		return err
	}
	content := d.Content(r.Context())
	defer func() { _ = content.Close() }()
	describe(w.Header(), d)
	guarded := &refusing{ResponseWriter: w}
	http.ServeContent(guarded, oneRange(r, d.Size), "", d.UpdatedAt, content)
	if err := content.Failed(); err != nil {
		if r.Context().Err() == nil {
			failed(r.Context(), "send a file", err)
		}
		panic(http.ErrAbortHandler) //nolint:forbidigo // an answer that is cut off must not look whole
	}
	return guarded.refusal(d)
}

// oneRange is the request as the standard library answers it well. Of several ranges each would be a read of its own, so
// whoever asks for them gets everything; and the last zero bytes, which it would send, are none.
func oneRange(r *http.Request, size int64) *http.Request {
	asked := r.Header.Get("Range")
	last, suffix := strings.CutPrefix(asked, "bytes=-")
	several, nothing := strings.Contains(asked, ","), suffix && strings.Trim(last, "0 ") == ""
	if !several && !nothing {
		return r
	}
	r = r.Clone(r.Context())
	if several {
		r.Header.Del("Range")
	} else {
		r.Header.Set("Range", "bytes="+strconv.FormatInt(size, 10)+"-")
	}
	return r
}

// describe sets the headers of a file. Whatever its bytes are, no browser runs them in our name.
func describe(h http.Header, d *files.Download) {
	kind, disposition := d.Mimetype, "attachment"
	if files.Inert(d.Mimetype) {
		disposition = "inline"
	}
	if d.Mimetype == "text/plain" {
		kind += "; charset=utf-8"
	}
	h.Set("Content-Type", kind)
	h.Set("Content-Disposition", named(disposition, d.Name))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer") // the address may hold a token
	h.Set("ETag", tag(d))
	switch {
	case d.Public:
		h.Set("Cache-Control", "public, no-cache") // it can become private, or end
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	case d.Linked:
		h.Set("Cache-Control", "private, no-store")
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	default:
		h.Set("Cache-Control", "private, no-store")
		h.Set("Cross-Origin-Resource-Policy", "same-site")
	}
}

// named is the disposition with the name of the file, in the encoding of RFC 6266: no name ends the header or adds to it.
func named(disposition, name string) string {
	if value := mime.FormatMediaType(disposition, map[string]string{"filename": name}); value != "" {
		return value
	}
	return disposition
}

// tag names the bytes. Of types that are sent compressed it is a weak one: their bytes are not always the same.
func tag(d *files.Download) string {
	const length = 32
	_, digits, _ := strings.Cut(d.Hash, ":")
	value := `"` + digits[:min(length, len(digits))] + `"`
	main, sub, _ := strings.Cut(d.Mimetype, "/")
	switch {
	case strings.HasSuffix(sub, "xml"):
		return "W/" + value
	case main == "image", main == "audio", main == "video", main == "font", sub == "octet-stream", sub == "pdf", sub == "zip", sub == "gzip":
		return value
	default:
		return "W/" + value
	}
}

// refusing holds the answers of the standard library back that are errors: ours are JSON.
type refusing struct {
	http.ResponseWriter

	status int
}

// WriteHeader implements http.ResponseWriter.
func (w *refusing) WriteHeader(status int) {
	if status >= http.StatusBadRequest {
		w.status = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *refusing) Write(b []byte) (int, error) {
	if w.status != 0 {
		return len(b), nil
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *refusing) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// refusal is the error that was held back; nil when there is none.
func (w *refusing) refusal(d *files.Download) error {
	if w.status == 0 {
		return nil
	}
	for _, name := range []string{"Content-Disposition", "Last-Modified", "Etag", "Accept-Ranges"} {
		w.Header().Del(name)
	}
	w.Header().Set("Cache-Control", "no-store")
	switch w.status {
	case http.StatusPreconditionFailed:
		return errs.New(errs.Conflict, "The file is not the one that you have seen.").WithStatus(w.status)
	case http.StatusRequestedRangeNotSatisfiable:
		return errs.Newf(errs.InvalidRequest, "There is no such range: the file has %d bytes.", d.Size).With("size", d.Size).WithStatus(w.status)
	default:
		return errs.New(errs.Internal, "The file cannot be sent. Quote the correlation id when you report it.").WithStatus(w.status)
	}
}
