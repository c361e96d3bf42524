package fsblob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/blob"
	"atelier/internal/blob/blobtest"
	"atelier/internal/blob/fsblob"
)

func TestMain(m *testing.M) {
	if dir, ok := os.LookupEnv("FSBLOB_TEST_WRITER"); ok { //nolint:forbidigo // set by the test itself
		writeForever(dir)
		return
	}
	goleak.VerifyTestMain(m)
}

func TestStore(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) blob.Store {
		t.Helper()
		dir := t.TempDir()
		t.Cleanup(func() { wantNoTemporaryFiles(t, dir) })
		return open(t, dir)
	})
}

func TestContentSurvivesReopening(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "folder")
	info := put(t, open(t, dir), "kept")
	if got, err := readAll(t, open(t, dir), info.Hash); err != nil || got != "kept" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestLayoutIsTheHash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	info := put(t, open(t, dir), "kept")
	data, err := os.ReadFile(pathOf(dir, info.Hash))
	if err != nil || string(data) != "kept" {
		t.Errorf("file holds %q, %v", data, err)
	}
}

func TestKilledWriterLeavesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := open(t, dir)
	writer := exec.CommandContext(t.Context(), os.Args[0]) //nolint:forbidigo // the test as another process
	writer.Env = []string{"FSBLOB_TEST_WRITER=" + dir}
	out, err := writer.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := writer.StdinPipe(); err != nil { // never written to
		t.Fatal(err)
	}
	if err := writer.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil { // it has begun to write
		t.Fatal(err)
	}
	open(t, dir)
	if n := len(temporaryFiles(t, dir)); n != 1 {
		t.Errorf("%d temporary files while the writer lives, want its one: another process's work was swept", n)
	}
	_ = writer.Process.Kill()
	_ = writer.Wait()
	if n := len(temporaryFiles(t, dir)); n != 1 {
		t.Errorf("%d leftovers of the killed writer, want 1", n)
	}
	open(t, dir)
	wantNoTemporaryFiles(t, dir)
	if err := store.Walk(t.Context(), func(info blob.Info) error { return errors.New(info.Hash) }); err != nil {
		t.Errorf("half-written content is visible: %v", err)
	}
}

// writeForever is the other process of TestKilledWriterLeavesNothing.
func writeForever(dir string) {
	store, err := fsblob.Open(dir)
	if err != nil {
		return
	}
	begun := false
	_, _ = store.Put(context.Background(), readerFunc(func(p []byte) (int, error) {
		if begun {
			_, _ = os.Stdout.WriteString("x")
			return os.Stdin.Read(p) // until it is killed, or the test is gone
		}
		begun = true
		return len(p), nil
	}), 0)
}

func TestDamageIsFound(t *testing.T) {
	t.Parallel()
	const size = 100_000
	for name, damage := range map[string]func(data []byte) []byte{
		"flipped first bit": func(data []byte) []byte { data[0] ^= 1; return data },
		"flipped last bit":  func(data []byte) []byte { data[size-1] ^= 1; return data },
		"truncated":         func(data []byte) []byte { return data[:size/2] },
		"emptied":           func([]byte) []byte { return nil },
		"longer":            func(data []byte) []byte { return append(data, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store := open(t, dir)
			info := put(t, store, strings.Repeat("x", size))
			if err := os.WriteFile(pathOf(dir, info.Hash), damage(bytes.Repeat([]byte("x"), size)), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := readAll(t, store, info.Hash)
			if !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("reading %d bytes: %v, want ErrCorrupt", len(got), err)
			}
			if len(got) == size {
				t.Error("all bytes were handed out before the damage was told")
			}
			put(t, store, strings.Repeat("x", size))
			if got, err := readAll(t, store, info.Hash); err != nil || len(got) != size {
				t.Errorf("putting it again does not heal it: %d bytes, %v", len(got), err)
			}
		})
	}
}

func TestShrinkingFileIsNoSilentEnd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := open(t, dir)
	info := put(t, store, strings.Repeat("x", 100_000))
	r, err := store.Open(t.Context(), info.Hash, 10, 90_000) // a part: its checksum is unknown
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(pathOf(dir, info.Hash), 50_000); err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, r); !errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("%d bytes, %v, want ErrCorrupt", n, err)
	}
}

func TestForeignFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	info := put(t, open(t, dir), "mine")
	for _, name := range []string{"README", "ab/README", "ab/" + strings.Repeat("A", 62), "tmp/folder/file"} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var seen []blob.Info
	err := open(t, dir).Walk(t.Context(), func(i blob.Info) error { seen = append(seen, i); return nil })
	if err != nil || len(seen) != 1 || seen[0] != info {
		t.Errorf("Walk sees %v, %v, want only %v", seen, err, info)
	}
}

func TestLinksOutOfTheFolderAreNotFollowed(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	store := open(t, dir)
	info := put(t, store, "inside")
	if err := errors.Join(
		os.WriteFile(outside, []byte("secret"), 0o600),
		os.Remove(pathOf(dir, info.Hash)),
		os.Symlink(outside, pathOf(dir, info.Hash)),
	); err != nil {
		t.Fatal(err)
	}
	if got, err := readAll(t, store, info.Hash); err == nil || got != "" {
		t.Errorf("read %q through a link, %v", got, err)
	}
}

func TestFolderThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fsblob.Open(file); err == nil {
		t.Error("a file was opened as a folder")
	}
}
