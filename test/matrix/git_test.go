package matrix_test

import (
	"net/http"

	"atelier/internal/access"
)

// gitRows are what git clients ask for. Those who may ask are told here that they did not send what git sends.
func gitRows() map[string]row {
	const ws, at = access.SubjectWorkspaces, "/git/{workspaceId}"
	return map[string]row{
		"GET " + at + "/info/refs":         {action: "read", subject: ws, query: "?service=git-upload-pack"},
		"POST " + at + "/git-upload-pack":  {action: "read", subject: ws, status: http.StatusUnsupportedMediaType},
		"POST " + at + "/git-receive-pack": {action: "update", subject: ws, status: http.StatusUnsupportedMediaType},
	}
}
