package matrix_test

import (
	"archive/zip"
	"bytes"
	"io"

	"atelier/internal/access"
)

// archiveRows are the operations on archives, and those that compare with one.
func archiveRows() map[string]row {
	const ws, at = access.SubjectWorkspaces, "/v2/workspaces/{workspaceId}"
	current := map[string]string{"version": "current"}
	return map[string]row{
		"GET " + at + "/export":                     {action: "read", subject: ws},
		"POST " + at + "/versions/{version}/export": {action: "read", subject: ws, params: current},
		"POST /v2/workspaces/export":                {only: "anon other exmember reader editor admin at-reader keyW-read keyW-files keyW2 super"},
		"POST " + at + "/import":                    {action: "update", subject: ws, upload: anArchive()},
		"POST /v2/workspaces/import":                {only: signedIn + " at-reader", upload: anArchive()},
		"GET " + at + "/status":                     {action: "read", subject: ws},
		"GET " + at + "/diff":                       {action: "read", subject: ws, query: "?from=current"},
		"POST " + at + "/diff":                      {action: "read", subject: ws, upload: anArchive()},
	}
}

// anArchive is a form with the archive of a workspace.
func anArchive() string {
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	for name, text := range map[string]string{"index.yml": "name: ours\ndescription: ours\nphoto: https://example.test/ours.png\n", "automations/archived.yml": "name: archived\ndo: []\n"} {
		if file, err := w.Create(name); err == nil {
			_, _ = io.WriteString(file, text) // a buffer takes everything
		}
	}
	_ = w.Close()
	return "--b\r\nContent-Disposition: form-data; name=\"archive\"; filename=\"a.zip\"\r\n\r\n" + packed.String() + "\r\n--b--\r\n"
}
