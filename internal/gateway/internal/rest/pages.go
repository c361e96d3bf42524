package rest

import (
	"net/http"

	"atelier/internal/access"
	"atelier/internal/gateway/internal/pages"
	"atelier/internal/restapi"
)

// registerPages serves the pages for people: sign-in, consent, their account.
func registerPages(api *restapi.API, deps Deps) {
	mount := func(id, path string, handler http.Handler) {
		api.Handle(restapi.Operation{ID: id, Method: http.MethodGet, Path: path, Tag: "Pages", Policy: access.Public}, handler)
	}
	for _, page := range pages.List() {
		var handler http.Handler = http.HandlerFunc(api.NotFound)
		if deps.Pages != nil {
			handler = deps.Pages.Handler(page)
		}
		mount(page.ID, page.Path, handler)
	}
	var static http.Handler = http.HandlerFunc(api.NotFound)
	if deps.Pages != nil {
		static = deps.Pages.Static(api.NotFound)
	}
	mount("pageFile", pages.StaticPath, static)
}
