package matrix_test

import (
	"net/http"
	"strconv"

	"atelier/internal/access"
)

// anAutomation and aPage are the least that one needs.
func anAutomation() map[string]any { return map[string]any{"name": "ours", "do": []any{}} }

func aPage() map[string]any { return map[string]any{"name": "ours"} }

// definitionRows are the operations on the documents of a workspace.
func definitionRows() map[string]row {
	const ws, pages, at = access.SubjectWorkspaces, access.SubjectPages, "/v2/workspaces/{workspaceId}"
	made := func(path string, body map[string]any) func(*world) map[string]string {
		return func(w *world) map[string]string {
			w.signIn("admin").Put("/v2/workspaces/"+w.w+path, body)
			return nil
		}
	}
	edit := func(w *world) map[string]string { // an edit that can be undone
		admin := w.signIn("admin")
		admin.Delete("/v2/workspaces/" + w.w + "/automations/undone")
		admin.Put("/v2/workspaces/"+w.w+"/automations/undone", anAutomation()).Want(http.StatusCreated)
		history := admin.Get("/v2/workspaces/" + w.w + "/history?path=automations/undone&limit=1").Want(http.StatusOK)
		return map[string]string{"revision": history.Text("0.revision")}
	}
	version := func(w *world) map[string]string {
		saved := w.signIn("admin").Post("/v2/workspaces/"+w.w+"/versions", map[string]any{}).Want(http.StatusCreated)
		return map[string]string{"version": saved.Text("name")}
	}
	unlocked := func(w *world) map[string]string {
		w.signIn("admin").Delete("/v2/workspaces/" + w.w + "/writeLock").Want(http.StatusOK)
		return nil
	}
	n := 0
	next := func(w *world) map[string]string {
		n++
		w.signIn("admin").Put("/v2/workspaces/"+w.w+"/automations/gone-"+strconv.Itoa(n), anAutomation()).Want(http.StatusCreated)
		w.signIn("admin").Put("/v2/workspaces/"+w.w+"/pages/gone-"+strconv.Itoa(n), aPage()).Want(http.StatusCreated)
		return map[string]string{"slug...": "gone-" + strconv.Itoa(n)}
	}
	block := map[string]any{"name": "ours", "blocks": []any{}}
	eventType := map[string]any{"schema": map[string]any{"a": map[string]any{"type": "string"}}}
	return map[string]row{
		"GET " + at + "/automations":              {action: "read", subject: ws},
		"POST " + at + "/automations":             {action: "update", subject: ws, body: anAutomation(), status: http.StatusCreated},
		"GET " + at + "/automations/{slug...}":    {action: "read", subject: ws},
		"PUT " + at + "/automations/{slug...}":    {action: "update", subject: ws, body: anAutomation()},
		"PATCH " + at + "/automations/{slug...}":  {action: "update", subject: ws, body: map[string]any{"description": "x"}},
		"DELETE " + at + "/automations/{slug...}": {action: "update", subject: ws, prepare: next},
		"GET " + at + "/pages":                    {action: "read", subject: pages},
		"POST " + at + "/pages":                   {action: "update", subject: ws, body: aPage(), status: http.StatusCreated},
		"GET " + at + "/pages/{slug...}":          {action: "read", subject: pages},
		"PUT " + at + "/pages/{slug...}":          {action: "update", subject: pages, body: aPage()},
		"PATCH " + at + "/pages/{slug...}":        {action: "update", subject: pages, body: map[string]any{"description": "x"}},
		"DELETE " + at + "/pages/{slug...}":       {action: "update", subject: ws, prepare: next},
		"GET " + at + "/config":                   {action: "read", subject: ws},
		"PATCH " + at + "/config":                 {action: "update", subject: ws, body: map[string]any{"value": map[string]any{"a": 1}}},
		"GET " + at + "/blocks":                   {action: "read", subject: ws},
		"GET " + at + "/blocks/{name}":            {action: "read", subject: ws, prepare: made("/blocks/ours", block)},
		"PUT " + at + "/blocks/{name}":            {action: "update", subject: ws, body: block},
		"DELETE " + at + "/blocks/{name}":         {action: "update", subject: ws, prepare: made("/blocks/ours", block)},
		"GET " + at + "/eventTypes":               {action: "read", subject: ws},
		"GET " + at + "/eventTypes/{name}":        {action: "read", subject: ws, prepare: made("/eventTypes/ours", eventType)},
		"PUT " + at + "/eventTypes/{name}":        {action: "update", subject: ws, body: eventType},
		"DELETE " + at + "/eventTypes/{name}":     {action: "update", subject: ws, prepare: made("/eventTypes/ours", eventType)},
		"GET " + at + "/history":                  {action: "read", subject: ws},
		"GET " + at + "/history/{revision}/text":  {action: "read", subject: ws, query: "?path=automations/undone", prepare: edit},
		"POST " + at + "/history/{revision}/undo": {action: "update", subject: ws, prepare: edit},
		"GET " + at + "/repositories":             {action: "read", subject: ws},
		"GET " + at + "/versions":                 {action: "read", subject: ws},
		"POST " + at + "/versions":                {action: "update", subject: ws, body: map[string]any{}, status: http.StatusCreated},
		"DELETE " + at + "/versions/{version}":    {action: "update", subject: ws, prepare: version},
		"POST " + at + "/versions/{version}/pull": {action: "update", subject: ws, prepare: version},
		"POST " + at + "/writeLock":               {action: "manage_security", subject: ws, prepare: unlocked},
		"DELETE " + at + "/writeLock":             {action: "manage_security", subject: ws},
		"POST " + at + "/lint":                    {action: "read", subject: ws},
		"POST " + at + "/versions/{version}/duplicate": {
			action: "read", subject: ws, status: http.StatusCreated, prepare: version,
		},
		"GET /v2/workspaces/labels":    {only: "anon other exmember reader editor admin at-reader keyW-read keyW-files keyW2 super"},
		"GET /v2/workspaces/bin":       {only: "anon other exmember reader editor admin at-reader keyW-read keyW-files keyW2 super"},
		"POST " + at + "/restore":      {action: "delete", subject: ws, prepare: binned},
		"DELETE " + at + "/bin":        {action: "delete", subject: ws, prepare: binned},
		"PUT " + at + "/suspension":    {},
		"DELETE " + at + "/suspension": {},
	}
}

// binned makes a deleted workspace of the admin.
func binned(w *world) map[string]string {
	admin := w.signIn("admin")
	id := admin.Post("/v2/workspaces", map[string]any{"name": "binned"}).Want(http.StatusCreated).Text("id")
	admin.Delete("/v2/workspaces/" + id).Want(http.StatusOK)
	return map[string]string{"workspaceId": id}
}
