package matrix_test

import (
	"net/http"
	"strconv"

	"atelier/internal/access"
	"atelier/internal/app/apptest"
)

// appRows are the operations on apps and app instances. The workspace publishes the app ours, which everybody may read, and
// has an instance of another one.
func appRows() map[string]row {
	const ws, apps, at = access.SubjectWorkspaces, access.SubjectApps, "/v2/workspaces/{workspaceId}/apps"
	instance := map[string]any{"appSlug": "kit"}
	n := 0
	installed := func(w *world) map[string]string {
		n++
		slug := "gone-" + strconv.Itoa(n)
		w.signIn("admin").Put("/v2/workspaces/"+w.w+"/apps/"+slug, instance).Want(http.StatusCreated)
		return map[string]string{"slug...": slug}
	}
	return map[string]row{
		"GET /v2/apps":                   {},
		"POST /v2/apps":                  {action: "update", subject: apps, body: map[string]any{"workspaceId": "slug:ours"}},
		"GET /v2/apps/{slug}":            {},
		"GET /v2/apps/{slug}/versions":   {},
		"GET /v2/apps/{slug}/dependants": {},
		"DELETE /v2/apps/{slug}":         {action: "delete", subject: apps, prepare: (*world).anotherApp},
		"GET " + at:                      {action: "read", subject: ws},
		"POST " + at:                     {action: "update", subject: ws, body: instance, status: http.StatusCreated},
		"GET " + at + "/{slug...}":       {action: "read", subject: ws},
		"PUT " + at + "/{slug...}":       {action: "update", subject: ws, body: instance},
		"PATCH " + at + "/{slug...}":     {action: "update", subject: ws, body: map[string]any{"disabled": true}},
		"DELETE " + at + "/{slug...}":    {action: "update", subject: ws, prepare: installed},
		"GET " + at + "/{slug}/config":   {action: "read", subject: ws},
		"PATCH " + at + "/{slug}/config": {action: "update", subject: ws, body: map[string]any{"a": 1}},
	}
}

// apps publishes the workspace, and installs another app in it.
func (w *world) apps(admin *apptest.Client) map[string]string {
	w.t.Helper()
	w.publish(admin, "kit")
	admin.Patch("/v2/workspaces/"+w.w, map[string]any{"description": "x", "photo": "https://example.test/x.png"}).Want(http.StatusOK)
	admin.Put("/v2/workspaces/"+w.w+"/apps/ours", map[string]any{"appSlug": "kit"}).Want(http.StatusCreated)
	admin.Post("/v2/apps", map[string]any{"workspaceId": w.w, "slug": "ours"}).Want(http.StatusCreated)
	return map[string]string{"slug": "ours"}
}

// publish makes an app of a new workspace.
func (w *world) publish(admin *apptest.Client, slug string) {
	w.t.Helper()
	made := admin.Post("/v2/workspaces", map[string]any{"name": slug, "description": "x", "photo": "https://example.test/x.png"}).Want(http.StatusCreated)
	admin.Post("/v2/apps", map[string]any{"workspaceId": made.Text("id"), "slug": slug}).Want(http.StatusCreated)
}

// anotherApp is one that the call may delete.
func (w *world) anotherApp() map[string]string {
	w.t.Helper()
	slug := "short-lived-" + strconv.Itoa(len(w.ids))
	w.ids[slug] = ""
	w.publish(w.signIn("admin"), slug)
	return map[string]string{"slug": slug}
}
