package service_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
)

// Whoever only asks what saving or going back would do changes nothing, and gets what was shown or nothing.
func TestPlansOfNativeVersions(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		at := ann.workspace("Mine")
		versions := at + "/versions"
		plan := ann.post(versions, map[string]any{"name": "v1", "dryRun": true}).want(http.StatusOK)
		if plan.text("operation") != "push" || plan.text("planId") == "" || plan.at("dryRun") != true || plan.text("version") != "v1" {
			t.Errorf("%s", plan.body)
		}
		if listed := ann.get(versions); listed.at("0") != nil {
			t.Fatalf("the dry run saved a version: %s", listed.body)
		}
		ann.post(versions, map[string]any{"name": "v2", "planId": plan.text("planId")}).wantError(http.StatusConflict, errs.Conflict)
		ann.post(versions, map[string]any{"name": "v1", "planId": plan.text("planId")}).want(http.StatusCreated)

		ann.automation(at, "later", nil)
		ann.patch(at, map[string]any{"description": "later"}).want(http.StatusOK)
		plan = ann.post(versions+"/v1/pull", map[string]any{"dryRun": true}).want(http.StatusOK)
		if plan.text("operation") != "pull" || plan.text("updated.0") != "index" || plan.text("deleted.0") != "automations/later" || plan.at("created.0") != nil {
			t.Errorf("%s", plan.body)
		}
		if ann.get(at).text("description") != "later" {
			t.Fatal("the dry run went back")
		}
		ann.patch(at, map[string]any{"description": "later still"}).want(http.StatusOK)
		stale := ann.post(versions+"/v1/pull", map[string]any{"planId": plan.text("planId")}).wantError(http.StatusConflict, errs.Conflict)
		if stale.text("details.reason") != "plan_stale" || ann.get(at).text("description") != "later still" {
			t.Errorf("%s", stale.body)
		}
		plan = ann.post(versions+"/latest/pull", map[string]any{"dryRun": true}).want(http.StatusOK)
		ann.post(versions+"/latest/pull", map[string]any{"planId": plan.text("planId")}).want(http.StatusOK)
		if ann.get(at).text("description") != "" {
			t.Error("it did not go back")
		}
	})
}

// The repositories of a workspace never leave, so a pull neither complains that they did not come, nor writes the index anew.
func TestPullLeavesAnUnchangedIndexAlone(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		at := s.linked(ann, "Mine")
		ann.push(at).want(http.StatusOK)
		ann.patch(at, map[string]any{"description": "stands behind the repositories"}).want(http.StatusOK)
		if plan := ann.pull(at, "dryRun", true).want(http.StatusOK); plan.at("updated.0") != nil {
			t.Errorf("%s", plan.body)
		}
		s.clk.Advance(time.Second) // operations are listed by when they began
		pulled := ann.pull(at).want(http.StatusOK)
		if pulled.at("imported.0") != nil || pulled.at("errors.0") != nil {
			t.Errorf("%s", pulled.body)
		}
		operation := ann.get(at + "/operations").want(http.StatusOK)
		if operation.at("0.result.imported") == nil || operation.at("0.result.errors") == nil || operation.text("0.result.version") != pulled.text("version") ||
			strings.Contains(operation.body.String(), "Findings") {
			t.Errorf("%s", operation.body)
		}
	})
}

// A value that was forgotten is none: nothing is deleted by it.
func TestConflictIsNotSettledWithoutAValue(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann, here, _ := s.quarrel()
		ann.pull(here).wantError(http.StatusConflict, errs.Conflict)
		one := map[string]any{"document": "automations/hello", "path": []string{"description"}, "take": "value"}
		body := map[string]any{"resolutions": []any{one}, "all": "ours"}
		refused := ann.post(here+"/conflicts/resolve", body).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		if refused.text("details.errors.0.field") != "resolutions[0].value" {
			t.Errorf("%s", refused.body)
		}
		one["value"] = nil
		ann.post(here+"/conflicts/resolve", body).want(http.StatusOK)
		if got := ann.get(here + "/automations/hello").want(http.StatusOK); got.at("description") != nil {
			t.Errorf("%s", got.body)
		}
	})
}

// Who does not want to wait at all does not.
func TestTimeoutOfZero(t *testing.T) {
	t.Parallel()
	eachStudio(t, func(t *testing.T, s *studio) {
		ann := s.user("ann")
		at := s.linked(ann, "Mine")
		s.works(s.built.Sync) // what goes on is waited for
		arrived, release := make(chan struct{}), make(chan struct{})
		s.server.Wrap(holding("git-receive-pack", arrived, release))
		going := ann.post(at+"/push?timeout=0", toMain("name", "v1")).want(http.StatusOK)
		if going.text("processing") != "true" || going.text("operationId") == "" {
			t.Errorf("%s", going.body)
		}
		<-arrived
		close(release)
		s.until(func() bool { return ann.get(at+"/operations/"+going.text("operationId")).text("status") == "succeeded" })
	})
}
