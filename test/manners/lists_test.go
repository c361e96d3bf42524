package manners_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
)

// next gives the address and the cursor of the following page.
func next(t *testing.T, page *apptest.Response) (path, cursor string) {
	t.Helper()
	link := regexp.MustCompile(`^<(/[^>]+)>; rel="next"$`).FindStringSubmatch(page.Header.Get("Link"))
	if link == nil {
		return "", ""
	}
	u, err := url.Parse(link[1])
	if err != nil {
		t.Fatal(err)
	}
	return link[1], u.Query().Get("cursor")
}

// A list is read to its end by following its links, each item once; the total is in a header; pages do the same by number.
func lists(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	const items = 7
	for i := range items {
		workspace(t, admin, "List "+strconv.Itoa(i))
	}
	seen := map[string]bool{}
	for path := "/v2/workspaces?limit=3&sort=name&search=List"; path != ""; {
		page := admin.Get(path).Want(http.StatusOK)
		if page.Header.Get("X-Total-Count") != strconv.Itoa(items) {
			t.Errorf("total %s", page.Header.Get("X-Total-Count"))
		}
		for i := range 3 {
			if id := page.Text(strconv.Itoa(i) + ".id"); id != "" && seen[id] {
				t.Errorf("%s came twice", id)
			} else if id != "" {
				seen[id] = true
			}
		}
		path, _ = next(t, page)
	}
	if len(seen) != items {
		t.Errorf("%d of %d were listed", len(seen), items)
	}
	if first, second := admin.Get("/v2/workspaces?limit=3&page=1&sort=name&search=List"), admin.Get("/v2/workspaces?limit=3&page=2&sort=name&search=List"); first.Text("0.name") != "List 3" || second.Text("0.name") != "List 6" {
		t.Errorf("pages: %s %s", first.Body, second.Body)
	}
}

// B-IDS-05: a cursor is ours, unchanged, for this caller, this list and these filters, or it is refused.
func forgedCursors(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	for i := range 4 {
		workspace(t, admin, "Cursor "+strconv.Itoa(i))
	}
	_, cursor := next(t, admin.Get("/v2/workspaces?limit=3").Want(http.StatusOK))
	admin.Get("/v2/workspaces?limit=3&cursor=" + cursor).Want(http.StatusOK)
	refused := func(c *apptest.Client, query string) {
		t.Helper()
		c.Get("/v2/workspaces?"+query).WantError(http.StatusBadRequest, "invalid_parameter").WantField("cursor")
	}
	refused(d.Visitor(), "limit=3&cursor="+cursor)
	refused(admin, "limit=2&cursor="+cursor)
	refused(admin, "limit=3&sort=name&cursor="+cursor)
	refused(admin, "limit=3&search=x&cursor="+cursor)
	for i := range cursor {
		for _, other := range []string{cursor[:i], cursor[:i] + flipped(cursor[i]) + cursor[i+1:], cursor[:i] + "%0A" + cursor[i:]} {
			if other != "" {
				refused(admin, "limit=3&cursor="+other)
			}
		}
	}
	for _, other := range []string{
		cursor + "A", cursor + "=", strings.Repeat("A", 2000), "MQ", "3", "' or 1=1--", base64.RawURLEncoding.EncodeToString([]byte("3")),
		base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("\x00", 16) + "3")),
	} {
		refused(admin, "limit=3&cursor="+url.QueryEscape(other))
	}
	admin.Get("/v2/workspaces?cursor="+strings.Repeat("A", 2049)).WantError(http.StatusBadRequest, "invalid_parameter")
	id, other := workspace(t, admin, "Events A"), workspace(t, admin, "Events B")
	for _, w := range []string{id, other} {
		admin.Post("/v2/workspaces/"+w+"/events", `{"events":[{"type":"a","payload":1},{"type":"a","payload":2}]}`).Want(http.StatusOK)
	}
	_, cursor = next(t, admin.Get("/v2/workspaces/"+id+"/events?limit=1").Want(http.StatusOK))
	admin.Get("/v2/workspaces/" + id + "/events?limit=1&cursor=" + cursor).Want(http.StatusOK)
	admin.Get("/v2/workspaces/"+other+"/events?limit=1&cursor="+cursor).WantError(http.StatusBadRequest, "invalid_parameter").WantField("cursor")
	refused(admin, "limit=1&cursor="+cursor)
}

// flipped is another character of the alphabet: the one that differs in the lowest bit, which the encoding may not use.
func flipped(c byte) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	return string(alphabet[strings.IndexByte(alphabet, c)^1])
}

// An edit of another revision than the client has seen is refused with 412.
func preconditions(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	created := admin.Post("/v2/workspaces", map[string]any{"name": "Match"}).Want(http.StatusCreated)
	path, tag := "/v2/workspaces/"+created.Text("id"), created.Header.Get("Etag")
	if tag == "" || admin.Get(path).Header.Get("Etag") != tag {
		t.Fatalf("ETag %q", tag)
	}
	changed := admin.With("If-Match", tag).Patch(path, map[string]any{"description": "one"}).Want(http.StatusOK)
	if changed.Header.Get("Etag") == tag {
		t.Error("the change has the same tag")
	}
	for _, old := range []string{tag, `"nonsense"`, "1", `W/` + changed.Header.Get("Etag"), `""`, `,`, `"1", "2x"`} {
		got := admin.With("If-Match", old).Patch(path, map[string]any{"description": "lost"})
		got.WantError(http.StatusPreconditionFailed, "resource_conflict")
		mustRefuse(t, of(got), http.StatusPreconditionFailed)
	}
	for i, fine := range []string{"*", changed.Header.Get("Etag"), ""} {
		if i == 1 {
			fine = `"x", ` + admin.Get(path).Header.Get("Etag")
		}
		admin.With("If-Match", fine).Patch(path, map[string]any{"description": "two " + strconv.Itoa(i)}).Want(http.StatusOK)
	}
	admin.With("If-Match", strings.Repeat("x", 201)).Patch(path, map[string]any{}).WantError(http.StatusBadRequest, "invalid_parameter")
	if got := admin.Get(path).Text("description"); got != "two 2" {
		t.Errorf("description %q", got)
	}
}
