package service_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/store"
)

const greeting = "name: hello\ndo: []\n"

func emptyAutomation(name string) map[string]any { return map[string]any{"name": name, "do": []any{}} }

// The history of a workspace is the same for everybody: one commit for what changed, made once, by whoever changed it.
func TestGitHistoryIsStable(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann, bob := f.user("ann"), f.user("bob")
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		one := f.clone(t, ann, at)
		if two := f.clone(t, bob, at); two.head() != one.head() {
			t.Fatal("two clones of the same differ")
		}
		first := one.head()
		f.clk.Advance(time.Minute)
		bob.put(at+"/automations/hello", emptyAutomation("hello")).want(http.StatusCreated)
		other := f.again(t)
		var group sync.WaitGroup
		heads := make([]string, 6)
		for i := range heads {
			group.Go(func() { heads[i] = []*forge{f, other}[i%2].clone(t, ann, at).head() })
		}
		group.Wait()
		one.git("pull", "-q")
		for _, head := range heads {
			if head != one.head() {
				t.Errorf("clones at the same time are at %v, a later one at %s", heads, one.head())
			}
		}
		if parent := one.git("rev-parse", "HEAD^"); parent != first {
			t.Errorf("the parent is %s, want %s", parent, first)
		}
		want := "Name of bob|bob@example.test|Atelier|" + fmt.Sprint(f.clk.Now().Unix()) + "|Change automations/hello.yml"
		if got := one.git("log", "-1", "--format=%an|%ae|%cn|%at|%s"); got != want {
			t.Errorf("the commit says %s, want %s", got, want)
		}
		one.git("fsck", "--strict")
		f.wantNoLeftOvers()
	})
}

// Nothing is only in the folder of copies: it can be lost, damaged, or another machine's.
func TestGitHistorySurvivesALostFolder(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := ann.workspace("Mine")
		work := f.clone(t, ann, at).write("automations/hello.yml", greeting, "README.md", "# Mine\n").commit()
		work.git("push", "-q")
		ann.put(at+"/automations/bye", emptyAutomation("bye")).want(http.StatusCreated)
		work.git("pull", "-q")
		head := work.head()
		if err := os.RemoveAll(filepath.Join(f.folder, "served")); err != nil {
			t.Fatal(err)
		}
		lost := f.clone(t, ann, at)
		elsewhere := f.again(t).clone(t, ann, at)
		if lost.head() != head || elsewhere.head() != head || elsewhere.read("README.md") != "# Mine\n" {
			t.Errorf("the head is %s, without the folder %s, elsewhere %s", head, lost.head(), elsewhere.head())
		}
		packs, err := filepath.Glob(filepath.Join(f.folder, "served", "*.git", "objects", "pack", "*.pack"))
		if err != nil || len(packs) == 0 {
			t.Fatal(packs, err)
		}
		for _, pack := range packs {
			if err := os.Truncate(pack, 20); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = (&repo{t: t, folder: t.TempDir()}).try("clone", f.listen(t, ann)+strings.TrimPrefix(at, workspacesPath)) // may fail: it finds the damage
		if healed := f.clone(t, ann, at); healed.head() != head {
			t.Errorf("after damage the head is %s", healed.head())
		}
	})
}

// A long history is put together, and stays what it was.
func TestGitHistoryIsPutTogether(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := ann.workspace("Mine")
		work := f.clone(t, ann, at)
		const edits = 55
		for i := range edits {
			ann.put(at+"/automations/hello", map[string]any{"name": fmt.Sprint("hello ", i), "do": []any{}})
			work.git("fetch", "-q")
		}
		work.git("reset", "-q", "--hard", "origin/main")
		var rows int
		if err := f.db.QueryRow(t.Context(), `SELECT COUNT(*) FROM ws_git_packs`).Scan(&rows); err != nil || rows > 50 {
			t.Errorf("%d packs, error %v", rows, err)
		}
		elsewhere := f.again(t).clone(t, ann, at)
		if elsewhere.head() != work.head() || elsewhere.git("rev-list", "--count", "HEAD") != fmt.Sprint(edits+1) {
			t.Errorf("elsewhere it is at %s with %s commits", elsewhere.head(), elsewhere.git("rev-list", "--count", "HEAD"))
		}
		f.clk.Advance(48 * time.Hour)
		before := len(f.hashes())
		f.sweep()
		if after := len(f.hashes()); after != rows || after >= before {
			t.Errorf("%d contents before the sweep, %d after, %d packs", before, after, rows)
		}
		f.again(t).clone(t, ann, at)
		ann.delete(at).want(http.StatusOK)
		f.clk.Advance(f.deps.BinAge + time.Hour)
		f.tidy()
		f.clk.Advance(48 * time.Hour)
		f.sweep()
		if left := f.hashes(); len(left) > 0 {
			t.Errorf("left of a workspace that is gone: %v", left)
		}
	})
}

// A push becomes the content of the workspace in one edit: what was secret stays, and what is said is told.
func TestGitPush(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := ann.workspace("Mine")
		ann.put(at+"/automations/old", emptyAutomation("old")).want(http.StatusCreated)
		ann.patch(at+"/config", map[string]any{
			"schema": map[string]any{"password": map[string]any{"type": "string", "secret": true}}, "value": map[string]any{"password": "hunter2", "colour": "red"},
		}).want(http.StatusOK)
		work := f.clone(t, ann, at)
		if strings.Contains(work.git("grep", "-h", "", "HEAD"), "hunter2") || !strings.Contains(work.read("index.yml"), "red") {
			t.Fatalf("the clone has: %s", work.read("index.yml"))
		}
		work.write("index.yml", strings.Replace(work.read("index.yml"), "red", "blue", 1), "automations/hello.yml", greeting, "automations/old.yml", "").commit()
		if said := work.git("push"); !strings.Contains(said, "2 documents written, 1 document deleted.") {
			t.Errorf("the push says %s", said)
		}
		if text := f.indexText(at); !strings.Contains(text, "hunter2") || !strings.Contains(text, "blue") {
			t.Errorf("the index of the workspace lost something: %s", text)
		}
		ann.get(at+"/automations/old").wantError(http.StatusNotFound, errs.NotFound)
		if again := f.clone(t, ann, at); again.head() != work.head() {
			t.Errorf("what was pushed is %s, cloned is %s\n%s", work.head(), again.head(), again.git("log", "-p", "-1"))
		}
		told := f.payload(at, "workspaces.imported")
		if told.text("version.name") != work.head()[:10] || told.text("importedFilesCount") != "2" || told.text("deletedFilesCount") != "1" {
			t.Errorf("event: %s", told.body)
		}
		if exported := f.payload(at, "workspaces.exported"); exported.text("version.type") != "git" {
			t.Errorf("event: %s", exported.body)
		}
		edits := ann.get(at + "/history").want(http.StatusOK)
		if edits.text("0.reason") != "pull" {
			t.Errorf("history: %s", edits.body)
		}
		f.wantUnlocked(ann, at)
		f.wantNoLeftOvers()
	})
}

// indexText is the index of the workspace at an address, as it is stored.
func (f *forge) indexText(at string) (text string) {
	f.t.Helper()
	id := strings.TrimPrefix(at, workspacesPath)
	tree, err := store.Tree(f.t.Context(), f.db, id)
	if err != nil {
		f.t.Fatal(err)
	}
	for _, entry := range tree {
		if entry.Path == "index" {
			stored, err := store.Text(f.t.Context(), f.db, id, entry.Hash)
			if err != nil {
				f.t.Fatal(err)
			}
			return string(stored)
		}
	}
	return ""
}

// What the workspace makes of a push that is not what was pushed is one more commit, which says so.
func TestGitPushThatIsKeptDifferently(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := ann.workspace("Mine")
		work := f.clone(t, ann, at).write("automations/here.yml", "slug: there\n"+greeting).commit()
		if said := work.git("push"); !strings.Contains(said, "The workspace made something else of it: pull to see") {
			t.Errorf("it says %s", said)
		}
		pushed := work.head()
		work.git("pull", "-q")
		if work.git("rev-parse", "HEAD^") != pushed || work.read("automations/there.yml") != "slug: there\n"+greeting {
			t.Error("the workspace's own commit is not on top of what was pushed")
		}
		if got := work.git("log", "-1", "--format=%s"); got != "What the workspace made of "+pushed[:10] {
			t.Errorf("it says %s", got)
		}
		if _, err := os.Stat(filepath.Join(work.folder, "automations/here.yml")); err == nil {
			t.Error("the file has both names")
		}
		mine := ann.get(at).want(http.StatusOK).text("slug")
		taken := ann.get(ann.workspace("Other")).want(http.StatusOK).text("slug")
		index := work.read("index.yml")
		work.write("index.yml", strings.Replace(index, "slug: "+mine, "slug: "+taken, 1)).commit().refused(push(), "The slug "+taken+" is already used")
		work.git("reset", "-q", "--hard", "HEAD^")
		work.write("index.yml", strings.Replace(index, "slug: "+mine, "slug: brand-new", 1)).commit()
		if said := work.git("push"); !strings.Contains(said, "The workspace is at /git/brand-new now.") {
			t.Errorf("it says %s", said)
		}
		if f.clone(t, ann, workspacesPath+"brand-new.git").head() != work.head() {
			t.Error("it is not there")
		}
	})
}

// Everything that git can ask of a server that is not to be had here is refused with a reason, and changes nothing.
func TestGitPushRefused(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := ann.workspace("Mine")
		base := f.clone(t, ann, at).write("automations/hello.yml", greeting).commit()
		base.git("push", "-q")
		before := f.rows()
		fresh := func() *repo { return f.clone(t, ann, at) }
		for name, c := range map[string]struct {
			make func(r *repo)
			args []string
			want []string
		}{
			"an automation that is wrong": {
				func(r *repo) {
					r.write("automations/hello.yml", "name: x\ndo:\n  - {}\n  - unknown: 1\n", "pages/p.yml", "blocks: 7\n").commit()
				}, push(),
				[]string{"remote: automations/hello.yml: line ", "remote: pages/p.yml: line 1: blocks: ", "things are wrong with it"},
			},
			"no YAML":          {func(r *repo) { r.write("automations/hello.yml", "a: [\n").commit() }, push(), []string{"remote: automations/hello.yml: line "}},
			"no index":         {func(r *repo) { r.write("index.yml", "").commit() }, push(), []string{"there is no index.yml"}},
			"no security":      {func(r *repo) { r.write("security.yml", "").commit() }, push(), []string{"cannot be deleted"}},
			"a bad security":   {func(r *repo) { r.write("security.yml", "authorizations: {roles: 7}\n").commit() }, push(), []string{"remote: security.yml: "}},
			"a link":           {func(r *repo) { _ = os.Symlink("/etc/passwd", filepath.Join(r.folder, "automations/l.yml")); r.commit() }, push(), []string{"automations/l.yml: it is a link"}},
			"a link elsewhere": {func(r *repo) { _ = os.Symlink("/etc/passwd", filepath.Join(r.folder, "passwd")); r.commit() }, push(), []string{"passwd: it is a link"}},
			"a program":        {func(r *repo) { _ = os.Chmod(filepath.Join(r.folder, "automations/hello.yml"), 0o700); r.commit() }, push(), []string{"it has the mode 100755"}},
			"a submodule": {func(r *repo) {
				r.git("update-index", "--add", "--cacheinfo", "160000,"+r.head()+",sub")
				r.git("commit", "-q", "-m", "s")
			}, push(), []string{"sub: it is a submodule"}},
			"a name that is none": {func(r *repo) { r.write("automations/a&b.yml", greeting).commit() }, push(), []string{"automations/a&b.yml"}},
			"names that fold":     {func(r *repo) { r.write("automations/Hello.yml", greeting).commit() }, push(), []string{"it is the same document as"}},
			"a large document": {func(r *repo) {
				r.write("automations/hello.yml", "name: x\n# "+strings.Repeat("x", 6<<20)+"\n").commit()
			}, push(), []string{"a document may have at most"}},
			"a forced push":        {func(r *repo) { r.git("commit", "-q", "--amend", "-m", "Other") }, push("--force"), []string{"non-fast-forward"}},
			"an unrelated history": {func(r *repo) { r.git("checkout", "-q", "--orphan", "o"); r.commit() }, push("--force"), []string{"non-fast-forward"}},
			"another branch":       {func(*repo) {}, []string{"push", "origin", "HEAD:refs/heads/other"}, []string{"only the branch main can be pushed"}},
			"a tag":                {func(r *repo) { r.git("tag", "v1") }, []string{"push", "origin", "v1"}, []string{"only the branch main can be pushed"}},
			"a delete":             {func(*repo) {}, []string{"push", "origin", ":main"}, []string{"the branch main cannot be deleted"}},
			"all or nothing":       {func(r *repo) { r.write("automations/bye.yml", greeting).commit() }, push("HEAD:other", "--atomic"), []string{"atomic push failed"}},
		} {
			t.Run(name, func(t *testing.T) {
				r := fresh()
				r.t = t
				c.make(r)
				r.refused(c.args, c.want...)
			})
		}
		exportless := func(rows string) string { // who cloned is told, and nothing else
			var kept []string
			for line := range strings.Lines(rows) {
				if !strings.HasPrefix(line, "bus_") && !strings.HasPrefix(line, "ws_contents") {
					kept = append(kept, line)
				}
			}
			return strings.Join(kept, "")
		}
		if after := f.rows(); exportless(after) != exportless(before) {
			t.Errorf("refused pushes changed something:\n%s\n%s", before, after)
		}
		f.wantNoLeftOvers()
	})
}

// Locks, rights and other people's work are respected, and the client reads why.
func TestGitPushRespects(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann, bob, eve := f.user("ann"), f.user("bob"), f.user("eve")
		at := ann.workspace("Mine")
		ann.share(at, "bob", map[string]any{"role": "editor"}).want(http.StatusOK)
		ann.share(at, "eve", map[string]any{"policies": map[string]any{"read": true}}).want(http.StatusOK)
		mine, his, hers := f.clone(t, ann, at), f.clone(t, bob, at), f.clone(t, eve, at)
		hers.write("automations/hello.yml", greeting).commit().refused(push(), "remote: ", "403")
		ann.post(at+"/writeLock", map[string]any{"reason": "release"}).want(http.StatusOK)
		his.write("automations/hello.yml", greeting).commit().refused(push(), "remote rejected", "release")
		ann.delete(at + "/writeLock").want(http.StatusOK)
		his.git("push", "-q")
		mine.write("automations/mine.yml", greeting).commit().refused(push(), "fetch first")
		mine.refused(push("--force"), "non-fast-forward")
		mine.git("pull", "-q", "--rebase")
		mine.git("push", "-q")
		his.git("pull", "-q")
		his.write("security.yml", his.read("security.yml")+"# mine\n").commit().refused(push(), "security: The roles and rules were left out: only who may manage")
		his.git("reset", "-q", "--hard", "HEAD^")
		mine.write("security.yml", mine.read("security.yml")+"# mine\n").commit().git("push", "-q")
		(&repo{t: t, folder: t.TempDir()}).refused([]string{"clone", f.listen(t, f.user("out")) + strings.TrimPrefix(at, workspacesPath)}, "403", "remote: ")
		ann.delete(at).want(http.StatusOK)
		(&repo{t: t, folder: t.TempDir()}).refused([]string{"clone", f.listen(t, f.superAdmin()) + strings.TrimPrefix(at, workspacesPath)}, "not found")
	})
}

// Of pushes at the same time, in one process or several, one is applied; the others are asked to fetch first.
func TestGitPushRace(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := ann.workspace("Mine")
		other := f.again(t)
		const racers = 6
		var clones []*repo
		for i := range racers {
			clones = append(clones, []*forge{f, other}[i%2].clone(t, ann, at).write(fmt.Sprintf("automations/a%d.yml", i), greeting).commit())
		}
		var group sync.WaitGroup
		won := make([]bool, racers)
		for i, r := range clones {
			group.Go(func() {
				said, err := r.try("push", "-q")
				won[i] = err == nil
				if err != nil && !strings.Contains(said, "fetch first") {
					t.Errorf("clone %d: %s", i, said)
				}
			})
		}
		group.Wait()
		winners := 0
		for i, did := range won {
			if did {
				winners++
				ann.get(fmt.Sprintf("%s/automations/a%d", at, i)).want(http.StatusOK)
				if f.clone(t, ann, at).head() != clones[i].head() || other.clone(t, ann, at).head() != clones[i].head() {
					t.Error("the head is not what was pushed")
				}
			}
		}
		if winners != 1 {
			t.Errorf("%d pushes of %d were applied", winners, racers)
		}
	})
}

// Every way to fetch works: old protocols, shallow clones, lists, rehearsals, and pushes from a shallow clone.
func TestGitProtocols(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := ann.workspace("Mine")
		work := f.clone(t, ann, at).write("automations/hello.yml", greeting).commit()
		if work.git("push", "--dry-run"); f.clone(t, ann, at).head() == work.head() {
			t.Error("a rehearsal was applied")
		}
		work.git("push", "-q")
		for _, version := range []string{"0", "1", "2"} {
			r := f.clone(t, ann, at, "-c", "protocol.version="+version)
			if r.head() != work.head() {
				t.Errorf("protocol %s: %s", version, r.head())
			}
			if list := r.git("-c", "protocol.version="+version, "ls-remote"); !strings.Contains(list, work.head()+"\tHEAD") || !strings.Contains(list, work.head()+"\trefs/heads/main") {
				t.Errorf("protocol %s lists %s", version, list)
			}
		}
		shallow := f.clone(t, ann, at, "--depth", "1")
		if shallow.git("rev-list", "--count", "HEAD") != "1" {
			t.Error("the shallow clone is deep")
		}
		shallow.write("automations/bye.yml", greeting).commit().git("push", "-q", "--atomic")
		ann.get(at + "/automations/bye").want(http.StatusOK)
		shallow.git("push", "-q") // there is nothing to push
		shallow.git("fetch", "-q", "--unshallow")
		work.git("pull", "-q")
		if work.head() != shallow.head() {
			t.Error("the clones differ")
		}
	})
}

// What is not the protocol, or ends in its middle, is refused; nothing of it is kept.
func TestGitHostileRequests(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := "/git/" + strings.TrimPrefix(ann.workspace("Mine"), workspacesPath)
		refs := ann.get(at + "/info/refs?service=git-receive-pack").want(http.StatusOK).body.String()
		_, rest, _ := strings.Cut(refs, "0000")
		head := rest[4:44]
		zero, some := strings.Repeat("0", 40), strings.Repeat("1", 40)
		line := func(text string) string { return fmt.Sprintf("%04x%s", len(text)+4, text) }
		command := line(head+" "+some+" refs/heads/main\x00report-status side-band-64k\n") + "0000"
		before := f.rows()
		sending := ann.with("Content-Type", "application/x-git-receive-pack-request")
		for name, body := range map[string]string{
			"no protocol": "hello", "a line that is too short": "0003", "a cut line": "00ffabc", "nothing": "", "no commits": line("a b c") + "0000",
			"a ref that is none": line(head+" "+some+" ../../etc/passwd\x00report-status") + "0000", "endless lines": strings.Repeat(line("shallow "+head+"\n"), 6000),
		} {
			if got := sending.post(at+"/git-receive-pack", body); got.status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", name, got.status, got.body)
			}
		}
		for name, c := range map[string]struct{ body, want string }{
			"no pack":        {command, "unpack What was sent is not a pack."},
			"a broken pack":  {command + "PACK\x00\x00\x00\x02\x00\x00\x00\x01garbage that is long enough", "unpack What was sent is not sound"},
			"a cut pack":     {command + "PACK\x00\x00\x00\x02\x00\x00\x00\x01", "unpack What was sent is not sound"},
			"too many":       {command + "PACK\x00\x00\x00\x02\xff\xff\xff\xff" + strings.Repeat("x", 40), "at most 1000000 are allowed"},
			"an empty pack":  {command + "PACK\x00\x00\x00\x02\x00\x00\x00\x00\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e", "ng refs/heads/main What was pushed is not complete"},
			"a delete":       {line(head+" "+zero+" refs/heads/main\x00report-status\n") + "0000", "ng refs/heads/main the branch main cannot be deleted"},
			"from elsewhere": {line(some+" "+some+" refs/heads/main\x00report-status\n") + "0000PACK\x00\x00\x00\x02\x00\x00\x00\x00", "ng refs/heads/main fetch first"},
			"another branch": {line(zero+" "+some+" refs/heads/x\x00report-status\n") + "0000PACK", "ng refs/heads/x only the branch main"},
		} {
			if got := sending.post(at+"/git-receive-pack", c.body).want(http.StatusOK).body.String(); !strings.Contains(got, c.want) {
				t.Errorf("%s: %q", name, got)
			}
		}
		sending.post(at+"/git-receive-pack", "0000").want(http.StatusOK) // it only asks whether it may
		ann.post(at+"/git-receive-pack", "0000").want(http.StatusUnsupportedMediaType)
		ann.get(at+"/info/refs").wantError(http.StatusBadRequest, errs.InvalidParameter)
		ann.get(at + "/HEAD").want(http.StatusNotFound)
		asking := ann.with("Content-Type", "application/x-git-upload-pack-request")
		if got := asking.post(at+"/git-upload-pack", "rubbish"); got.status != http.StatusBadRequest {
			t.Errorf("rubbish: %d %s", got.status, got.body)
		}
		asking.header.Set("Content-Encoding", "br")
		asking.post(at+"/git-upload-pack", "0000").want(http.StatusUnsupportedMediaType)
		asking.header.Set("Content-Encoding", "gzip")
		asking.post(at+"/git-upload-pack", "0000").want(http.StatusBadRequest)
		list := line("command=ls-refs\n") + "0000"
		asking.header.Set("Git-Protocol", "version=2:other")
		if got := asking.post(at+"/git-upload-pack", gzipped(t, strings.NewReader(list))).want(http.StatusOK).body.String(); !strings.Contains(got, head+" refs/heads/main") {
			t.Errorf("gzip: %q", got)
		}
		bomb := gzipped(t, io.LimitReader(manyTimes(line("have "+head+"\n")), 40_000_000))
		if got := asking.post(at+"/git-upload-pack", bomb); got.status != http.StatusRequestEntityTooLarge && got.status != http.StatusBadRequest {
			t.Errorf("a bomb: %d %s", got.status, got.body)
		}
		if after := f.rows(); after != before {
			t.Errorf("hostile requests changed something:\n%s\n%s", before, after)
		}
		f.wantNoLeftOvers()
	})
}

// A push that is too large is told so, and nothing of it stays.
func TestGitPushTooLarge(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		f.deps.Versioning.MaxPush = 50_000
		f.open()
		ann := f.user("ann")
		at := ann.workspace("Mine")
		work := f.clone(t, ann, at)
		head := work.head()
		noise := make([]byte, 120_000)
		_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
		work.write("noise.bin", string(noise)).commit().refused(push(), "the pack is too large", "larger than 50000 bytes")
		if f.clone(t, ann, at).head() != head {
			t.Error("something of it stayed")
		}
		f.wantNoLeftOvers()
	})
}

// Only so many clients are served at a time; another one waits for a while, and is then asked to come again.
func TestGitClientsAtOnce(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		at := "/git/" + strings.TrimPrefix(ann.workspace("Mine"), workspacesPath)
		refs := at + "/info/refs?service=git-upload-pack"
		ann.get(refs).want(http.StatusOK)
		var group sync.WaitGroup
		release := make(chan struct{})
		for range 16 {
			w := &unread{ResponseRecorder: httptest.NewRecorder(), begun: make(chan struct{}), release: release}
			group.Go(func() {
				f.door.ServeHTTP(w, httptest.NewRequestWithContext(access.With(t.Context(), ann.who), http.MethodGet, refs, nil))
			})
			<-w.begun
		}
		refused := f.patiently(func() *answer { return ann.get(refs) })
		refused.wantError(http.StatusTooManyRequests, errs.ConcurrentRequestLimit)
		if refused.header.Get("Retry-After") == "" {
			t.Error("it does not say when to come again")
		}
		close(release)
		group.Wait()
		ann.get(refs).want(http.StatusOK)
	})
}

// unread is the answer to a client that does not read it.
type unread struct {
	*httptest.ResponseRecorder

	once           sync.Once
	begun, release chan struct{}
}

func (s *unread) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.begun) })
	<-s.release
	return s.ResponseRecorder.Write(p)
}

// patiently lets time go by until there is an answer.
func (f *forge) patiently(ask func() *answer) *answer {
	done := make(chan *answer)
	go func() { done <- ask() }()
	for {
		select {
		case a := <-done:
			return a
		default:
			f.clk.Advance(time.Second)
		}
	}
}

// Clients that are slow to say what they want do not keep others from being served.
func TestGitClientsThatAreSlow(t *testing.T) {
	t.Parallel()
	eachForge(t, func(t *testing.T, f *forge) {
		ann := f.user("ann")
		id := strings.TrimPrefix(ann.workspace("Mine"), workspacesPath)
		at := "/git/" + id
		ann.get(at + "/info/refs?service=git-upload-pack").want(http.StatusOK)
		var group sync.WaitGroup
		var writers []*io.PipeWriter
		answers := make([]*httptest.ResponseRecorder, 20)
		for i := range answers {
			body, writer := io.Pipe()
			writers = append(writers, writer)
			answers[i] = httptest.NewRecorder()
			group.Go(func() {
				r := httptest.NewRequestWithContext(access.With(t.Context(), ann.who), http.MethodPost, at+"/git-upload-pack", body)
				r.Header.Set("Content-Type", "application/x-git-upload-pack-request")
				r.Header.Set("Git-Protocol", "version=2")
				f.door.ServeHTTP(answers[i], r)
			})
			if i >= 16 { // the first ones are enough to take every turn
				continue
			}
			if _, err := io.WriteString(writer, "0014command=ls-refs\n"); err != nil { // it is being read
				t.Fatal(err)
			}
		}
		f.patiently(func() *answer { return ann.get(at + "/info/refs?service=git-upload-pack") }).want(http.StatusOK)
		for i, writer := range writers {
			if i < 16 {
				if _, err := io.WriteString(writer, "0000"); err != nil {
					t.Error(err)
				}
			}
			_ = writer.Close()
		}
		group.Wait()
		for i, w := range answers[:16] { // and are served when they have said it
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "refs/heads/main") {
				t.Errorf("client %d: %d %s", i, w.Code, w.Body)
			}
		}
		f.wantNoLeftOvers()
	})
}

// manyTimes is a text again and again.
func manyTimes(text string) io.Reader {
	return io.MultiReader(strings.NewReader(strings.Repeat(text, 900_000)))
}

func gzipped(t *testing.T, from io.Reader) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.Copy(w, from); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}
