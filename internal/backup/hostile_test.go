package backup_test

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"atelier/internal/backup"
)

// entry is one entry of a handcrafted archive; regular unless a type is given.
type entry struct {
	name, text, link string
	kind             byte
}

// handcrafted makes an archive of anything.
func handcrafted(t *testing.T, entries ...entry) []byte {
	t.Helper()
	var out bytes.Buffer
	compressor, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressor)
	for _, e := range entries {
		header := &tar.Header{Name: e.name, Typeflag: e.kind, Linkname: e.link, Size: int64(len(e.text)), Mode: 0o6777}
		if e.kind == 0 {
			header.Typeflag = tar.TypeReg
		}
		if err := archive.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(e.text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := compressor.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// manifestOf describes entries truthfully; change may make it lie.
func manifestOf(t *testing.T, change func(*backup.Manifest), entries ...entry) entry {
	t.Helper()
	manifest := backup.Manifest{Format: 1}
	for _, e := range entries {
		sum := sha256.Sum256([]byte(e.text))
		manifest.Files = append(manifest.Files, backup.File{Name: e.name, Size: int64(len(e.text)), SHA256: hex.EncodeToString(sum[:])})
	}
	change(&manifest)
	text, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	return entry{name: "manifest.json", text: string(text)}
}

const notWhole = "this is not a whole backup"

// wantRefused restores and wants the error, and nothing left: neither in the directory nor beside it.
func wantRefused(t *testing.T, text []byte, want string) {
	t.Helper()
	parent := t.TempDir()
	_, err := backup.Restore(t.Context(), bytes.NewReader(text), into(filepath.Join(parent, "data")), accept)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v, want one sentence with %q", err, want)
	}
	wantTree(t, parent, map[string]string{})
}

func TestUnexpectedEntriesAreRefused(t *testing.T) {
	t.Parallel()
	database := entry{name: "atelier.db", text: "db"}
	for _, hostile := range []entry{
		{name: "../escaped", text: "x"},
		{name: "/etc/cron.d/escaped", text: "x"},
		{name: "blobs/../../escaped", text: "x"},
		{name: "blobs/" + strings.Repeat("../", 20) + "escaped", text: "x"},
		{name: "blobs/" + blobPath("x") + "/../../../x", text: "x"},
		{name: "blobs/" + strings.ToUpper(blobPath("x")), text: "x"},
		{name: "blobs/aa/" + strings.Repeat(".", 62), text: "x"},
		{name: "./atelier.db", text: "x"},
		{name: "atelier.db-wal", text: "x"},
		{name: "atelier.lock", text: "x"},
		{name: "internal.key", kind: tar.TypeSymlink, link: "/etc/passwd"},
		{name: "internal.key", kind: tar.TypeLink, link: "atelier.db"},
		{name: "internal.key", kind: tar.TypeFifo},
		{name: "internal.key", kind: tar.TypeChar},
		{name: "blobs", kind: tar.TypeSymlink, link: "/tmp"},
		{name: "blobs/" + blobPath("x"), kind: tar.TypeSymlink, link: "../../escaped"},
		{name: "blobs/aa", kind: tar.TypeDir},
	} {
		wantRefused(t, handcrafted(t, database, hostile, manifestOf(t, func(*backup.Manifest) {}, database, hostile)), "unexpected entry")
	}
}

func TestLyingArchivesAreRefused(t *testing.T) {
	t.Parallel()
	database, key := entry{name: "atelier.db", text: "db"}, entry{name: "internal.key", text: "k"}
	content := entry{name: "blobs/" + blobPath("x"), text: "x"}
	honest := func(*backup.Manifest) {}
	missing := func(m *backup.Manifest) {
		m.Files = append(m.Files, backup.File{Name: "internal.key", Size: 1, SHA256: "x"})
	}
	newer := func(m *backup.Manifest) { m.Format, m.Version = 2, "9.9" }
	for name, test := range map[string]struct {
		entries []entry
		want    string
	}{
		"no manifest":           {[]entry{database}, notWhole},
		"nothing at all":        {nil, notWhole},
		"manifest of nothing":   {[]entry{manifestOf(t, honest)}, notWhole},
		"no database":           {[]entry{key, manifestOf(t, honest, key)}, notWhole},
		"unlisted file":         {[]entry{database, key, manifestOf(t, honest, database)}, notWhole},
		"missing file":          {[]entry{database, manifestOf(t, missing, database)}, "internal.key in the backup is damaged or missing"},
		"wrong checksum":        {[]entry{database, manifestOf(t, honest, entry{name: "atelier.db", text: "DB"})}, "atelier.db in the backup is damaged"},
		"wrong size":            {[]entry{database, manifestOf(t, func(m *backup.Manifest) { m.Files[0].Size++ }, database)}, "atelier.db in the backup is damaged"},
		"other content":         {[]entry{database, {name: content.name, text: "y"}, manifestOf(t, honest, database, content)}, "damaged or missing"},
		"twice the same":        {[]entry{database, database, manifestOf(t, honest, database)}, `holds "atelier.db" twice`},
		"manifest in between":   {[]entry{database, manifestOf(t, honest, database, key), key}, notWhole},
		"two manifests":         {[]entry{database, manifestOf(t, honest, database), manifestOf(t, honest, database)}, notWhole},
		"manifest is not JSON":  {[]entry{database, {name: "manifest.json", text: "{"}}, notWhole},
		"manifest of no format": {[]entry{database, manifestOf(t, func(m *backup.Manifest) { m.Format = 0 }, database)}, notWhole},
		"newer format":          {[]entry{database, manifestOf(t, newer, database)}, "made by Atelier 9.9; restore it with that release"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, handcrafted(t, test.entries...), test.want)
		})
	}
}

// The bits of permission in an archive mean nothing.
func TestHandcraftedButHonestArchiveIsTaken(t *testing.T) {
	t.Parallel()
	database := entry{name: "atelier.db", text: "db"}
	dir := filepath.Join(t.TempDir(), "data")
	text := handcrafted(t, database, manifestOf(t, func(*backup.Manifest) {}, database))
	if _, err := backup.Restore(t.Context(), bytes.NewReader(text), into(dir), accept); err != nil {
		t.Fatal(err)
	}
	wantTree(t, dir, map[string]string{"atelier.db": "db"})
	wantPrivate(t, dir)
}

func TestSomethingElseIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", strings.Repeat("not a backup\n", 1000), "\x28\xb5\x2f\xfd", "PK\x03\x04"} {
		wantRefused(t, []byte(text), notWhole)
	}
}

// step is how far apart the places are that a run damages; each run begins with another one.
const step = 5

func TestShortenedBackupIsRefused(t *testing.T) {
	t.Parallel()
	whole := create(t, source(sample(t)))
	for length := rand.IntN(step); length < len(whole); length += step {
		wantRefused(t, whole[:length], notWhole)
	}
}

// Every byte matters: flipped, it is noticed, or it is one that says nothing (a reserved bit, a padding), and then what is
// restored is what was backed up.
func TestFlippedByteIsNoticed(t *testing.T) {
	t.Parallel()
	whole := create(t, source(sample(t)))
	silent := 0
	for at := rand.IntN(step); at < len(whole); at += step {
		damaged := bytes.Clone(whole)
		damaged[at] ^= byte(1 + rand.IntN(255))
		parent := t.TempDir()
		dir := filepath.Join(parent, "data")
		if _, err := backup.Restore(t.Context(), bytes.NewReader(damaged), into(dir), accept); err != nil {
			wantTree(t, parent, map[string]string{})
			continue
		}
		silent++
		wantTree(t, dir, restored())
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	if silent > len(whole)/step/20 {
		t.Errorf("%d of %d flipped bytes were not noticed", silent, len(whole)/step)
	}
}
