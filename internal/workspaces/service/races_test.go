package service_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/store"
	"atelier/internal/workspaces/service"
)

// during sends a request while a change is being made: where the engine lets it, the request has begun and waits for the
// change, or has ended before it.
func (h *house) during(change func(ctx context.Context, tx *sqldb.Tx) error, request func() *answer) *answer {
	h.t.Helper()
	ctx, done := h.t.Context(), make(chan *answer, 1)
	var early *answer
	err := h.db.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := change(ctx, tx); err != nil {
			return err
		}
		go func() { done <- request() }()
		for waiting := h.db.Driver() == "sqlite"; !waiting; {
			select {
			case early = <-done:
				return nil
			default:
			}
			err := tx.QueryRow(ctx, `SELECT COUNT(*) > 0 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`).Scan(&waiting)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	if early != nil {
		return early
	}
	return <-done
}

// binning is what deletes a workspace.
func (h *house) binning(id string) func(context.Context, *sqldb.Tx) error {
	return func(ctx context.Context, tx *sqldb.Tx) error {
		w, err := store.Hold(ctx, tx, id)
		if err != nil {
			return err
		}
		if err := store.Bin(ctx, tx, w, h.clk.Now(), "ann"); err != nil {
			return err
		}
		return access.Park(ctx, tx, id)
	}
}

// Whatever changes who may do what in a workspace is refused when the workspace is deleted meanwhile, as it is afterwards;
// nothing of it is left behind, and the workspace can be restored.
func TestChangingAccessWhileTheWorkspaceIsDeleted(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann, _ := h.user("ann"), h.user("bob")
		at := ann.workspace("Mine")
		id := strings.TrimPrefix(at, "/v2/workspaces/")
		ann.share(at, "bob", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		page := "/v2/pages/" + ann.post(at+"/pages", map[string]any{"slug": "p", "name": "p", "blocks": []any{}}).want(http.StatusCreated).text("id")
		key := map[string]any{"name": "one", "rules": []any{map[string]any{"action": "read", "subject": "workspaces"}}}
		keyAt := at + "/security/apikeys/" + ann.post(at+"/security/apikeys", key).want(http.StatusCreated).text("id")
		left := func() int {
			return h.count(`SELECT COUNT(*) FROM access_grants WHERE workspace_id = $1`, id) +
				h.count(`SELECT COUNT(*) FROM access_api_keys WHERE workspace_id = $1`, id)
		}
		before := left()
		for what, request := range map[string]func() *answer{
			"share":   func() *answer { return ann.share(at, "bob", map[string]any{"role": "editor"}) },
			"unshare": func() *answer { return ann.delete(at + "/permissions/bob") },
			"share a page": func() *answer {
				return ann.share(page, "bob", map[string]any{"policies": map[string]any{"read": true}})
			},
			"make a key":   func() *answer { return ann.post(at+"/security/apikeys", key) },
			"change a key": func() *answer { return ann.put(keyAt, key) },
			"delete a key": func() *answer { return ann.delete(keyAt) },
			"delete":       func() *answer { return ann.delete(at) },
		} {
			if got := h.during(h.binning(id), request); got.status != http.StatusForbidden || got.text("error") != string(errs.WorkspaceAccessDenied) {
				t.Errorf("%s: %d %s", what, got.status, got.body)
			}
			if n := left(); n != 0 {
				t.Errorf("%s: %d grants and keys of a workspace in the bin", what, n)
			}
			ann.post(at+"/restore", nil).want(http.StatusOK)
			if n := left(); n != before {
				t.Errorf("%s: %d grants and keys after all, want %d", what, n, before)
			}
		}
	})
}

// What was given in a workspace after it went into the bin does not keep it there, and goes with it for good.
func TestAccessThatCameLate(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		id := strings.TrimPrefix(at, "/v2/workspaces/")
		late := func() {
			h.change(func(ctx context.Context, tx *sqldb.Tx) error {
				return access.Grant(access.With(ctx, ann.who), tx, id, access.Editor)
			})
		}
		ann.delete(at).want(http.StatusOK)
		late()
		ann.post(at+"/restore", nil).want(http.StatusOK)
		ann.delete(at).want(http.StatusOK) // as the owner that it had
		late()
		ann.delete(at + "/bin").want(http.StatusOK)
		if n := h.count(`SELECT COUNT(*) FROM access_grants WHERE workspace_id IN ($1, $2)`, id, "bin:"+id); n != 0 {
			t.Errorf("%d grants of a workspace that is gone", n)
		}
	})
}

func (h *house) change(fn func(ctx context.Context, tx *sqldb.Tx) error) {
	h.t.Helper()
	if err := h.db.Tx(h.t.Context(), func(tx *sqldb.Tx) error { return fn(h.t.Context(), tx) }); err != nil {
		h.t.Fatal(err)
	}
}

// A workspace leaves the bin once: whoever is second is told that it is not there, and nothing is told twice.
func TestLeavingTheBinOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		id := strings.TrimPrefix(at, "/v2/workspaces/")
		restoring := func(ctx context.Context, tx *sqldb.Tx) error {
			if back, err := store.Unbin(ctx, tx, id, "mine-again"); err != nil || !back {
				t.Errorf("restored: %v %v", back, err)
			}
			return access.Unpark(ctx, tx, id)
		}
		ann.delete(at).want(http.StatusOK)
		h.during(restoring, func() *answer { return ann.post(at+"/restore", nil) }).wantError(http.StatusNotFound, errs.NotFound)
		ann.delete(at).want(http.StatusOK)
		h.during(restoring, func() *answer { return ann.delete(at + "/bin") }).wantError(http.StatusNotFound, errs.NotFound)
		if told := h.events(at, "workspaces.restored"); len(told) != 0 {
			t.Errorf("told: %v", told)
		}
		if got := ann.get(at).want(http.StatusOK).text("slug"); got != "mine-again" {
			t.Errorf("the slug is %s", got)
		}
	})
}

// What an editor has read is not written into a workspace that went into the bin meanwhile.
func TestSavingWhatIsInTheBin(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		id := strings.TrimPrefix(at, "/v2/workspaces/")
		w, err := store.Get(t.Context(), h.db, id)
		if err != nil {
			t.Fatal(err)
		}
		ann.delete(at).want(http.StatusOK)
		err = h.db.Tx(t.Context(), func(tx *sqldb.Tx) error { return store.Save(t.Context(), tx, w) })
		if errs.CodeOf(err) != errs.NotFound {
			t.Errorf("saved: %v", err)
		}
		if n := h.count(`SELECT COUNT(*) FROM ws_workspaces WHERE slug = $1`, w.Slug); n != 0 {
			t.Error("the bin took the slug back")
		}
	})
}

// Old history of a workspace in the bin waits there; the rest is forgotten.
func TestForgettingLeavesTheBinAlone(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		id := strings.TrimPrefix(at, "/v2/workspaces/")
		h.clk.Advance(h.deps.HistoryAge)
		ann.delete(at).want(http.StatusOK)
		h.clk.Advance(h.deps.BinAge / 2)
		edits := func() int { return h.count(`SELECT COUNT(*) FROM ws_revisions WHERE workspace_id = $1`, id) }
		before := edits()
		h.tidy()
		if got := edits(); got != before || before == 0 {
			t.Errorf("in the bin: %d edits, want %d", got, before)
		}
		ann.post(at+"/restore", nil).want(http.StatusOK)
		h.tidy()
		if got := edits(); got != 0 {
			t.Errorf("restored: %d edits", got)
		}
	})
}

// What other services are given for a name that is none of a workspace is the id of none, also not of what is kept of one in
// the bin.
func TestResolvingWhatIsNoWorkspace(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		id, slug := strings.TrimPrefix(at, "/v2/workspaces/"), ann.get(at).text("slug")
		for ref, want := range map[string]bool{id: true, "slug:" + slug: true, "slug:no-such": false, "bin:" + id: false, "slug:bin:" + id: false} {
			got, err := service.Resolve(t.Context(), h.db, ref)
			if err != nil || (got == id) != want || strings.HasPrefix(got, "bin:") {
				t.Errorf("%s: %q %v", ref, got, err)
			}
		}
		ann.delete(at).want(http.StatusOK)
		if got, err := service.Resolve(t.Context(), h.db, "slug:bin:"+id); err != nil || got == id {
			t.Errorf("in the bin: %q %v", got, err)
		}
	})
}
