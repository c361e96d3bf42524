package matrix_test

import (
	"net/http"

	"atelier/internal/access"
)

// automationRows are those of the runtime. Endpoints are for everybody; owners and editors try automations and functions.
func automationRows() map[string]row {
	const hook = "/v2/workspaces/{workspaceId}/webhooks/{endpoint...}"
	all := map[string]row{
		"POST /v2/workspaces/{workspaceId}/test/{automationSlug...}": {
			action: access.ActionTest, subject: access.SubjectAutomations, body: map[string]any{"payload": map[string]any{}},
			params: map[string]string{"automationSlug...": "tried"}, prepare: (*world).automation,
		},
		"POST /v2/functions/{workspaceId}": {action: access.ActionUpdate, subject: access.SubjectWorkspaces, body: functions()},
		"POST /v2/functions/{workspaceId}/run/{function}": {
			action: access.ActionTest, subject: access.SubjectAutomations, body: map[string]any{"parameters": map[string]any{}},
			params: map[string]string{"function": "none"}, status: http.StatusNotFound,
		},
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		r := row{params: map[string]string{"endpoint...": "none"}, status: http.StatusNotFound}
		if method != http.MethodGet && method != http.MethodDelete {
			r.body = map[string]any{}
		}
		all[method+" "+hook] = r
	}
	return all
}

func functions() map[string]any {
	return map[string]any{"functions": map[string]any{"one": map[string]any{"language": "nodejs", "code": "return 1"}}}
}

// automation makes one that can be tried.
func (w *world) automation() map[string]string {
	w.t.Helper()
	w.signIn("admin").Put("/v2/workspaces/"+w.w+"/automations/tried", map[string]any{"name": "tried", "do": []any{}})
	return map[string]string{"automationSlug...": "tried"}
}
