package matrix_test

import (
	"net/http"

	"atelier/internal/access"
)

// versioningRows are the operations on repositories. Those who may are told that there is no such repository, conflict or
// operation.
func versioningRows() map[string]row {
	const ws, at = access.SubjectWorkspaces, "/v2/workspaces/{workspaceId}"
	none := map[string]any{"repository": map[string]any{"id": "none"}}
	return map[string]row{
		"POST " + at + "/push":                              {action: "update", subject: ws, body: none, status: http.StatusNotFound},
		"POST " + at + "/pull":                              {action: "update", subject: ws, body: none, status: http.StatusNotFound},
		"GET " + at + "/conflicts":                          {action: "read", subject: ws, status: http.StatusNotFound},
		"POST " + at + "/conflicts/resolve":                 {action: "update", subject: ws, body: map[string]any{"all": "ours"}, status: http.StatusNotFound},
		"GET " + at + "/drift":                              {action: "read", subject: ws, query: "?repository=none", status: http.StatusNotFound},
		"GET " + at + "/operations":                         {action: "read", subject: ws},
		"GET " + at + "/operations/{operationId}":           {action: "read", subject: ws, params: map[string]string{"operationId": "none"}, status: http.StatusNotFound},
		"POST " + at + "/undo":                              {action: "update", subject: ws, prepare: undoable},
		"POST " + at + "/repositories/{repositoryId}/check": {action: "update", subject: ws, params: map[string]string{"repositoryId": "none"}, status: http.StatusNotFound},
	}
}

// undoable makes a rollback that can be undone.
func undoable(w *world) map[string]string {
	admin, at := w.signIn("admin"), "/v2/workspaces/"+w.w
	admin.Delete(at + "/automations/rolled")
	name := admin.Post(at+"/versions", map[string]any{}).Want(http.StatusCreated).Text("name")
	admin.Put(at+"/automations/rolled", anAutomation()).Want(http.StatusCreated)
	admin.Post(at+"/versions/"+name+"/pull", map[string]any{}).Want(http.StatusOK)
	return nil
}
