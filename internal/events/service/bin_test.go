package service_test

import (
	"context"
	"net/http"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// The access that is kept of a workspace in the bin is not access to a workspace: neither under its id nor under the name it
// is kept by, and not for super admins.
func TestTheBinIsNoWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.tx(func(ctx context.Context, tx *sqldb.Tx) error { return access.Park(ctx, tx, home) })
		for _, id := range []string{home, "bin:" + home} {
			at := "/v2/workspaces/" + id + "/events"
			h.ann.get(at).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			h.ann.do(http.MethodPost, at, `{"events":[`+paid+`]}`).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			unknown := h.root.get("/v2/workspaces/NoSuch0/events")
			if got := h.root.get(at); got.status != unknown.status || got.text("error") != unknown.text("error") {
				t.Errorf("%s to a super admin: %d, want %d", id, got.status, unknown.status)
			}
		}
	})
}
