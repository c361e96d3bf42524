package rest

import (
	"embed"
	"io/fs"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/restapi"
)

//go:embed docspage
var docsPage embed.FS

// docsPolicy lets the documentation page load its own files and the document, and nothing else from anywhere. Trusted types
// make the browser refuse to turn text into markup, so that no change to the page can let the document's text run.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// registerDocs serves the OpenAPI document and a page to read it with, which needs nothing from the internet.
func registerDocs(api *restapi.API, deps Deps) {
	api.Handle(restapi.Operation{ID: "getOpenAPI", Method: http.MethodGet, Path: "/openapi.json", Tag: "Documentation", Policy: access.Public}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, err := deps.Document()
		if err != nil {
			api.Errors().Write(w, r, err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-cache")
		_, _ = w.Write(document)
	}))
	files, _ := fs.Sub(docsPage, "docspage")
	page := http.FileServerFS(files)
	api.Handle(restapi.Operation{ID: "getDocs", Method: http.MethodGet, Path: "/docs", Tag: "Documentation", Policy: access.Public}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		docsHeaders(w, r)
		http.ServeFileFS(w, r, files, "index.html")
	}))
	api.Handle(restapi.Operation{ID: "getDocsFile", Method: http.MethodGet, Path: "/docs/{file}", Tag: "Documentation", Policy: access.Public}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := fs.Stat(files, r.PathValue("file")); err != nil || r.PathValue("file") == "index.html" {
			api.NotFound(w, r)
			return
		}
		docsHeaders(w, r)
		http.StripPrefix("/docs", page).ServeHTTP(w, r)
	}))
}

// docsHeaders prepares an answer. The files are sent whole: the file server refuses conditions and ranges in plain text.
func docsHeaders(w http.ResponseWriter, r *http.Request) {
	for _, condition := range []string{"Range", "If-Range", "If-Match", "If-Unmodified-Since"} {
		r.Header.Del(condition)
	}
	w.Header().Set("Content-Security-Policy", docsPolicy)
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Frame-Options", "DENY")
	w.Header().Set("Cache-Control", "no-cache")
}
