package archive_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"atelier/internal/workspaces/internal/archive"
)

func TestParseImport(t *testing.T) {
	t.Parallel()
	sum := "sha256:" + strings.Repeat("ab", 32)
	info, err := archive.ParseImport([]byte(`# made by a push
workspaceId: 0123456
version: {type: export, name: 1.10, exportedAt: 2026-01-31T12:00:00.5+01:00, importedAt: null}
groups: &g [no, 012, 2001-01-01]
dependsOn: [app/Custom Code, app/a/b]
app:
  slug: shop
  name: {fr: Boutique, en: Shop}
  description: {fr: Boutique}
  photo: x
checksums:
  automations:
    hello: ` + strings.ToUpper(sum[7:]) + `
    Hello World: SHA256:` + strings.ToUpper(sum[7:]) + `
    old: d41d8cd98f00b204e9800998ecf8427e
  pages: {a/b: &s ` + sum + `, c: *s}
  blocks: {x: y}
unknown: {deep: [1, 2]}
`))
	if err != nil {
		t.Fatal(err)
	}
	exported := time.Date(2026, 1, 31, 11, 0, 0, 500_000_000, time.UTC)
	want := &archive.ImportInfo{
		WorkspaceID: "0123456", Version: archive.VersionInfo{Type: "export", Name: "1.10", ExportedAt: &exported},
		Groups: []string{"no", "012", "2001-01-01"}, DependsOn: []string{"app/Custom Code", "app/a/b"},
		App:       &archive.AppInfo{Slug: "shop", Name: "Shop", Description: "Boutique"},
		Checksums: map[string]map[string]string{"automations": {"Hello World": sum}, "pages": {"a/b": sum, "c": sum}},
		Notes:     info.Notes,
	}
	if !reflect.DeepEqual(info, want) {
		t.Errorf("%+v\nwant %+v", info, want)
	}
	if notes := strings.Join(info.Notes, "\n"); len(info.Notes) != 5 || !strings.Contains(notes, "checksums.automations.old") || !strings.Contains(notes, "checksums.blocks") {
		t.Errorf("%q", info.Notes)
	}
}

func TestParseImportOfLittle(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"{}", "groups: null", "version: ~", "app:", "checksums: {}", "checksums: {pages: null}", "workspaceId: ''", "unknown: 1"} {
		if info, err := archive.ParseImport([]byte(text)); err != nil || !reflect.DeepEqual(info, &archive.ImportInfo{}) {
			t.Errorf("%s: %+v %v", text, info, err)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	if got := string((&archive.ImportInfo{}).Render()); got != "{}\n" {
		t.Errorf("%q", got)
	}
	exported := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	got := string((&archive.ImportInfo{
		WorkspaceID: "abc1234", Version: archive.VersionInfo{Type: "export", Name: "1.10", ExportedAt: &exported}, Groups: []string{"base1"},
		DependsOn: []string{"app/Custom Code"}, App: &archive.AppInfo{Slug: "shop", Name: "Shop"}, Notes: []string{"never written"},
		Checksums: map[string]map[string]string{"pages": {"b": "sha256:2", "a/b": "sha256:1"}, "automations": {"x": "sha256:3"}},
	}).Render())
	want := `workspaceId: abc1234
version:
  type: export
  name: "1.10"
  exportedAt: "2026-01-31T12:00:00.000Z"
groups:
  - base1
dependsOn:
  - app/Custom Code
app:
  slug: shop
  name: Shop
checksums:
  automations:
    x: sha256:3
  pages:
    a/b: sha256:1
    b: sha256:2
`
	if strings.ReplaceAll(got, "'", `"`) != want {
		t.Errorf("%s", got)
	}
}

// What is rendered is read as it was, whatever it says.
func TestRenderedIsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.RuneFrom([]rune("abz AZ019~!@#$%^&*()_+-=[]{}|;':\",./<>?\\\n\té日🙂\u00a0")), 0, 50, -1)
		slug := rapid.StringMatching(`[a-zA-Z0-9_-]{1,20}(/[a-zA-Z0-9_-]{1,20})?`).Filter(func(s string) bool { return !strings.Contains(s, "__index__") })
		sums := rapid.MapOfN(slug, rapid.Custom(func(t *rapid.T) string { return archive.Checksum([]byte(text.Draw(t, "file"))) }), 1, 5)
		at := time.UnixMilli(rapid.Int64Range(0, 4_000_000_000_000).Draw(t, "at")).UTC()
		info := &archive.ImportInfo{
			WorkspaceID: text.Draw(t, "id"), Version: archive.VersionInfo{Type: text.Draw(t, "type"), Name: text.Draw(t, "name"), ExportedAt: &at},
			Groups: rapid.SliceOfN(text, 1, 3).Draw(t, "groups"), DependsOn: []string{"app/" + slug.Draw(t, "on")},
			App:       &archive.AppInfo{Slug: slug.Draw(t, "slug"), Name: text.Draw(t, "app"), Description: text.Draw(t, "description")},
			Checksums: map[string]map[string]string{"pages": sums.Draw(t, "pages"), "imports": sums.Draw(t, "imports")},
		}
		back, err := archive.ParseImport(info.Render())
		if err != nil {
			t.Fatalf("%v\n%s", err, info.Render())
		}
		if !reflect.DeepEqual(back, info) {
			t.Fatalf("%+v\nwant %+v\n%s", back, info, info.Render())
		}
	})
}

func TestVerify(t *testing.T) {
	t.Parallel()
	hello := archive.File{Path: "automations/hello", Ext: ".yml", Text: []byte("name: hello\n")}
	info := &archive.ImportInfo{Checksums: map[string]map[string]string{
		"automations": {"hello": archive.Checksum(hello.Text), "gone": archive.Checksum(nil)},
		"pages":       {"a/b": archive.Checksum([]byte("before"))},
	}}
	files := []archive.File{index(), hello, {Path: "pages/a/b", Ext: ".yml", Text: []byte("after")}, {Path: "pages/new", Ext: ".yml"}}
	problems := info.Verify(files)
	if len(problems.Errors()) != 1 || problems.Errors()[0].Document != "pages/a/b" || problems.Errors()[0].Code != "checksum_mismatch" {
		t.Errorf("%+v", problems)
	}
	if len(problems.Warnings()) != 1 || problems.Warnings()[0].Document != "automations/gone" {
		t.Errorf("%+v", problems)
	}
	if archive.Checksum(nil) != "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" {
		t.Error(archive.Checksum(nil))
	}
}
