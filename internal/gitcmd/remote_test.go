package gitcmd_test

import (
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/gitcmd"
	"atelier/internal/gitcmd/gittest"
)

// transports runs a test against a server of each kind.
func transports(t *testing.T, test func(t *testing.T, server *gittest.Server)) {
	t.Helper()
	for name, start := range map[string]func(testing.TB) *gittest.Server{"https": gittest.HTTPS, "ssh": gittest.SSH} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t))
		})
	}
}

// gitFor is a git that trusts a server.
func gitFor(t *testing.T, server *gittest.Server, limits gitcmd.Limits) *gitcmd.Git {
	t.Helper()
	git, err := gitcmd.Open(t.Context(), gitcmd.Config{CABundle: server.CAFile, Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	return git
}

// local is an empty repository on this machine.
func local(t *testing.T, git *gitcmd.Git) (*gitcmd.Repository, string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "local")
	repository, err := git.Repository(t.Context(), folder)
	if err != nil {
		t.Fatalf("Repository: %v", err)
	}
	return repository, folder
}

func wantKind(t *testing.T, err error, kind gitcmd.Kind, words ...string) *gitcmd.Problem {
	t.Helper()
	problem, ok := errors.AsType[*gitcmd.Problem](err)
	if !ok || problem.Kind != kind {
		t.Fatalf("got %#v (%v; cause %v), want a problem of the kind %s", err, err, errors.Unwrap(err), kind)
	}
	for _, word := range words {
		if !strings.Contains(problem.Message, word) {
			t.Errorf("%q is missing in %q", word, problem.Message)
		}
	}
	return problem
}

// simple is a commit with one file on top of its parents.
func simple(text string, parents ...string) gitcmd.Commit {
	c := gitcmd.Commit{
		Parents: parents, Write: map[string][]byte{"file": []byte(text)}, When: time.Unix(1_700_000_000, 0), Message: text,
		Author: gitcmd.Person{Name: "A", Email: "a@example.com"}, Committer: gitcmd.Person{Name: "C", Email: "c@example.com"},
	}
	if len(parents) > 0 {
		c.From = parents[0]
	}
	return c
}

func commit(t *testing.T, repository *gitcmd.Repository, c gitcmd.Commit) string {
	t.Helper()
	id, err := repository.Commit(t.Context(), c)
	if err != nil {
		t.Fatalf("Commit: %v", err)
	}
	return id
}

func TestPushListFetch(t *testing.T) {
	t.Parallel()
	transports(t, func(t *testing.T, server *gittest.Server) {
		path := server.Create("a")
		git := gitFor(t, server, gitcmd.Limits{})
		ours, _ := local(t, git)
		remote := server.Remote("a")
		refs, err := ours.ListRemote(t.Context(), remote)
		if err != nil || len(refs) != 0 {
			t.Fatalf("an empty repository has %v, %v", refs, err)
		}
		first := commit(t, ours, simple("one"))
		second := commit(t, ours, simple("two", first))
		err = ours.Push(t.Context(), remote, gitcmd.Update{Ref: "refs/heads/main", New: first}, gitcmd.Update{Ref: "refs/heads/svc/x/main", New: second}, gitcmd.Update{Ref: "refs/tags/v1", New: second})
		if err != nil {
			t.Fatalf("Push: %v: %v", err, errors.Unwrap(err))
		}
		gittest.Run(t, path, "tag", "-a", "-m", "annotated", "v2", second)
		refs, err = ours.ListRemote(t.Context(), remote, "refs/heads/main", "refs/tags/v1", "refs/tags/v2", "refs/heads/none")
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{"refs/heads/main": first, "refs/tags/v1": second, "refs/tags/v2": gittest.Lookup(t, path, "refs/tags/v2"), "refs/tags/v2^{}": second}
		if diff := cmp.Diff(want, refs); diff != "" {
			t.Errorf("refs (-want +got):\n%s", diff)
		}
		theirs, _ := local(t, git)
		err = theirs.Fetch(t.Context(), remote, map[string]string{"refs/heads/main": "refs/heads/main", second: "refs/x/second", "refs/tags/v2": "refs/tags/v2"})
		if err != nil {
			t.Fatalf("Fetch: %v: %v", err, errors.Unwrap(err))
		}
		got, err := theirs.Refs(t.Context(), "refs")
		if diff := cmp.Diff(map[string]string{"refs/heads/main": first, "refs/x/second": second, "refs/tags/v2": want["refs/tags/v2"]}, got); diff != "" || err != nil {
			t.Errorf("local refs, %v (-want +got):\n%s", err, diff)
		}
		if err := theirs.Check(t.Context()); err != nil {
			t.Error(err)
		}
		all, err := ours.ListRemote(t.Context(), remote)
		names := slices.Sorted(maps.Keys(all))
		if diff := cmp.Diff([]string{"HEAD", "refs/heads/main", "refs/heads/svc/x/main", "refs/tags/v1", "refs/tags/v2", "refs/tags/v2^{}"}, names); diff != "" || err != nil {
			t.Errorf("all refs, %v (-want +got):\n%s", err, diff)
		}
	})
}
