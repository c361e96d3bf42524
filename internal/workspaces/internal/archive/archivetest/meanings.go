package archivetest

import (
	"net/http"
	"strings"
)

// layouts are archives in which no workspace can be found.
func layouts() []Case {
	only := func(name string, entries ...Entry) Case {
		return broken(name, Container{Entries: entries})
	}
	return []Case{
		only("no index", file("current/automations/a.yml"), file("current/security.yml")),
		only("no index at the root", file("security.yml"), file("automations/a.yml")),
		only("an automation called index", file("automations/index.yml")),
		only("a page called index", file("pages/index.yml"), file("pages/a.yml")),
		only("an index too deep", file("a/b/index.yml")),
		only("an index in a hidden folder", file(".git/index.yml")),
		only("an index of the Finder", file("__MACOSX/index.yml")),
		only("two workspaces", file("one/index.yml"), file("two/index.yml")),
		only("a folder called index.yml", Entry{Name: "current/index.yml/", Attributes: Folder}),
	}
}

// metadata are B-YML-03, as far as one archive can be wrong by itself.
func metadata() []Case {
	sum := "sha256:" + strings.Repeat("0", 64)
	text := func(name, text string) Case {
		one := invalid(".import.yml: "+name, Entry{Name: "current/.import.yml", Text: []byte(text)})
		one.Field = "" // it names the key as well
		return one
	}
	return []Case{
		text("dependsOn a path", "dependsOn: [app/../x]\n"), text("dependsOn no app", "dependsOn: [workspace/x]\n"),
		text("dependsOn a map", "dependsOn: {app: x}\n"), text("dependsOn a text", "dependsOn: app/x\n"), text("dependsOn nothing", "dependsOn: [app/]\n"),
		text("dependsOn a list of lists", "dependsOn: [[app/x]]\n"), text("dependsOn null", "dependsOn: [null]\n"),
		text("10 k dependencies", "dependsOn:\n"+strings.Repeat("- app/x\n", 10_000)),
		text("a path as a checksum's name", "checksums: {automations: {../../x: '"+sum+"'}}\n"), text("checksums a list", "checksums: [a]\n"),
		text("a checksum a map", "checksums: {pages: {a: {b: c}}}\n"), text("checksums of pages a text", "checksums: {pages: x}\n"),
		text("version a text", "version: '1.0'\n"), text("version.name a list", "version: {name: [1]}\n"), text("version.exportedAt no time", "version: {exportedAt: soon}\n"),
		text("a long version.name", "version: {name: "+strings.Repeat("v", 201)+"}\n"), text("groups a text", "groups: base\n"), text("app a text", "app: shop\n"),
		text("app without a slug", "app: {name: Shop}\n"), text("app.slug a path", "app: {slug: ../x}\n"), text("workspaceId a map", "workspaceId: {a: b}\n"),
		text("no YAML", "a: [\n"), text("no map", "- a\n"), text("empty", ""), text("NUL", "workspaceId: \x00\n"), text("a duplicate key", "groups: []\ngroups: []\n"),
		text("a tag", "workspaceId: !!python/object x\n"), text("two documents", "groups: []\n---\ngroups: []\n"),
		text("aliases that explode", "a: &a [x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b]\n"+
			"d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c]\ne: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d]\nf: [*e, *e, *e, *e, *e, *e, *e, *e, *e]\n"),
	}
}

// bulks are bulk archives that do not hold together.
func bulks() []Case {
	list := func(text string) Entry { return Entry{Name: "bulkExport.json", Text: []byte(text)} }
	workspace := Entry{Name: "workspaces/abc1234.zip", Text: Zip(Index())}
	one := `{"workspaceIds":["abc1234"],"publishApps":[]}`
	bulk := func(name, field string, entries ...Entry) Case {
		return Case{Name: "bulk: " + name, Status: http.StatusUnprocessableEntity, Field: field, Build: func() []byte { return Zip(entries...) }}
	}
	traversal := Zip(Index(), file("../x.yml"))
	return []Case{
		bulk("no JSON", "bulkExport.json", list("{"), workspace),
		bulk("a list", "bulkExport.json", list("[]"), workspace),
		bulk("wrong types", "bulkExport.json", list(`{"workspaceIds":"abc1234"}`), workspace),
		bulk("a number as an id", "bulkExport.json", list(`{"workspaceIds":[1234567]}`), workspace),
		bulk("two equal keys", "bulkExport.json", list(`{"workspaceIds":["abc1234"],"workspaceIds":["abc1234"]}`), workspace),
		bulk("a workspace that is not there", "bulkExport.json", list(`{"workspaceIds":["abc1234","other12"]}`), workspace),
		bulk("a workspace listed twice", "bulkExport.json", list(`{"workspaceIds":["abc1234","abc1234"]}`), workspace),
		bulk("a workspace that is not listed", "workspaces/abc1234.zip", list(`{"workspaceIds":[]}`), workspace),
		bulk("a path as an id", "bulkExport.json", list(`{"workspaceIds":["../x"]}`)),
		bulk("an archive in another place", "other/abc1234.zip", list(`{"workspaceIds":[]}`), Entry{Name: "other/abc1234.zip", Text: Zip(Index())}),
		bulk("an archive deeper", "workspaces/a/b.zip", list(`{"workspaceIds":[]}`), Entry{Name: "workspaces/a/b.zip", Text: Zip(Index())}),
		bulk("an app of another workspace", "bulkExport.json", list(`{"workspaceIds":["abc1234"],"publishApps":[{"workspaceId":"other12","slug":"shop"}]}`), workspace),
		bulk("an app without a slug", "bulkExport.json", list(`{"workspaceIds":["abc1234"],"publishApps":[{"workspaceId":"abc1234"}]}`), workspace),
		bulk("an index as well", "bulkExport.json", list(one), workspace, Entry{Name: "index.yml", Text: []byte("name: x\n")}),
		bulk("no zip inside", "workspaces/abc1234.zip", list(one), Entry{Name: "workspaces/abc1234.zip", Text: []byte("name: x\n")}),
		bulk("a zip without an index inside", "workspaces/abc1234.zip", list(one), Entry{Name: "workspaces/abc1234.zip", Text: Zip(file("a.yml"))}),
		bulk("a path inside", "workspaces/abc1234.zip/../x.yml", list(one), Entry{Name: "workspaces/abc1234.zip", Text: traversal, Method: Deflated}),
		bulk("a bulk inside", "workspaces/abc1234.zip/bulkExport.json", list(one), Entry{Name: "workspaces/abc1234.zip", Text: Zip(list(one), workspace)}),
		{Name: "bulk: 5001 entries in all", Status: http.StatusUnprocessableEntity, Field: "archive", Build: func() []byte {
			return Zip(list(`{"workspaceIds":["abc1234","def1234"]}`), Entry{Name: "workspaces/abc1234.zip", Text: many(2499)}, Entry{Name: "workspaces/def1234.zip", Text: many(2500)})
		}},
		{Name: "bulk: a bomb", Status: http.StatusRequestEntityTooLarge, Build: func() []byte {
			return Zip(list(one), Entry{Name: "workspaces/abc1234.zip", Text: repeated("other/%d.bin", 9), Method: Deflated})
		}},
	}
}
