package service_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archive/archivetest"
)

// While somebody else holds the lock nothing is imported, and whatever becomes of an import, the lock is free afterwards.
func TestImportsAndTheLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		raw := pack("index.yml", "name: Mine\n", "automations/hello.yml", "name: Hello\ndo: []\n")
		ann.post(at+"/writeLock", map[string]any{"reason": "release"}).want(http.StatusOK)
		before := h.rows()
		for _, query := range []string{"", "?prune=true", "?dryRun=true"} {
			refused := ann.bring(at+"/import"+query, raw).wantError(http.StatusLocked, errs.Locked)
			if refused.text("details.reason") != "release" || refused.text("details.lockedBy") != "ann" || refused.text("details.lockedAt") == "" || refused.text("details.expiresAt") == "" {
				t.Errorf("import%s: %s", query, refused.body)
			}
		}
		if after := h.rows(); after != before {
			t.Errorf("something was stored:\n%s\n%s", before, after)
		}
		ann.get(at + "/export").want(http.StatusOK) // reading is always allowed
		ann.delete(at + "/writeLock").want(http.StatusOK)
		ann.bring(at+"/import", raw).want(http.StatusOK)
		h.wantUnlocked(ann, at)
		before = h.rows()
		twin := pack("index.yml", "name: Mine\n", "automations/a.yml", "name: a\ndo: []\n", "automations/HELLO.yml", "name: Hello\ndo: []\n")
		for _, query := range []string{"", "?dryRun=true"} {
			ann.bring(at+"/import"+query, twin).wantError(http.StatusConflict, errs.AlreadyExists)
		}
		if after := h.rows(); after != before {
			t.Errorf("an import that fails half-way left something:\n%s\n%s", before, after)
		}
		h.wantUnlocked(ann, at)
		if done := ann.bring(at+"/import?prune=true", twin).want(http.StatusOK); !slices.Equal(done.list("deleted"), []string{"automations/hello"}) {
			t.Errorf("with prune the old one makes room: %s", done.body)
		}
	})
}

// An import that has lost its lock cannot write any more. Whether the lock is cleared in time is chance, so it is tried
// until it was; when it comes too late the import is whole.
func TestImportThatLostItsLock(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		lost := 0
		for round := 0; lost < 3; round++ {
			if round == 500 {
				t.Fatal("the lock was never cleared in time")
			}
			before := listing(unpack(t, ann.export(at)).Files)
			revision := ann.get(at).header.Get("ETag")
			files := []archive.File{
				{Path: "automations/a", Ext: ".yml", Text: fmt.Appendf(nil, "name: a%d\ndo: []\n", round)}, {Path: "index", Ext: ".yml", Text: fmt.Appendf(nil, "name: Mine %d\n", round)},
			}
			done := h.interrupted(ann, at, zipped(t, files, nil))
			h.wantUnlocked(ann, at)
			switch done.status {
			case http.StatusOK:
				ann.wantDocuments(at, files)
			default:
				lost++
				done.wantError(http.StatusConflict, errs.Conflict)
				if problem := difference(listing(unpack(t, ann.export(at)).Files), before); problem != "" || ann.get(at).header.Get("ETag") != revision {
					t.Fatalf("it wrote although it had lost its lock: %s", problem)
				}
			}
		}
	})
}

// interrupted imports an archive while somebody clears the lock that the import has just taken.
func (h *house) interrupted(c *caller, at string, raw []byte) *answer {
	h.t.Helper()
	var once sync.Once
	var running sync.WaitGroup
	ctx := sqldb.WithHook(access.With(h.t.Context(), c.who), func(context.Context, *sqldb.Tx) error {
		once.Do(func() { // the first transaction is the one that takes the lock; it is about to be committed
			running.Go(func() { c.delete(at + "/writeLock") })
		})
		return nil
	})
	kind, body := encode(h.t, piece{field: "archive", name: "a.zip", kind: zipKind, body: string(raw)})
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, at+"/import", strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	done := h.serve(c, r)
	running.Wait()
	return done
}

// Imports at the same time: into one workspace one after the other, or refused; as new workspaces each under its own slug.
func TestImportsAtTheSameTime(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		ann := h.user("ann")
		at := ann.workspace("Mine")
		const many = 6
		var into, made [many]*answer
		var running sync.WaitGroup
		for i := range many {
			running.Go(func() {
				into[i] = ann.bring(at+"/import?prune=true", zipped(t, archivetest.Workspace(uint64(i)), nil))
			})
			running.Go(func() {
				made[i] = ann.bring(newImport, pack("index.yml", "name: Twin\nslug: twin\n", fmt.Sprintf("automations/a%d.yml", i), "name: a\ndo: []\n"))
			})
		}
		running.Wait()
		done := 0
		slugs := map[string]bool{}
		for i := range many {
			if into[i].status == http.StatusOK {
				done++
			} else {
				into[i].wantError(http.StatusLocked, errs.Locked)
			}
			slug := made[i].want(http.StatusOK).text("workspace.slug")
			if slugs[slug] {
				t.Errorf("the slug %s came twice", slug)
			}
			slugs[slug] = true
		}
		if done == 0 || !slugs["twin"] {
			t.Errorf("%d imports into one workspace, slugs %v", done, slugs)
		}
		now := listing(unpack(t, ann.export(at)).Files)
		whole := slices.ContainsFunc([]uint64{0, 1, 2, 3, 4, 5}, func(seed uint64) bool {
			want := listing(archivetest.Workspace(seed))
			for name, text := range now {
				if strings.HasPrefix(name, "security.") && want[name] == "" {
					delete(want, "security.yml")
					delete(want, "security.yaml")
					want[name] = text
				}
			}
			return difference(now, want) == ""
		})
		if !whole {
			t.Errorf("the workspace is none of what was imported: %v", now)
		}
		h.wantUnlocked(ann, at)
	})
}
