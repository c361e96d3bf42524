package merge_test

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"atelier/internal/dsul/merge"
	"atelier/internal/dsul/splice"
)

var update = flag.Bool("update", false, "rewrite what the cases expect")

// section is one part of a case in an archive: base, ours, theirs, conflicts (a path a line), merged, git.
type section struct{ *txtar.File }

// cases reads the cases of an archive, in order.
func cases(archive *txtar.Archive) (names []string, sections map[string]map[string]section) {
	sections = map[string]map[string]section{}
	for i := range archive.Files {
		file := &archive.Files[i]
		name, part, _ := strings.Cut(file.Name, "/")
		if sections[name] == nil {
			names, sections[name] = append(names, name), map[string]section{}
		}
		sections[name][part] = section{file}
	}
	return names, sections
}

// Every case is merged as it says, and git says what stands beside it.
func TestCases(t *testing.T) {
	t.Parallel()
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	total, better := 0, 0
	for _, path := range archives {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		names, sections := cases(archive)
		for _, name := range names {
			t.Run(filepath.Base(path)+"/"+name, func(t *testing.T) { oneCase(t, sections[name]) })
			total++
			if _, conflicts := sections[name]["conflicts"]; !conflicts && string(sections[name]["git"].Data) != "clean\n" {
				better++
			}
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if total < 80 || better < 40 {
		t.Errorf("%d cases, and %d that git does not solve: some have been lost", total, better)
	}
}

func oneCase(t *testing.T, parts map[string]section) {
	base, ours, theirs := parts["base"].Data, parts["ours"].Data, parts["theirs"].Data
	got, err := merge.Texts(base, ours, theirs)
	if err != nil {
		t.Fatal(err)
	}
	var paths []string
	for _, c := range got.Conflicts {
		paths = append(paths, strings.Join(c.Path, "/"))
	}
	var want []string
	if wanted, ok := parts["conflicts"]; ok {
		want = strings.Split(strings.TrimSpace(string(wanted.Data)), "\n")
	}
	if !slices.Equal(paths, want) {
		t.Errorf("conflicts at %q, want %q", paths, want)
	}
	answer := gitsAnswer(t, parts, got)
	if *update {
		parts["merged"].Data, parts["git"].Data = got.Text, []byte(answer+"\n")
		return
	}
	if !bytes.Equal(got.Text, parts["merged"].Data) {
		t.Errorf("merged:\n%s\nwant:\n%s", got.Text, parts["merged"].Data)
	}
	if wanted := strings.TrimSpace(string(parts["git"].Data)); answer != wanted {
		t.Errorf("git's answer is %s, not %s", answer, wanted)
	}
}

// gitsAnswer asks git: clean, conflict, wrong when it means something else than our merge or hides our conflict, broken
// when it cannot be read.
func gitsAnswer(t *testing.T, parts map[string]section, got merge.Result) string {
	text, clean := git(t, parts["base"].Data, parts["ours"].Data, parts["theirs"].Data)
	if !clean {
		return "conflict"
	}
	read, err := splice.Read(text)
	if err != nil {
		return "broken"
	}
	merged, err := splice.Read(got.Text)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Conflicts) > 0 || !read.Means(text, merged.Value()) {
		return "wrong"
	}
	return "clean"
}

// git merges texts line by line.
func git(t *testing.T, base, ours, theirs []byte) (text []byte, clean bool) {
	t.Helper()
	folder := t.TempDir()
	args := []string{"merge-file", "-p"}
	for i, text := range [][]byte{ours, base, theirs} {
		path := filepath.Join(folder, string(rune('a'+i)))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, path)
	}
	command := exec.CommandContext(t.Context(), "git", args...) //nolint:forbidigo // git's own answer, without what we make of it
	command.Dir = folder
	command.Env = append(command.Environ(), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null/nowhere", "GIT_DIR=/dev/null/nowhere")
	out, err := command.Output()
	if exit := new(exec.ExitError); errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128 {
		return out, false
	}
	if err != nil {
		t.Fatal(err)
	}
	return out, true
}
