package archive_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archive/archivetest"
)

func read(raw []byte) (*archive.Archive, error) {
	return archive.Read(bytes.NewReader(raw), int64(len(raw)), archive.DefaultLimits())
}

func mustRead(t *testing.T, raw []byte) *archive.Archive {
	t.Helper()
	found, err := read(raw)
	if err != nil {
		t.Fatalf("%v %v", err, errs.From(err).Fields)
	}
	return found
}

// Every hostile archive is refused with its status and the entry to blame, and costs no memory to speak of.
func TestHostile(t *testing.T) {
	t.Parallel()
	for _, test := range archivetest.Hostile() {
		t.Run(test.Name, func(t *testing.T) {
			t.Parallel()
			found, err := read(test.Build())
			if err == nil {
				t.Fatalf("accepted: %+v", found)
			}
			failure := errs.From(err)
			if failure.Status() != test.Status {
				t.Fatalf("%d, want %d: %v %v", failure.Status(), test.Status, err, failure.Fields)
			}
			checkFailure(t, failure, test.Field)
		})
	}
}

func checkFailure(t *testing.T, failure *errs.Error, field string) {
	t.Helper()
	if failure.Status() == http.StatusRequestEntityTooLarge {
		if failure.Details["limit"] == nil || failure.Details["of"] == nil {
			t.Errorf("the limit is not told: %v", failure.Details)
		}
		return
	}
	if len(failure.Fields) == 0 {
		t.Fatal("nothing is named")
	}
	for _, f := range failure.Fields {
		if len(f.Field) > 300 || strings.ContainsFunc(f.Field, func(r rune) bool { return r < ' ' || r == 0x202e }) || f.Message == "" {
			t.Errorf("not fit to be shown: %q %q", f.Field, f.Message)
		}
	}
	if field != "" && failure.Fields[0].Field != field {
		t.Errorf("blames %q (%s), want %q", failure.Fields[0].Field, failure.Fields[0].Message, field)
	}
}

func text(name, content string) archivetest.Entry {
	return archivetest.Entry{Name: name, Text: []byte(content), Method: archivetest.Deflated}
}

func paths(files []archive.File) string {
	var all []string
	for _, file := range files {
		all = append(all, file.Path+"|"+file.Ext)
	}
	return strings.Join(all, " ")
}

func TestLayouts(t *testing.T) {
	t.Parallel()
	folder := archivetest.Entry{Name: "current/", Attributes: archivetest.Folder}
	for _, test := range []struct {
		name, files, ignored string
		entries              []archivetest.Entry
	}{
		{"a root folder", "automations/a|.yml index|.yml", "", []archivetest.Entry{folder, text("current/index.yml", "a: b"), text("current/automations/a.yml", "a")}},
		{"any root folder", "index|.yaml", "", []archivetest.Entry{text("My Shop \u00e9/index.yaml", "a: b")}},
		{"no root folder", "imports/x|.json index|.json security|.yml", "", []archivetest.Entry{
			text("security.yml", "a"), text("index.json", "{}"), text("imports/x.json", "{}"),
		}},
		{"nested slugs", "index|.yml pages/a|.yml pages/a/b c/D|.yml", "", []archivetest.Entry{
			text("index.yml", "a"), text("pages/a.yml", "a"), text("pages/a/b c/D.yml", "a"),
		}},
		{
			"what is ignored", "automations/index|.yml index|.yml", "." + "DS_Store .git/config README.md __MACOSX/r/._index.yml r/.hidden/a.yml r/INDEX.txt r/automations/.a.yml " +
				"r/automations/__index__.yml r/automations/readme.md r/blocks/a.yml r/pages.yml r/runtime.yml r/security/a.yml",
			[]archivetest.Entry{
				text("r/index.yml", "a"), text("r/automations/index.yml", "a"), text("r/automations/__index__.yml", "a"), text("r/runtime.yml", "a"), text(".DS_Store", "a"),
				text("r/automations/.a.yml", "a"), text("r/.hidden/a.yml", "a"), text("r/blocks/a.yml", "a"), text("r/automations/readme.md", "a"), text("README.md", "a"),
				text("__MACOSX/r/._index.yml", "a"), text("r/pages.yml", "a"), text("r/security/a.yml", "a"), text(".git/config", "a"), text("r/INDEX.txt", "a"),
			},
		},
		{"an index in a folder below one at the root", "index|.yml", "docs/index.yml", []archivetest.Entry{text("index.yml", "a"), text("docs/index.yml", "b")}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			found := mustRead(t, archivetest.Zip(test.entries...))
			if got := paths(found.Files); got != test.files {
				t.Errorf("files %s, want %s", got, test.files)
			}
			if got := strings.Join(found.Ignored, " "); got != test.ignored {
				t.Errorf("ignored %s, want %s", got, test.ignored)
			}
			if found.Bulk != nil || found.Import != nil {
				t.Errorf("%+v", found)
			}
		})
	}
}

// What honest tools do is accepted: streams, comments, extra fields of times, folders, entries in any order.
func TestHonestTools(t *testing.T) {
	t.Parallel()
	stream := text("current/pages/a.yml", "name: a\n")
	stream.Flags = archivetest.Descriptor
	times := text("current/pages/b.yml", "name: b\n")
	times.Extra = []byte("UT\x05\x00\x01\x00\x00\x00\x00")
	unicode := text("current/caf\u00e9.txt", "x")
	unicode.Flags = 1 << 11
	unicode.Extra = append([]byte{0x75, 0x70, byte(5 + len(unicode.Name)), 0, 1, 0, 0, 0, 0}, unicode.Name...)
	short := text("current/pages/c.yml", "name: c\n")
	short.Local = func(h *archivetest.Header) { h.Flags, h.CRC, h.Packed, h.Size = archivetest.Descriptor, 0, 0, 0 }
	short.Central = func(h *archivetest.Header) { h.Flags = archivetest.Descriptor }
	for _, value := range []int{int(crc32.ChecksumIEEE(short.Text)), len(archivetest.Deflate(short.Text)), len(short.Text)} {
		short.Behind = binary.LittleEndian.AppendUint32(short.Behind, uint32(value)) // a descriptor without a signature
	}
	raw := archivetest.Container{
		Comment: "0123456789abcdef0123456789abcdef01234567",
		Entries: []archivetest.Entry{archivetest.Index(), {Name: "current/pages/", Attributes: archivetest.Folder | 0x10}, stream, times, unicode, short},
	}.Bytes()
	if found := mustRead(t, raw); paths(found.Files) != "index|.yml pages/a|.yml pages/b|.yml pages/c|.yml" {
		t.Error(paths(found.Files))
	}
}

func TestBulk(t *testing.T) {
	t.Parallel()
	list := `{"workspaceIds":["second1","first12"],"publishApps":[{"workspaceId":"first12","slug":"shop","name":"Shop","description":null,"extra":1}],"more":true}`
	raw := archivetest.Zip(
		text("bulkExport.json", list), text("notes.txt", "x"),
		archivetest.Entry{Name: "workspaces/first12.zip", Text: archivetest.Zip(text("index.yml", "name: first"))},
		archivetest.Entry{Name: "workspaces/second1.zip", Text: archivetest.Zip(text("v1/index.yml", "name: second"), text("v1/.import.yml", "groups: [base]")), Method: archivetest.Deflated},
	)
	found := mustRead(t, raw)
	bulk := found.Bulk
	if bulk == nil || !slices.Equal(bulk.WorkspaceIDs, []string{"second1", "first12"}) || len(found.Files) != 0 || !slices.Equal(found.Ignored, []string{"notes.txt"}) {
		t.Fatalf("%+v", found)
	}
	if want := []archive.PublishApp{{WorkspaceID: "first12", Slug: "shop", Name: "Shop"}}; !slices.Equal(bulk.PublishApps, want) {
		t.Errorf("%+v", bulk.PublishApps)
	}
	if got := string(bulk.Archives["first12"].Files[0].Text); got != "name: first" {
		t.Error(got)
	}
	second := bulk.Archives["second1"]
	if string(second.Files[0].Text) != "name: second" || !slices.Equal(second.Import.Groups, []string{"base"}) {
		t.Errorf("%+v", second)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	raw := archivetest.Zip(archivetest.Index(), text("current/pages/a.yml", strings.Repeat("x", 1000)))
	size := int64(len(raw))
	small := archivetest.Zip(archivetest.Index(), text("current/pages/a.yml", strings.Repeat("x", 2<<20)))
	for _, test := range []struct {
		name   string
		raw    []byte
		change func(*archive.Limits)
		of     string
		status int
	}{
		{"all of it", raw, func(*archive.Limits) {}, "", 0},
		{"input", raw, func(l *archive.Limits) { l.Input = size - 1 }, "input", 413},
		{"just the input", raw, func(l *archive.Limits) { l.Input = size }, "", 0},
		{"output", raw, func(l *archive.Limits) { l.Output = 1021 }, "output", 413},
		{"just the output", raw, func(l *archive.Limits) { l.Output = 1022 }, "", 0},
		{"file", raw, func(l *archive.Limits) { l.File = 999 }, "file", 413},
		{"just the file", raw, func(l *archive.Limits) { l.File = 1000 }, "", 0},
		{"entries", raw, func(l *archive.Limits) { l.Entries = 1 }, "", 422},
		{"just the entries", raw, func(l *archive.Limits) { l.Entries = 2 }, "", 0},
		{"a small archive may repeat itself", raw, func(l *archive.Limits) { l.Ratio = 1 }, "", 0},
		{"ratio", small, func(*archive.Limits) {}, "ratio", 413},
		{"another ratio", small, func(l *archive.Limits) { l.Ratio = 10_000 }, "", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			limits := archive.DefaultLimits()
			test.change(&limits)
			_, err := archive.Read(bytes.NewReader(test.raw), int64(len(test.raw)), limits)
			switch failure := errs.From(err); {
			case test.status == 0:
				if err != nil {
					t.Error(err)
				}
			case failure == nil || failure.Status() != test.status || test.of != "" && failure.Details["of"] != test.of:
				t.Errorf("%v %v", err, failure)
			}
		})
	}
}

// slowReader is a file on a disk that takes a second for every read.
type slowReader struct {
	*bytes.Reader
	clock *clock.Manual
}

func (s slowReader) ReadAt(p []byte, off int64) (int, error) {
	s.clock.Advance(time.Second)
	return s.Reader.ReadAt(p, off)
}

func TestTime(t *testing.T) {
	t.Parallel()
	raw := archivetest.Zip(archivetest.Index(), text("current/pages/a.yml", "a"), text("current/pages/b.yml", "b"))
	for seconds := range 20 {
		limits := archive.DefaultLimits()
		slow := clock.NewManual(time.Unix(0, 0))
		limits.Clock, limits.Time = slow, time.Duration(seconds)*time.Second
		_, err := archive.Read(slowReader{bytes.NewReader(raw), slow}, int64(len(raw)), limits)
		taken := slow.Now().Sub(time.Unix(0, 0))
		if (err != nil) != (taken > limits.Time) {
			t.Errorf("limit %s: took %s, %v", limits.Time, taken, err)
		}
		if err != nil && errs.From(err).Status() != http.StatusUnprocessableEntity {
			t.Error(err)
		}
	}
}

// failing is a storage that fails at one place.
type failing struct {
	*bytes.Reader
	at int64
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off <= f.at && f.at < off+int64(len(p)) {
		return 0, fmt.Errorf("the disk is gone")
	}
	return f.Reader.ReadAt(p, off)
}

// A storage that fails is our fault and not the archive's.
func TestStorageFails(t *testing.T) {
	t.Parallel()
	raw := archivetest.Zip(archivetest.Index(), text("current/pages/a.yml", strings.Repeat("abc", 100)))
	for at := range int64(len(raw)) {
		_, err := archive.Read(failing{bytes.NewReader(raw), at}, int64(len(raw)), archive.DefaultLimits())
		if errs.CodeOf(err) != errs.Internal {
			t.Fatalf("at %d: %v", at, err)
		}
	}
}

// A bomb is refused before it goes off: memory stays flat, also for many of them.
// It measures the memory of the process, so it does not run beside others.
func TestBombsCostNoMemory(t *testing.T) {
	for _, test := range archivetest.Hostile() {
		if test.Status != http.StatusRequestEntityTooLarge && !strings.Contains(test.Name, "bomb") && !strings.Contains(test.Name, "1 M") && test.Name != "42.zip" {
			continue
		}
		raw := test.Build()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		_, err := read(raw)
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: accepted", test.Name)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
			t.Errorf("%s: %d bytes", test.Name, used)
		}
	}
}

// A file that lies about its size is read no further than it claims, whatever it would inflate to.
// It measures the memory of the process, so it does not run beside others.
func TestLieCostsNoMemory(t *testing.T) {
	bomb := archivetest.Deflate(make([]byte, 16<<20))
	lie := archivetest.Entry{Name: "current/pages/a.yml", Text: []byte("name: a\n"), Method: archivetest.Deflated, Packed: bomb}
	raw := archivetest.Zip(archivetest.Index(), lie)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err := read(raw)
	runtime.ReadMemStats(&after)
	if errs.CodeOf(err) != errs.ValidationFailed {
		t.Error(err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 {
		t.Errorf("%d bytes", used)
	}
}

// Files that are no part of the workspace are checked, but never held in memory.
// It measures the memory of the process, so it does not run beside others.
func TestIgnoredCostsNoMemory(t *testing.T) {
	raw := archivetest.Zip(archivetest.Index(), archivetest.Entry{Name: "a.bin", Text: make([]byte, 4<<20)}, archivetest.Entry{Name: "b.bin", Text: make([]byte, 4<<20)})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	found := mustRead(t, raw)
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 1<<20 || len(found.Ignored) != 2 {
		t.Errorf("%d bytes, %q", used, found.Ignored)
	}
}

// An archive that is cut off anywhere is refused.
func TestTruncated(t *testing.T) {
	t.Parallel()
	small := archivetest.Zip(archivetest.Index(), text("current/pages/a.yml", "name: a\n"))
	var large bytes.Buffer
	if err := archive.Write(&large, "current", archivetest.Sized(1, 300), &archive.ImportInfo{}); err != nil {
		t.Fatal(err)
	}
	cut := func(raw []byte, at int) {
		if _, err := read(raw[:at]); errs.CodeOf(err) != errs.ValidationFailed {
			t.Errorf("cut at %d of %d: %v", at, len(raw), err)
		}
	}
	for at := range small {
		cut(small, at)
	}
	for at := 0; at < large.Len(); at += 4096 {
		cut(large.Bytes(), at)
	}
}

// One wrong bit is found, or it is in a field that means nothing to us: then everything is read as before.
func TestEveryBitFlipped(t *testing.T) {
	t.Parallel()
	stream := text("current/pages/s.yml", "name: stream\n")
	stream.Flags = archivetest.Descriptor
	for _, raw := range [][]byte{
		archivetest.Zip(archivetest.Index(), text("current/.import.yml", "groups: [a]\n"), archivetest.Entry{Name: "current/pages/a.yml", Text: []byte("name: a\n")}, stream),
		archivetest.Zip(
			text("bulkExport.json", `{"workspaceIds":["abc1234"]}`),
			archivetest.Entry{Name: "workspaces/abc1234.zip", Text: archivetest.Zip(archivetest.Index())},
		),
	} {
		want := mustRead(t, raw)
		for bit := range len(raw) * 8 {
			flipped := bytes.Clone(raw)
			flipped[bit/8] ^= 1 << (bit % 8)
			found, err := read(flipped)
			switch {
			case err == nil && !reflect.DeepEqual(found, want):
				t.Errorf("bit %d of byte %d: read something else", bit%8, bit/8)
			case err != nil && errs.From(err).Status() != http.StatusUnprocessableEntity && errs.From(err).Status() != http.StatusRequestEntityTooLarge:
				t.Errorf("bit %d of byte %d: %v", bit%8, bit/8, err)
			}
		}
	}
}
