package e2e_test

import (
	"bytes"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
)

// Files pass the gateway in both directions, whichever process and storage they come to lie in.
func TestFiles(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, it installation) {
		admin := it.Admin()
		at := "/v2/workspaces/" + admin.Post("/v2/workspaces", map[string]any{"name": "With files"}).Want(http.StatusCreated).Text("id")
		body := strings.Repeat("0123456789", 50_000)
		public, private := uploadFile(t, admin, at, "Größe.bin", body, nil), uploadFile(t, admin, at, "mine.txt", body, map[string]string{"public": "false"})
		if public.Text("0.name") != "Große.bin" || public.Text("0.size") != "500000" {
			t.Errorf("uploaded %s", public.Body)
		}
		place := func(file *apptest.Response) string { return pathOf(file.Text("0.url")) }
		anyone := it.Anyone()
		if got := anyone.Get(place(public)).Want(http.StatusOK); string(got.Body) != body || got.Header.Get("Content-Security-Policy") != "sandbox; default-src 'none'" ||
			got.Header.Get("Cache-Control") != "public, no-cache" {
			t.Errorf("downloaded %d bytes, %v", len(got.Body), got.Header)
		}
		part := anyone.With("Range", "bytes=499995-").Get(place(public)).Want(http.StatusPartialContent)
		if string(part.Body) != "56789" || part.Header.Get("Content-Range") != "bytes 499995-499999/500000" {
			t.Errorf("a part: %q %v", part.Body, part.Header)
		}
		anyone.With("Range", "bytes=500000-").Get(place(public)).WantError(http.StatusRequestedRangeNotSatisfiable, "invalid_request")
		anyone.With("If-None-Match", part.Header.Get("Etag")).Get(place(public)).Want(http.StatusNotModified)
		if head := anyone.Do(http.MethodHead, place(public), nil).Want(http.StatusOK); head.Header.Get("Content-Length") != "500000" {
			t.Errorf("HEAD: %v", head.Header)
		}
		if packed := admin.With("Accept-Encoding", "gzip").Get(place(private)).Want(http.StatusOK); packed.Header.Get("Content-Encoding") != "gzip" || !strings.HasPrefix(packed.Header.Get("Etag"), "W/") {
			t.Errorf("compressed: %v", packed.Header)
		}
		anyone.Get(place(private)).WantError(http.StatusUnauthorized, "missing_token")
		it.Visitor().Get(place(private)).WantError(http.StatusForbidden, "workspace_access_denied")
		link := admin.Post(at+"/files/"+private.Text("0.id")+"/share", nil).Want(http.StatusOK).Text("url")
		anyone.Get(pathOf(link)).Want(http.StatusOK)
		tooLarge := uploadFile(t, admin, at, "large.bin", strings.Repeat("x", 10_000_001), nil)
		tooLarge.WantError(http.StatusRequestEntityTooLarge, "payload_too_large")
		uploadFile(t, it.Visitor(), at, "theirs.bin", strings.Repeat("x", 20_000_000), nil).WantError(http.StatusForbidden, "workspace_access_denied") // not read to its end
		if total := admin.Get(at + "/files").Want(http.StatusOK).Header.Get("X-Total-Count"); total != "2" {
			t.Errorf("%s files", total)
		}
		asBrowser(t, it, at, place(public), place(private))
		admin.Delete(at + "/files/" + public.Text("0.id")).Want(http.StatusOK)
		anyone.Get(place(public)).WantError(http.StatusNotFound, "resource_not_found")
	})
}

// asBrowser reads and uploads with a cookie: what is public is shown also when the session has ended, and a page of another
// site uploads nothing.
func asBrowser(t *testing.T, it installation, at, public, private string) {
	t.Helper()
	signedIn := it.Anyone().Post("/v2/login", map[string]any{"email": apptest.AdminEmail, "password": apptest.AdminPassword}).Want(http.StatusOK)
	cookie := cookieOf(t, signedIn, "access-token")
	browser := it.Anyone().With("Cookie", cookie.Name+"="+cookie.Value)
	browser.Get(private).Want(http.StatusOK)
	uploadFile(t, browser, at, "a.txt", "x", nil).WantError(http.StatusUnauthorized, "invalid_token")
	token := browser.Get("/v2/me").Want(http.StatusOK).Header.Get("X-Svc-Csrf-Token")
	uploadFile(t, browser.With("X-Svc-Csrf-Token", token), at, "a.txt", "x", nil).Want(http.StatusCreated)
	ended := it.Anyone().With("Cookie", cookie.Name+"=ended")
	ended.Get(public).Want(http.StatusOK)
	ended.Get(private).WantError(http.StatusUnauthorized, "missing_token")
}

// pathOf is an address without its host.
func pathOf(address string) string {
	_, rest, _ := strings.Cut(address, "/v2/")
	return "/v2/" + rest
}

func uploadFile(t *testing.T, c *apptest.Client, at, name, content string, fields map[string]string) *apptest.Response {
	t.Helper()
	var b bytes.Buffer
	form := multipart.NewWriter(&b)
	for field, value := range fields {
		if err := form.WriteField(field, value); err != nil {
			t.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte(content))
	_ = form.Close()
	return c.With("Content-Type", form.FormDataContentType()).Post(at+"/files", b.Bytes())
}
