package manners_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"atelier/internal/app/apptest"
)

// B-HTP-11: the same request again has the same answer and is carried out once; another one with the same key is refused.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	d, clk := startAt(t, "REQUEST_TIMEOUT=1h")
	admin := d.admin(t)
	keyed := admin.With("Idempotency-Key", "create-1")
	body := map[string]any{"name": "Once", "slug": "once"}
	first := keyed.Post("/v2/workspaces", body).Want(http.StatusCreated)
	if first.Header.Get("Idempotency-Replayed") != "" {
		t.Error("the first answer says that it is a repetition")
	}
	again := keyed.Post("/v2/workspaces", body)
	mustRepeat(t, first, again)
	mustRepeat(t, first, keyed.Post("/v3/workspaces", body)) // the same operation
	keyed.Post("/v2/workspaces", map[string]any{"name": "Other", "slug": "once"}).WantError(http.StatusConflict, "resource_conflict")
	keyed.Post("/v2/workspaces?x=1", body).WantError(http.StatusConflict, "resource_conflict")
	path := "/v2/workspaces/" + first.Text("id")
	patched := keyed.Patch(path, map[string]any{"description": "d"}).Want(http.StatusOK) // another operation, another key
	mustRepeat(t, patched, keyed.Patch(path, map[string]any{"description": "d"}))

	clk.Advance(24*time.Hour - time.Second)
	mustRepeat(t, first, keyed.Post("/v2/workspaces", body))
	clk.Advance(time.Second)
	keyed.Post("/v2/workspaces", body).WantError(http.StatusConflict, "resource_already_exists") // kept for a day
}

func mustRepeat(t *testing.T, first, again *apptest.Response) {
	t.Helper()
	if again.Status != first.Status || string(again.Body) != string(first.Body) || again.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("the repeated request was answered %d %s", again.Status, again.Body)
	}
	for _, name := range []string{"Etag", "Location", "Content-Type"} {
		if again.Header.Get(name) != first.Header.Get(name) {
			t.Errorf("%s: %q, was %q", name, again.Header.Get(name), first.Header.Get(name))
		}
	}
	if again.Header.Get("X-Correlation-Id") == first.Header.Get("X-Correlation-Id") {
		t.Error("the repeated request has the correlation id of the first")
	}
}

// What a client may use as a key, and what becomes of refused requests.
func oddKeys(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	body := `{"name":"Keys"}`
	for key, ok := range map[string]bool{
		"1": true, strings.Repeat("k", 255): true, "~!@#$%^&*()": true, strings.Repeat("k", 256): false, "with space": false, "é": false, "": false,
	} {
		got := admin.With("Idempotency-Key", key).Post("/v2/workspaces", body)
		if ok {
			got.Want(http.StatusCreated)
		} else {
			got.WantError(http.StatusBadRequest, "invalid_parameter").WantField("Idempotency-Key")
		}
	}
	head := "POST /v2/workspaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + d.token + "\r\nContent-Type: application/json\r\nContent-Length: 15\r\n"
	mustRefuse(t, raw(t, d, head+"Idempotency-Key: a\r\nIdempotency-Key: a\r\n\r\n"+body), http.StatusBadRequest)
	mustRefuse(t, raw(t, d, head+"Idempotency-Key: "+strings.Repeat("k", 1<<20)+"\r\n\r\n"+body), http.StatusRequestHeaderFieldsTooLarge)

	refused := admin.With("Idempotency-Key", "refused").Post("/v2/workspaces", `{}`).WantError(http.StatusUnprocessableEntity, "validation_failed")
	mustRepeat(t, refused, admin.With("Idempotency-Key", "refused").Post("/v2/workspaces", `{}`))
	mine := admin.With("Idempotency-Key", "shared").Post("/v2/workspaces", body).Want(http.StatusCreated)
	theirs := d.Visitor().With("Idempotency-Key", "shared").Post("/v2/workspaces", body)
	if theirs.Status == http.StatusCreated || string(theirs.Body) == string(mine.Body) {
		t.Errorf("a key is worth something to somebody else: %s", theirs.Body)
	}
	admin.With("Idempotency-Key", "get").Get("/v2/me").Want(http.StatusOK)
	one, two := admin.With("Idempotency-Key", "login").Post("/v2/login/anonymous", nil), admin.With("Idempotency-Key", "login").Post("/v2/login/anonymous", nil)
	if one.Text("token") == two.Text("token") {
		t.Error("a secret was kept and given again")
	}
}

// B-HTP-11: of many at once with one key one executes; the others hear that it runs, or get its answer.
func simultaneousKeys(t *testing.T, d *door) {
	t.Helper()
	const callers = 8
	clients := make([]*apptest.Client, callers)
	for i := range clients {
		clients[i] = d.admin(t).With("Idempotency-Key", "race")
	}
	path := "/v2/workspaces/" + workspace(t, d.admin(t), "Race") + "/events"
	answers := make([]*apptest.Response, callers)
	var wait sync.WaitGroup
	for i, c := range clients {
		wait.Go(func() {
			answers[i], _ = c.Try(t.Context(), http.MethodPost, path, `{"events":[{"type":"raced","payload":1}]}`)
		})
	}
	wait.Wait()
	executed := 0
	for _, got := range answers {
		switch {
		case got == nil:
			t.Fatal("no answer")
		case got.Status == http.StatusOK && got.Header.Get("Idempotency-Replayed") == "":
			executed++
		case got.Status == http.StatusConflict:
			if got.WantError(http.StatusConflict, "resource_conflict").Header.Get("Retry-After") != "1" {
				t.Errorf("%v", got.Header)
			}
		default:
			got.Want(http.StatusOK)
		}
	}
	list, _ := d.admin(t).Get(path + "?types=raced").Want(http.StatusOK).At("result.events").([]any)
	if executed != 1 || len(list) != 1 {
		t.Errorf("%d executed, %d events stored", executed, len(list))
	}
}

// A key is not used up by a request whose body never came.
func lateBodyLeavesTheKey(t *testing.T, d *door) {
	t.Helper()
	head := "POST /v2/workspaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " + d.token + "\r\nContent-Type: application/json\r\n" +
		"Content-Length: 17\r\nIdempotency-Key: late\r\n\r\n"
	mustRefuse(t, raw(t, d, head), http.StatusRequestTimeout)
	if got := raw(t, d, head+`{"name":"Not so"}`); got.StatusCode != http.StatusCreated || got.Header.Get("Idempotency-Replayed") != "" {
		t.Errorf("status %d: %s", got.StatusCode, got.Text)
	}
}
