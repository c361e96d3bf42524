package service_test

import (
	"net/http"
	"testing"

	"atelier/internal/errs"
)

// A dry run of an import is a plan: it can be applied as it is, and not when something changed since.
func TestPlanOfAnImport(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.automation(at, "changed", map[string]any{"description": "old"})
		ann.automation(at, "gone", nil)
		raw := pack("index.yml", "name: Mine\n", "automations/changed.yml", "name: changed\ndescription: new\ndo: []\n", "automations/fresh.yml", "name: fresh\ndo: []\n")
		before := h.rows()
		plan := ann.bring(at+"/import?prune=true&dryRun=true", raw).want(http.StatusOK)
		if plan.text("operation") != "import" || plan.text("planId") == "" || plan.text("created.0") != "automations/fresh" || plan.text("deleted.0") != "automations/gone" || h.rows() != before {
			t.Errorf("%s", plan.body)
		}
		id := "&planId=" + plan.text("planId")
		stale := ann.bring(at+"/import?prune=false"+id, raw).wantError(http.StatusConflict, errs.Conflict)
		if stale.text("details.reason") != "plan_stale" {
			t.Errorf("%s", stale.body)
		}
		ann.automation(at, "changed", map[string]any{"description": "meanwhile"})
		ann.bring(at+"/import?prune=true"+id, raw).wantError(http.StatusConflict, errs.Conflict)
		again := ann.bring(at+"/import?prune=true&dryRun=true", raw).want(http.StatusOK)
		ann.bring(at+"/import?prune=true&planId="+again.text("planId"), raw).want(http.StatusOK)
		ann.get(at + "/automations/fresh").want(http.StatusOK)
		ann.get(at+"/automations/gone").wantError(http.StatusNotFound, errs.NotFound)
	})
}

// A repository of type archive says what imports leave alone.
func TestImportsLeaveAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		ann.automation(at, "mine", map[string]any{"description": "old"})
		ann.patch(at, repositoriesOf("files", map[string]any{
			"name": "Archives", "type": "archive", "pull": map[string]any{"exclude": []any{map[string]any{"path": "automations/mine"}, map[string]any{"path": "automations/never"}}},
		})).want(http.StatusOK)
		raw := pack("index.yml", "name: Mine\n", "automations/never.yml", "name: never\ndo: []\n")
		done := ann.bring(at+"/import?prune=true", raw).want(http.StatusOK)
		if ann.get(at+"/automations/mine").text("description") != "old" || ann.get(at+"/automations/never").status != http.StatusNotFound {
			t.Errorf("%s", done.body)
		}
	})
}
