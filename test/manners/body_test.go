package manners_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/app/apptest"
)

// B-JSN-11: the route chooses the parser, not the header.
func contentTypes(t *testing.T, d *door) {
	t.Helper()
	for kind, status := range map[string]int{
		"application/json":                  http.StatusCreated,
		"Application/JSON":                  http.StatusCreated,
		"application/json; charset=utf-8":   http.StatusCreated,
		`application/json; charset="UTF-8"`: http.StatusCreated,
		"application/json; charset=utf-16":  http.StatusUnsupportedMediaType,
		"application/json; charset":         http.StatusUnsupportedMediaType,
		"application/json, text/plain":      http.StatusUnsupportedMediaType,
		"application/problem+json":          http.StatusUnsupportedMediaType,
		"text/plain":                        http.StatusUnsupportedMediaType,
		"text/json":                         http.StatusUnsupportedMediaType,
		"application/x-www-form-urlencoded": http.StatusUnsupportedMediaType,
		"multipart/form-data; boundary=x":   http.StatusUnsupportedMediaType,
		"application/cbor":                  http.StatusUnsupportedMediaType,
		"application/xml":                   http.StatusUnsupportedMediaType,
		" ":                                 http.StatusUnsupportedMediaType,
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			got := d.admin(t).With("Content-Type", kind).Post("/v2/workspaces", `{"name":"Types"}`)
			if status == http.StatusCreated {
				got.Want(status)
				return
			}
			mustRefuse(t, of(got), status)
		})
	}
}

// B-JSN-10: a compressed body is refused, whatever it would unpack to.
func compressedBodies(t *testing.T, d *door) {
	t.Helper()
	admin := d.admin(t)
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = io.WriteString(w, `{"name":"Packed"}`)
	_ = w.Close()
	for _, encoding := range []string{"gzip", "br", "zstd", "deflate", "gzip, identity"} {
		mustRefuse(t, of(admin.With("Content-Encoding", encoding).Post("/v2/workspaces", packed.Bytes())), http.StatusUnsupportedMediaType)
	}
	admin.With("Content-Encoding", "identity").Post("/v2/workspaces", `{"name":"Plain"}`).Want(http.StatusCreated)
}

// B-JSN-10: a body of exactly the limit is read, one byte more is not; with and without a length, with and without a key.
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	const limit = 4096
	d := start(t, "REQUEST_MAX_SIZE=4096")
	admin := d.admin(t)
	body := func(size int) string {
		const rest = len(`{"name":"Full","description":""}`)
		return `{"name":"Full","description":"` + strings.Repeat("d", 4000) + `"}` + strings.Repeat(" ", size-4000-rest)
	}
	for name, client := range map[string]*apptest.Client{"plain": admin, "with-a-key": admin.With("Idempotency-Key", "full")} {
		client.Post("/v2/workspaces", body(limit)).Want(http.StatusCreated)
		if client.Header.Get("Idempotency-Key") != "" {
			client = client.With("Idempotency-Key", name)
		}
		got := client.Post("/v2/workspaces", body(limit+1)).
			WantError(http.StatusRequestEntityTooLarge, "payload_too_large")
		if got.Text("details.limit") != "4096" {
			t.Errorf("the limit is not named: %s", got.Body)
		}
	}
	for size, status := range map[int]int{limit: http.StatusCreated, limit + 1: http.StatusRequestEntityTooLarge} {
		got := raw(t, d, fmt.Sprintf("POST /v2/workspaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
			"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", d.token, size, body(size)))
		if got.StatusCode != status {
			t.Errorf("chunked, %d bytes: status %d, want %d", size, got.StatusCode, status)
		}
	}
}

// F-LOD-08: a body far beyond the limit is refused after the limit, and the client can read why although it still sends.
func hugeBodyIsNotRead(t *testing.T, d *door) {
	t.Helper()
	conn := dial(t, d)
	_, _ = fmt.Fprintf(conn, "POST /v2/workspaces HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Type: application/json\r\n"+
		"Content-Length: 1000000000\r\n\r\n", d.token)
	sent := make(chan int64)
	go func() {
		n, _ := io.Copy(conn, io.LimitReader(endless{}, 1_000_000_000))
		sent <- n
	}()
	mustRefuse(t, receive(t, bufio.NewReader(conn)), http.StatusRequestEntityTooLarge)
	_ = conn.Close()
	if n := <-sent; n > 64<<20 {
		t.Errorf("the server took %d bytes", n)
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = ' '
	}
	return len(b), nil
}

// B-JSN-10: a length that lies. Too long: the client ends before. Too short: what is left is not JSON.
func lengthLies(t *testing.T, d *door) {
	t.Helper()
	const head = "POST /v2/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
	conn := dial(t, d)
	_, _ = io.WriteString(conn, head+"Content-Length: 50\r\n\r\n{}")
	_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	mustRefuse(t, receive(t, bufio.NewReader(conn)), http.StatusBadRequest)
	mustRefuse(t, raw(t, d, head+"Content-Length: 1\r\nConnection: close\r\n\r\n{}"), http.StatusBadRequest)
}

// F-LOD-03: a body that trickles is cut when the request has had its time, whatever the client accepts and with a key too.
func TestTricklingBodyIsCut(t *testing.T) {
	t.Parallel()
	d := start(t, "REQUEST_TIMEOUT=1s")
	t.Run("its key", func(t *testing.T) {
		t.Parallel()
		lateBodyLeavesTheKey(t, d)
	})
	tricklingBodies(t, d)
}

func TestTricklingBodyIsCutWhenSplit(t *testing.T) {
	t.Parallel()
	tricklingBodies(t, startSplit(t, "REQUEST_TIMEOUT=1s"))
}

func tricklingBodies(t *testing.T, d *door) {
	t.Helper()
	const length = "Content-Length: 1000\r\n"
	signedIn := "Authorization: Bearer " + d.token + "\r\n"
	for name, more := range map[string]string{
		"plain":       length + signedIn,
		"compressing": length + signedIn + "Accept-Encoding: gzip\r\n",
		"with a key":  length + signedIn + "Idempotency-Key: slow\r\n",
		"chunked":     signedIn + "Transfer-Encoding: chunked\r\n",
		"not allowed": length + "Authorization: Bearer nonsense\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, d)
			_, _ = io.WriteString(conn, "POST /v2/workspaces HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"+more+"\r\n")
			mustRefuse(t, receive(t, bufio.NewReader(conn)), http.StatusRequestTimeout, http.StatusUnauthorized)
			if rest, err := io.ReadAll(conn); len(rest) > 0 || err != nil {
				t.Errorf("the connection is not closed: %q, %v", rest, err)
			}
		})
	}
}
