package matrix_test

import (
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/app/apptest"
)

// aFile is the form of one file.
const aFile = "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nhello\r\n--b--\r\n"

// fileRows are the operations on files. The file of the world is private.
func fileRows() map[string]row {
	const at, files = "/v2/workspaces/{workspaceId}/files", access.SubjectFiles
	return map[string]row{
		"POST " + at:                     {action: "create", subject: files, upload: aFile, status: http.StatusCreated},
		"GET " + at:                      {action: "manage_security", subject: access.SubjectWorkspaces},
		"GET " + at + "/{fileId...}":     {action: "read", subject: files},
		"PATCH " + at + "/{fileId...}":   {action: "update", subject: files, body: map[string]any{"metadata": map[string]any{"a": 1}}},
		"PUT " + at + "/{fileId...}":     {action: "update", subject: files, upload: aFile},
		"DELETE " + at + "/{fileId...}":  {action: "delete", subject: files, prepare: (*world).anotherFile},
		"POST " + at + "/{fileId}/share": {action: "update", subject: files, body: map[string]any{"expiresIn": 5}},
		"GET /v2/files/{path...}":        {action: "read", subject: files},
	}
}

// file makes a private file and gives the parameters that name it.
func (w *world) file(owner *apptest.Client, workspace string) map[string]string {
	w.t.Helper()
	private := strings.Replace(aFile, "--b--", "--b\r\nContent-Disposition: form-data; name=\"public\"\r\n\r\nfalse\r\n--b--", 1)
	made := owner.With("Content-Type", "multipart/form-data; boundary=b").Post("/v2/workspaces/"+workspace+"/files", private).Want(http.StatusCreated)
	return map[string]string{"fileId": made.Text("0.id"), "fileId...": made.Text("0.id"), "path...": made.Text("0.path")}
}

// anotherFile is one that the call may delete.
func (w *world) anotherFile() map[string]string {
	w.t.Helper()
	return w.file(w.signIn("admin"), w.w)
}
