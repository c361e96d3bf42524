package gitcmd_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/gitcmd"
	"atelier/internal/gitcmd/gittest"
)

func TestRepositoryIsMadeOnce(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	folder := filepath.Join(t.TempDir(), "a", "b")
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			repository, err := git.Repository(t.Context(), folder)
			if err != nil {
				t.Errorf("Repository: %v", err)
				return
			}
			if _, err := repository.Commit(t.Context(), simple("x")); err != nil {
				t.Errorf("Commit: %v", err)
			}
		})
	}
	group.Wait()
	if left, err := os.ReadDir(filepath.Dir(folder)); err != nil || len(left) != 1 {
		t.Errorf("beside the repository: %v, %v", left, err)
	}
	repository, err := git.Repository(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := repository.Has(t.Context(), commit(t, repository, simple("x"))); !ok || err != nil {
		t.Errorf("the commit is there: %t, %v", ok, err)
	}
	if err := repository.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestBrokenRepositories(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	for name, spoil := range map[string]func(folder string) error{
		"no head":        func(folder string) error { return os.Remove(filepath.Join(folder, "HEAD")) },
		"no objects":     func(folder string) error { return os.RemoveAll(filepath.Join(folder, "objects")) },
		"broken config":  func(folder string) error { return os.WriteFile(filepath.Join(folder, "config"), []byte("["), 0o600) },
		"something else": func(folder string) error { return os.RemoveAll(folder + "/refs") },
		"a file": func(folder string) error {
			return errors.Join(os.RemoveAll(folder), os.WriteFile(folder, []byte("x"), 0o600))
		},
	} {
		_, folder := local(t, git)
		if err := spoil(folder); err != nil {
			t.Fatal(err)
		}
		if _, err := git.Repository(t.Context(), folder); !errors.Is(err, gitcmd.ErrBroken) {
			t.Errorf("%s: %v, want ErrBroken", name, err)
		}
	}
	if _, err := git.Repository(t.Context(), "relative"); err == nil {
		t.Error("a relative folder was opened")
	}
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	repository, folder := local(t, open(t, ""))
	id := commit(t, repository, simple("x"))
	if err := repository.SetRef(t.Context(), "refs/heads/main", id); err != nil {
		t.Fatal(err)
	}
	packs, _ := filepath.Glob(filepath.Join(folder, "objects", "pack", "*.pack"))
	if len(packs) != 1 {
		t.Fatalf("packs: %v", packs)
	}
	text, err := os.ReadFile(packs[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 0xff
	if err := errors.Join(os.Remove(packs[0]), os.WriteFile(packs[0], text, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := repository.Check(t.Context()); !errors.Is(err, gitcmd.ErrBroken) {
		t.Errorf("Check: %v, want ErrBroken", err)
	}
}

// A commit is the one that git itself makes of the same input.
func TestCommitIsGits(t *testing.T) {
	t.Parallel()
	repository, folder := local(t, open(t, ""))
	c := gitcmd.Commit{
		Write: map[string][]byte{"a": []byte("1\n"), "dir/b": []byte("2"), "dir/sub/c": nil, "odd \"name\\\n\tü": []byte("3")},
		When:  time.Unix(1_700_000_000, 123), Message: "Subject\n\nBody\n",
		Author: gitcmd.Person{Name: "Änne Author", Email: "a@example.com"}, Committer: gitcmd.Person{Name: "C", Email: "c@example.com"},
	}
	id := commit(t, repository, c)
	if again := commit(t, repository, c); again != id {
		t.Errorf("the second one is %s, not %s", again, id)
	}
	want := "tree " + gittest.Run(t, folder, "rev-parse", id+"^{tree}") +
		"\nauthor Änne Author <a@example.com> 1700000000 +0000\ncommitter C <c@example.com> 1700000000 +0000\n\nSubject\n\nBody"
	if got := gittest.Run(t, folder, "cat-file", "-p", id); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := gittest.Run(t, folder, "for-each-ref"); got != "" {
		t.Errorf("refs were changed: %s", got)
	}
	for path, text := range c.Write {
		if got := gittest.Run(t, folder, "rev-parse", id+":"+path); got != gitcmd.BlobID(text) {
			t.Errorf("%q is %s, want %s", path, got, gitcmd.BlobID(text))
		}
	}
	elsewhere, _ := local(t, open(t, ""))
	if other := commit(t, elsewhere, c); other != id {
		t.Errorf("elsewhere it is %s, not %s", other, id)
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "objects", "tmp_*")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func files(t *testing.T, repository *gitcmd.Repository, id, folder string) map[string]string {
	t.Helper()
	tree, err := repository.Tree(t.Context(), id, folder)
	if err != nil {
		t.Fatalf("Tree: %v", err)
	}
	got, paths, objects := map[string]string{}, map[string][]string{}, []string{}
	for _, entry := range tree.Entries {
		paths[entry.Object] = append(paths[entry.Object], entry.Path)
		objects = append(objects, entry.Object)
	}
	err = repository.Texts(t.Context(), objects, 1<<20, func(object string, text []byte) error {
		for _, path := range paths[object] {
			got[path] = string(text)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("Texts: %v", err)
	}
	return got
}

func TestCommitTrees(t *testing.T) {
	t.Parallel()
	repository, _ := local(t, open(t, ""))
	base := commit(t, repository, gitcmd.Commit{Write: map[string][]byte{"a": []byte("a"), "d/b": []byte("b"), "d/c": []byte("c")}})
	other := commit(t, repository, gitcmd.Commit{Write: map[string][]byte{"o": []byte("o")}})
	empty := commit(t, repository, gitcmd.Commit{})
	write := map[string][]byte{"w": []byte("w")}
	for name, c := range map[string]struct {
		commit gitcmd.Commit
		want   map[string]string
	}{
		"on the parent":       {gitcmd.Commit{Parents: []string{base}, From: base, Write: write}, map[string]string{"a": "a", "d/b": "b", "d/c": "c", "w": "w"}},
		"two parents":         {gitcmd.Commit{Parents: []string{base, other}, From: base, Write: write}, map[string]string{"a": "a", "d/b": "b", "d/c": "c", "w": "w"}},
		"from the second":     {gitcmd.Commit{Parents: []string{base, other}, From: other, Write: write}, map[string]string{"o": "o", "w": "w"}},
		"from elsewhere":      {gitcmd.Commit{From: other, Write: write}, map[string]string{"o": "o", "w": "w"}},
		"from nothing":        {gitcmd.Commit{Parents: []string{base}, Write: write}, map[string]string{"w": "w"}},
		"from no files":       {gitcmd.Commit{Parents: []string{base}, From: empty, Write: write}, map[string]string{"w": "w"}},
		"all removed":         {gitcmd.Commit{Parents: []string{base}, From: base, Delete: []string{"d", "a", "none"}}, map[string]string{}},
		"one removed":         {gitcmd.Commit{Parents: []string{base}, From: base, Delete: []string{"d/b"}}, map[string]string{"a": "a", "d/c": "c"}},
		"folder to file":      {gitcmd.Commit{Parents: []string{base}, From: base, Delete: []string{"d"}, Write: map[string][]byte{"d": []byte("D")}}, map[string]string{"a": "a", "d": "D"}},
		"file to folder":      {gitcmd.Commit{Parents: []string{base}, From: base, Write: map[string][]byte{"a/x": []byte("x")}}, map[string]string{"a/x": "x", "d/b": "b", "d/c": "c"}},
		"removed and written": {gitcmd.Commit{Parents: []string{base}, From: base, Delete: []string{"a", "d"}, Write: map[string][]byte{"a": []byte("A")}}, map[string]string{"a": "A"}},
		"nothing at all":      {gitcmd.Commit{}, map[string]string{}},
	} {
		id := commit(t, repository, c.commit)
		if diff := cmp.Diff(c.want, files(t, repository, id, "")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	if err := repository.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// B-GIT-06: names and messages cannot end early, hide another person or reach a terminal.
func TestHostilePersonsAndMessages(t *testing.T) {
	t.Parallel()
	repository, folder := local(t, open(t, ""))
	evil := "Eve\ncommitter X <x> 1 +0000\x00\x1b[31m <evil@example.com> \xff" + strings.Repeat("x", 1<<20)
	for _, person := range []gitcmd.Person{{Name: evil, Email: evil}, {}, {Name: " . ", Email: "<>"}, {Name: "<a> b", Email: " a b @c "}} {
		id := commit(t, repository, gitcmd.Commit{Author: person, Committer: person, When: time.Unix(-5, 0), Message: "a\x00b\x1b[31mc\r\nfrom 0\n\xff\n\n"})
		if err := repository.SetRef(t.Context(), "refs/heads/x", id); err != nil {
			t.Fatal(err)
		}
		if err := repository.Check(t.Context()); err != nil {
			t.Errorf("%.20q: %v", person.Name, err)
		}
		text := gittest.Run(t, folder, "cat-file", "-p", id)
		if head, _, _ := strings.Cut(text, "\n\n"); strings.Count(head, "\n") != 2 || strings.ContainsAny(text, "\x00\x1b") || !utf8.ValidString(text) || len(text) > 2000 {
			t.Errorf("%.20q: %.500q", person.Name, text)
		}
	}
}

func TestHostileCommits(t *testing.T) {
	t.Parallel()
	repository, folder := local(t, open(t, ""))
	for _, path := range []string{"", "/a", "a/", "a//b", ".", "..", "a/../b", ".git/config", ".GIT/x", "a/.git", "git~1/x", ".g\u200cit/x", "a\x00b", strings.Repeat("x", 5000)} {
		if _, err := repository.Commit(t.Context(), gitcmd.Commit{Write: map[string][]byte{path: nil}}); err == nil {
			t.Errorf("%q was written", path)
		}
		if _, err := repository.Commit(t.Context(), gitcmd.Commit{Delete: []string{path}}); err == nil {
			t.Errorf("%q was removed", path)
		}
	}
	missing := strings.Repeat("1", 40)
	blob := gitcmd.BlobID([]byte("x"))
	commit(t, repository, simple("x"))
	for _, c := range []gitcmd.Commit{
		{Parents: []string{missing}}, {From: missing}, {Parents: []string{"HEAD"}}, {From: "refs/heads/x\ndeleteall"}, {Parents: []string{missing[:39]}}, {Parents: []string{blob}}, {From: blob},
	} {
		if id, err := repository.Commit(t.Context(), c); err == nil {
			t.Errorf("%+v is the commit %s", c, id)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(folder, "fast_import_crash_*")); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := repository.Commit(ctx, simple("y")); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

// Commits of a key are the same each time, and git believes them.
func TestSignedCommits(t *testing.T) {
	t.Parallel()
	repository, folder := local(t, open(t, ""))
	base := commit(t, repository, simple("base"))
	for name, key := range privateKeys(t) {
		signer, err := gitcmd.ParseSigner(key)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c := simple("signed", base)
		c.Sign = signer
		id := commit(t, repository, c)
		if again := commit(t, repository, c); again != id {
			t.Errorf("%s: %s, then %s", name, id, again)
		}
		signers := filepath.Join(t.TempDir(), "signers")
		if err := os.WriteFile(signers, []byte("c@example.com "+signer.PublicKey()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		gittest.Run(t, folder, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+signers, "verify-commit", id)
		if got := gittest.Run(t, folder, "-c", "gpg.format=ssh", "-c", "gpg.ssh.allowedSignersFile="+signers, "log", "-1", "--format=%G? %GS %P", id); got != "G c@example.com "+base {
			t.Errorf("%s: git says %q", name, got)
		}
	}
	if err := repository.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestTrees(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	repository, folder := local(t, git)
	id := commit(t, repository, gitcmd.Commit{Write: map[string][]byte{"a": []byte("1"), "d/b": []byte("22"), "d/e/f g": []byte("333"), "d/ü\n\"": nil}})
	root, err := repository.Tree(t.Context(), id, "")
	if err != nil || root.ID != gittest.Run(t, folder, "rev-parse", id+"^{tree}") || len(root.Entries) != 4 {
		t.Errorf("root: %+v, %v", root, err)
	}
	tree, err := repository.Tree(t.Context(), id, "d")
	want := gitcmd.Tree{ID: gittest.Run(t, folder, "rev-parse", id+":d"), Entries: []gitcmd.Entry{
		{Path: "b", Mode: "100644", Object: gitcmd.BlobID([]byte("22")), Size: 2},
		{Path: "e/f g", Mode: "100644", Object: gitcmd.BlobID([]byte("333")), Size: 3},
		{Path: "ü\n\"", Mode: "100644", Object: gitcmd.BlobID(nil)},
	}}
	if diff := cmp.Diff(want, tree); err != nil || diff != "" {
		t.Errorf("d: %v (-want +got):\n%s", err, diff)
	}
	for _, missing := range []string{"x", "d/x", "x/y/z", "D"} {
		if tree, err := repository.Tree(t.Context(), id, missing); err != nil || tree.ID != "" || len(tree.Entries) != 0 {
			t.Errorf("%s: %+v, %v, want nothing", missing, tree, err)
		}
	}
	for _, file := range []string{"a", "a/b", "a/b/c", "d/b"} {
		if _, err := repository.Tree(t.Context(), id, file); !errors.Is(err, gitcmd.ErrNotFolder) {
			t.Errorf("%s: %v, want ErrNotFolder", file, err)
		}
	}
	for _, bad := range []string{"HEAD", strings.Repeat("1", 40), gitcmd.BlobID([]byte("1")), "--help", ""} {
		if _, err := repository.Tree(t.Context(), bad, ""); err == nil {
			t.Errorf("%q has a tree", bad)
		}
	}
	if _, err := repository.Tree(t.Context(), id, "d\nHEAD"); err == nil {
		t.Error("a folder of two lines was found")
	}
}

// B-GIT-05, B-GIT-07: links and submodules are told, never followed.
func TestLinksAndSubmodules(t *testing.T) {
	t.Parallel()
	repository, folder := local(t, open(t, ""))
	base := commit(t, repository, gitcmd.Commit{Write: map[string][]byte{"secret/x": []byte("x"), "target": []byte("secret")}})
	target := gitcmd.BlobID([]byte("secret"))
	script := fmt.Sprintf("commit refs/heads/x\ncommitter A <a> 1 +0000\ndata 0\nfrom %s\nM 120000 %s link\nM 160000 %s module\nM 100755 %s tool\n", base, target, base, target)
	if err := open(t, "").Run(t.Context(), folder, gitcmd.NewCommand("fast-import", "--quiet"), strings.NewReader(script), nil); err != nil {
		t.Fatal(err)
	}
	id, err := repository.Ref(t.Context(), "refs/heads/x")
	if err != nil || id == "" {
		t.Fatalf("%q, %v", id, err)
	}
	tree, err := repository.Tree(t.Context(), id, "")
	if err != nil {
		t.Fatal(err)
	}
	modes := map[string]string{}
	for _, entry := range tree.Entries {
		modes[entry.Path] = entry.Mode
	}
	if diff := cmp.Diff(map[string]string{"secret/x": "100644", "target": "100644", "link": "120000", "module": "160000", "tool": "100755"}, modes); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, path := range []string{"link", "link/x"} {
		if _, err := repository.Tree(t.Context(), id, path); !errors.Is(err, gitcmd.ErrNotFolder) {
			t.Errorf("%s: %v, want ErrNotFolder", path, err)
		}
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	repository, _ := local(t, open(t, ""))
	write, objects, want := map[string][]byte{}, []string{}, [][]byte{}
	for i := range 300 {
		text := bytes.Repeat([]byte{byte(i), '\n'}, i*10)
		write[fmt.Sprint(i)] = text
		objects, want = append(objects, gitcmd.BlobID(text)), append(want, text)
	}
	id := commit(t, repository, gitcmd.Commit{Write: write})
	var got [][]byte
	err := repository.Texts(t.Context(), objects, 5980, func(object string, text []byte) error {
		if object != gitcmd.BlobID(text) {
			t.Errorf("%s is not %q", object, text)
		}
		got = append(got, bytes.Clone(text))
		return nil
	})
	if diff := cmp.Diff(len(want), len(got)); err != nil || diff != "" || !bytes.Equal(bytes.Join(got, nil), bytes.Join(want, nil)) {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	nothing := func(string, []byte) error { return nil }
	wantKind(t, repository.Texts(t.Context(), objects, 5979, nothing), gitcmd.TooLarge)
	for _, bad := range []string{id, strings.Repeat("1", 40), "HEAD", ""} {
		if err := repository.Texts(t.Context(), []string{objects[0], bad}, 1000, nothing); err == nil {
			t.Errorf("%q is a text", bad)
		}
	}
	stop := errors.New("stop")
	if err := repository.Texts(t.Context(), objects, 1<<20, func(string, []byte) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("%v, want the error of the caller", err)
	}
	if err := repository.Texts(t.Context(), nil, 0, nothing); err != nil {
		t.Error(err)
	}
}

func TestRefsAndAncestors(t *testing.T) {
	t.Parallel()
	repository, folder := local(t, open(t, ""))
	first := commit(t, repository, simple("one"))
	second := commit(t, repository, simple("two", first))
	set := func(ref, object string) {
		t.Helper()
		if err := repository.SetRef(t.Context(), ref, object); err != nil {
			t.Fatalf("SetRef %s: %v", ref, err)
		}
	}
	set("refs/heads/main", second)
	set("refs/heads/main", first)
	set("refs/heads/gone", first)
	set("refs/heads/gone", "")
	set("refs/heads/never", "")
	set("refs/tags/v1", second)
	gittest.Run(t, folder, "tag", "-a", "-m", "x", "v2", second)
	for ref, want := range map[string]string{"refs/heads/main": first, "refs/heads/gone": "", "refs/heads": "", "refs/tags/v1": second} {
		if got, err := repository.Ref(t.Context(), ref); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", ref, got, err, want)
		}
	}
	for _, bad := range []string{"main", "HEAD", "--all", "refs/heads/a..b", "refs/heads/x\ndelete refs/heads/main", ""} {
		if repository.SetRef(t.Context(), bad, first) == nil {
			t.Errorf("%q was set", bad)
		}
		if _, err := repository.Ref(t.Context(), bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
	if repository.SetRef(t.Context(), "refs/heads/x", strings.Repeat("1", 40)) == nil {
		t.Error("a ref leads to nothing")
	}
	for rev, want := range map[string]string{"v1": second, "v2": second, first: first, first[:7]: first, second[:12]: second} {
		if got, err := repository.Resolve(t.Context(), rev); got != want || err != nil {
			t.Errorf("%s: %q, %v, want %q", rev, got, err, want)
		}
	}
	set("refs/heads/abcdef1234", first)
	for _, bad := range []string{"main", "v3", first[:6], strings.Repeat("1", 40), "HEAD", "abcdef1234", "v1^{tree}", "--all", "", "v1\nv2", gitcmd.BlobID([]byte("one"))} {
		_, err := repository.Resolve(t.Context(), bad)
		wantKind(t, err, gitcmd.NoRef)
	}
	for _, c := range []struct {
		a, b string
		want bool
	}{{first, second, true}, {second, first, false}, {first, first, true}} {
		if got, err := repository.IsAncestor(t.Context(), c.a, c.b); got != c.want || err != nil {
			t.Errorf("%s before %s: %t, %v", c.a, c.b, got, err)
		}
	}
	if _, err := repository.IsAncestor(t.Context(), first, strings.Repeat("1", 40)); err == nil {
		t.Error("a missing commit has ancestors")
	}
	if got, err := repository.Has(t.Context(), strings.Repeat("1", 40)); got || err != nil {
		t.Errorf("a missing object is there: %t, %v", got, err)
	}
	if _, err := repository.Has(t.Context(), "HEAD"); err == nil {
		t.Error("a name is an object")
	}
}

// Maintenance puts packs together, keeps what is recent though no ref leads to it, and disturbs nobody.
func TestMaintain(t *testing.T) {
	t.Parallel()
	git := open(t, "")
	repository, folder := local(t, git)
	packs := func() int {
		found, _ := filepath.Glob(filepath.Join(folder, "objects", "pack", "*.pack"))
		return len(found)
	}
	last, loose := "", commit(t, repository, simple("nobody leads here"))
	for i := range 20 {
		c := simple(fmt.Sprint(i))
		if last != "" {
			c = simple(fmt.Sprint(i), last)
		}
		last = commit(t, repository, c)
	}
	if err := repository.SetRef(t.Context(), "refs/heads/main", last); err != nil {
		t.Fatal(err)
	}
	if err := repository.Maintain(t.Context()); err != nil || packs() != 21 {
		t.Errorf("with few packs: %v, %d packs left", err, packs())
	}
	stale, fresh := filepath.Join(folder, "objects", "tmp_objdir-atelier-stale"), filepath.Join(folder, "objects", "tmp_objdir-atelier-fresh")
	old := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.Mkdir(stale, 0o700), os.Mkdir(fresh, 0o700), os.Chtimes(stale, old, old)); err != nil {
		t.Fatal(err)
	}
	for i := range 25 {
		last = commit(t, repository, simple(fmt.Sprint("more", i), last))
	}
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			if err := repository.Maintain(t.Context()); err != nil {
				t.Errorf("Maintain: %v", err)
			}
		})
		group.Go(func() {
			for i := range 5 {
				if _, err := repository.Commit(t.Context(), simple(fmt.Sprint("meanwhile", i), last)); err != nil {
					t.Errorf("Commit: %v", err)
				}
			}
		})
	}
	group.Wait()
	if packs() > 20 {
		t.Errorf("%d packs left", packs())
	}
	for _, id := range []string{last, loose} {
		if ok, err := repository.Has(t.Context(), id); !ok || err != nil {
			t.Errorf("%s is there: %t, %v", id, ok, err)
		}
	}
	if _, err := os.Stat(stale); err == nil {
		t.Error("the old quarantine is still there")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("the fresh quarantine is gone")
	}
	if err := repository.Check(t.Context()); err != nil {
		t.Error(err)
	}
}
