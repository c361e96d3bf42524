package service_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"strings"
	"sync"
	"testing"

	"atelier/internal/access"
	"atelier/internal/blob"
	"atelier/internal/blob/fsblob"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/service"
)

const (
	maxUpload = 100_000
	filesURL  = "https://files.example.test/v2"
)

// cabinet is a house with a place for files.
type cabinet struct {
	*house

	blobs blob.Store
	// photos are contents that somebody else uses.
	photos map[string]bool
}

// eachCabinet runs a test on a new cabinet, on every engine.
func eachCabinet(t *testing.T, run func(t *testing.T, c *cabinet)) {
	t.Helper()
	each(t, func(t *testing.T, h *house) { run(t, newCabinet(t, h)) })
}

func newCabinet(t *testing.T, h *house) *cabinet {
	t.Helper()
	blobs, err := fsblob.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	c := &cabinet{house: h, blobs: blobs, photos: map[string]bool{}}
	h.deps.Blobs = blobs
	if h.deps.Links, err = service.NewFileLinks("a key for tests, long enough to be one"); err != nil {
		t.Fatal(err)
	}
	h.deps.Uploads = service.Uploads{
		MaxSize: maxUpload, URL: filesURL, Allowed: []string{"image/*", "text/*", "video/*", "audio/*", "application/*", "font/*"},
	}
	h.deps.Referenced = func(_ context.Context, _ sqldb.Reader, hash string) (bool, error) { return c.photos[hash], nil }
	h.open()
	return c
}

// hashes lists the contents that are stored.
func (c *cabinet) hashes() (all []string) {
	c.t.Helper()
	if err := c.blobs.Walk(c.t.Context(), func(info blob.Info) error { all = append(all, info.Hash); return nil }); err != nil {
		c.t.Fatal(err)
	}
	return all
}

// sweep runs one round of the sweep.
func (c *cabinet) sweep() {
	c.t.Helper()
	if err := c.built.SweepFiles(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
}

// piece is a part of a form.
type piece struct {
	field, name, kind, body string
	// plain is a field, not a file.
	plain bool
}

func aFile(name, kind, body string) piece {
	return piece{field: "file", name: name, kind: kind, body: body}
}

func aField(field, value string) piece { return piece{field: field, body: value, plain: true} }

// encode writes a form and gives its content type.
func encode(t *testing.T, pieces ...piece) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for _, p := range pieces {
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name="%s"`, p.field)
		if !p.plain {
			disposition += fmt.Sprintf(`; filename="%s"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(p.name))
		}
		h.Set("Content-Disposition", disposition)
		if p.kind != "" {
			h.Set("Content-Type", p.kind)
		}
		part, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(part, p.body)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.String()
}

// form sends a form.
func (c *caller) form(method, path string, pieces ...piece) *answer {
	c.house.t.Helper()
	kind, body := encode(c.house.t, pieces...)
	return c.send(method, path, kind, strings.NewReader(body))
}

// send sends bytes of some kind.
func (c *caller) send(method, path, kind string, body io.Reader) *answer {
	c.house.t.Helper()
	r := httptest.NewRequestWithContext(access.With(c.house.t.Context(), c.who), method, path, body)
	r.ContentLength = -1
	maps.Copy(r.Header, c.header)
	r.Header.Set("Content-Type", kind)
	return c.house.serve(c, r)
}

// upload stores one file in the workspace at an address and gives it.
func (c *caller) upload(at string, file piece, fields ...piece) *answer {
	c.house.t.Helper()
	made := c.form(http.MethodPost, at+"/files", append(fields, file)...).want(http.StatusCreated)
	list, ok := made.at("").([]any)
	if !ok || len(list) != 1 {
		c.house.t.Fatalf("%s: %s", made.what, made.body)
	}
	return made
}

// download asks for a file at its public address.
func (c *caller) download(address string, headers ...string) *answer {
	c.house.t.Helper()
	return c.fetch(http.MethodGet, address, headers...)
}

func (c *caller) fetch(method, address string, headers ...string) *answer {
	c.house.t.Helper()
	target, ok := strings.CutPrefix(address, strings.TrimSuffix(filesURL, "/v2"))
	if !ok {
		c.house.t.Fatalf("%s is not an address of files", address)
	}
	r := httptest.NewRequestWithContext(access.With(c.house.t.Context(), c.who), method, target, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return c.house.serve(c, r)
}

func (h *house) serve(c *caller, r *http.Request) *answer {
	h.t.Helper()
	w := httptest.NewRecorder()
	h.door.ServeHTTP(w, r)
	return &answer{t: h.t, what: r.Method + " " + r.URL.Path + " as " + c.who.Key(), status: w.Code, header: w.Header(), body: w.Body}
}

// nobody calls without a credential.
func (h *house) nobody() *caller { return h.as(access.Principal{}) }

// address is the address of a file in another spelling.
func address(path string) string { return filesURL + (&url.URL{Path: "/files/" + path}).EscapedPath() }

// counting tells how much of a body was read.
type counting struct {
	io.Reader
	read int64
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read += int64(n)
	return n, err
}

// endless is a body that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// trap is a blob store that does something at a step, once.
type trap struct {
	blob.Store

	mu                     sync.Mutex
	afterPut, beforeDelete func()
}

func (s *trap) spring(which *func()) {
	s.mu.Lock()
	do := *which
	*which = nil
	s.mu.Unlock()
	if do != nil {
		do()
	}
}

func (s *trap) Put(ctx context.Context, r io.Reader, max int64) (blob.Info, error) {
	info, err := s.Store.Put(ctx, r, max)
	s.spring(&s.afterPut)
	return info, err
}

func (s *trap) Delete(ctx context.Context, hash string) error {
	s.spring(&s.beforeDelete)
	return s.Store.Delete(ctx, hash)
}

// broken is a store whose contents break off.
type broken struct{ blob.Store }

func (s broken) Open(ctx context.Context, hash string, offset, length int64) (io.ReadCloser, error) {
	r, err := s.Store.Open(ctx, hash, offset, length)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(r, 3), failing{}), r}, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("the disk is gone") }

func base64Text(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// percent writes a text so that nothing in it ends anything.
func percent(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, "%%%02x", c)
	}
	return b.String()
}

func repeated(p piece, count int) (all []piece) {
	for range count {
		all = append(all, p)
	}
	return all
}

// manyParts is a form of many small fields.
func manyParts(count int) io.Reader {
	return strings.NewReader(strings.Repeat("--b\r\nContent-Disposition: form-data; name=\"metadata.x\"\r\n\r\ny\r\n", count) + "--b--\r\n")
}
