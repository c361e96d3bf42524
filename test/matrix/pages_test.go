package matrix_test

import (
	"net/http"
	"strconv"

	"atelier/internal/access"
	"atelier/internal/app/apptest"
)

// shownRows are the operations on pages that are shown and shared. The page of the world is shared with nobody.
func shownRows() map[string]row {
	const pages, sharing = access.SubjectPages, "/v2/pages/{pageId}/permissions"
	create := map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"create": true}}}
	return map[string]row{
		"GET /v2/pages/{workspaceSlug}":           {action: "read", subject: pages},
		"GET /v2/pages/{workspaceSlug}/{slug...}": {action: "read", subject: pages},
		"GET " + sharing:                          {action: "manage_permissions", subject: pages},
		"POST " + sharing:                         {action: "manage_permissions", subject: pages, body: create},
		"DELETE " + sharing + "/{target}":         {action: "manage_permissions", subject: pages, prepare: (*world).pageSharedOnce},
	}
}

// pages makes the page at the root, and gives the parameters that name it.
func (w *world) pages(admin *apptest.Client) map[string]string {
	w.t.Helper()
	root := admin.Post("/v2/workspaces/"+w.w+"/pages", map[string]any{"name": "root", "slug": "index"}).Want(http.StatusCreated)
	return map[string]string{"pageId": root.Text("id"), "workspaceSlug": root.Text("workspaceSlug")}
}

// pageSharedOnce is a grant on a page that the call may take away.
func (w *world) pageSharedOnce() map[string]string {
	w.t.Helper()
	name := "reader" + strconv.Itoa(len(w.ids))
	w.user(name)
	w.signIn("admin").Post("/v2/pages/"+w.params["pageId"]+"/permissions", map[string]any{
		"target": map[string]any{"id": w.ids[name]}, "permissions": map[string]any{"policies": map[string]any{"read": true}},
	}).Want(http.StatusOK)
	return map[string]string{"target": w.ids[name]}
}
