package service_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/gitcmd/gittest"
)

// once does something when the first request of a kind comes in, before it is answered.
func once(what string, do func()) func(http.Handler) http.Handler {
	var first sync.Once
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, what) && r.Method == http.MethodPost {
				first.Do(do)
			}
			next.ServeHTTP(w, r)
		})
	}
}

// Somebody else pushes while many are pushed: what is elsewhere is kept and no obstacle, what is in a workspace's folder is an
// error of that workspace.
func TestBulkPushWhileOthersPush(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		for _, slug := range []string{"aa", "bb", "cc"} {
			root.labelled(slug, "team:base")
		}
		s.server.Wrap(once("git-receive-pack", func() {
			s.hub(joined(map[string]string{"README.md": "of somebody else"}, stored("bb", "theirs", "", "", "")))
		}))
		done := root.post(bulkPush, map[string]any{"groups": []string{"base"}, "name": "v1"}).want(http.StatusOK).wantStatuses("aa=pushed bb=error cc=pushed")
		if done.text("errors.0.details.reason") != "behind" {
			t.Errorf("completed: %s", done.body)
		}
		if s.hubFile("README.md") != "of somebody else" || !strings.Contains(s.hubFile("bb/.import.yml"), "theirs") || !strings.Contains(s.hubFile("cc/.import.yml"), "v1") {
			t.Error("something was lost")
		}
		gittest.Run(t, s.server.Path("hub"), "fsck", "--strict")
	})
}

// Whoever loses a right while many are pushed does not push what it was for.
func TestBulkRightLostMeanwhile(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root, ann, bob := s.superAdmin(), s.user("ann"), s.user("bob")
		root.share(platform, "ann", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.labelled("aa", "team:base")
		theirs := bob.labelled("bb", "team:base")
		bob.share(theirs, "ann", map[string]any{"role": "editor"}).want(http.StatusOK)
		s.server.Wrap(once("git-receive-pack", func() { bob.delete(theirs + "/permissions/ann").want(http.StatusOK) }))
		done := ann.post(bulkPush, map[string]any{"groups": []string{"base"}}).want(http.StatusOK).wantStatuses("aa=pushed bb=error")
		if done.text("errors.0.error") != string(errs.WorkspaceAccessDenied) {
			t.Errorf("completed: %s", done.body)
		}
	})
}

// A lock that is cleared ends the operation: what was done is told, the rest is not done.
func TestBulkLockCleared(t *testing.T) {
	t.Parallel()
	eachFleet(t, func(t *testing.T, s *studio) {
		root := s.superAdmin()
		root.labelled("aa", "team:base")
		root.labelled("bb", "team:base")
		s.server.Wrap(once("git-receive-pack", func() { root.delete(platform + "/writeLock").want(http.StatusOK) }))
		root.post(bulkPush, map[string]any{"groups": []string{"base"}}).wantError(http.StatusConflict, errs.Conflict)
		s.wantBulkEvents("bulkPush", 1, 0, 1)
		s.payload(platform, "workspaces.bulkPush.completed").wantStatuses("aa=pushed bb=error")
		root.post(bulkPush, map[string]any{"groups": []string{"base"}}).want(http.StatusOK).wantStatuses("aa=alreadyPushed bb=pushed")
	})
}
