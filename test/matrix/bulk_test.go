package matrix_test

import "net/http"

// bulkRows are the operations on many workspaces; without a repository of the platform they are about the platform workspace.
func bulkRows() map[string]row {
	const at = "/v2/workspaces/platform/versions"
	saved := func(w *world) map[string]string {
		w.super.Post(at, map[string]any{}).Want(http.StatusCreated)
		return nil
	}
	return map[string]row{
		"POST " + at:                  {platform: true, body: map[string]any{}, status: http.StatusCreated},
		"POST " + at + "/latest/pull": {platform: true, body: map[string]any{}, prepare: saved},
	}
}
