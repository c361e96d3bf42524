package service_test

import (
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atelier/internal/errs"
)

const (
	gif     = "GIF89a\x01\x00\x01\x00\x00\x00\x00;"
	jpeg    = "\xff\xd8\xff\xe0\x00\x10JFIF"
	webp    = "RIFF\x24\x00\x00\x00WEBPVP8 "
	avif    = "\x00\x00\x00\x20ftypavif\x00\x00\x00\x00avifmif1miaf"
	mp4     = "\x00\x00\x00\x18ftypmp42\x00\x00\x00\x00mp42isom"
	webm    = "\x1a\x45\xdf\xa3\x01\x00\x00\x00\x00\x00\x00\x1f\x42\x86\x81\x01webm"
	mp3     = "\xff\xfb\x90\x64\x00\x0f\xf0\x00"
	ogg     = "OggS\x00\x02\x00\x00\x00\x00"
	wav     = "RIFF\x24\x00\x00\x00WAVEfmt "
	pdf     = "%PDF-1.7 /JS (app.alert(1))"
	html    = "<!doctype html><script>alert(1)</script>"
	svg     = `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`
	xml     = `<?xml version="1.0"?><x/>`
	anyType = "application/octet-stream"
)

// B-UPL-01: no browser runs anything of what people uploaded. What a file is served as is never more than it was said to be
// and than its bytes are; only plain pictures, sounds, films and texts are shown, and everything else is saved.
func TestWhatFilesAreServedAs(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann, nobody := c.user("ann"), c.nobody()
		at := ann.workspace("Mine")
		for _, one := range []struct {
			name, said, body string
			kind, shown      string
		}{
			{"a.png", "image/png", png, "image/png", "inline"},
			{"a.jpg", "image/jpeg", jpeg, "image/jpeg", "inline"},
			{"a.gif", "image/gif", gif, "image/gif", "inline"},
			{"a.webp", "image/webp", webp, "image/webp", "inline"},
			{"a.avif", "image/avif", avif, "image/avif", "inline"},
			{"a.mp4", "video/mp4", mp4, "video/mp4", "inline"},
			{"a.webm", "video/webm", webm, "video/webm", "inline"},
			{"a.mp3", "audio/mpeg", mp3, "audio/mpeg", "inline"},
			{"a.mp3", "audio/mp3", "ID3\x03 sound", "audio/mpeg", "inline"},
			{"a.ogg", "audio/ogg", ogg, "audio/ogg", "inline"},
			{"a.wav", "audio/x-wav", wav, "audio/wav", "inline"},
			{"a.txt", "text/plain; charset=latin1", "hello", "text/plain; charset=utf-8", "inline"},
			{"a.txt", "text/plain", html, "text/plain; charset=utf-8", "inline"}, // said to be text, shown as text
			{"a.pdf", "application/pdf", pdf, "application/pdf", "attachment"},
			{"a.html", "text/html", html, "text/html", "attachment"},
			{"a.svg", "image/svg+xml", svg, "image/svg+xml", "attachment"},
			{"a.xml", "text/xml", xml, "text/xml", "attachment"},
			{"a.js", "text/javascript", "alert(1)", "text/javascript", "attachment"},
			{"a.csv", "text/csv", "=1+1", "text/csv", "attachment"},
			{"a.zip", "application/zip", "PK\x03\x04", "application/zip", "attachment"},
			// lies: pages and scripts that call themselves pictures, sounds or nothing at all
			{"a.png", "image/png", html, anyType, "attachment"},
			{"a.png", "image/png", svg, anyType, "attachment"},
			{"a.png", "image/png", pdf, anyType, "attachment"},
			{"a.mp3", "audio/mpeg", html, anyType, "attachment"},
			{"a.html", "image/png", png + html, anyType, "attachment"}, // both a picture and a page
			{"a.svg", "image/gif", gif + svg, anyType, "attachment"},
			{"a.png", "", html, anyType, "attachment"},
			{"a", "", html, anyType, "attachment"},
			{"a.html", "", html, anyType, "attachment"},
			{"a.html", anyType, html, anyType, "attachment"},
			{"a", "nonsense", svg, "text/plain; charset=utf-8", "inline"}, // which is what its first bytes are
			{"a", "nonsense", xml, anyType, "attachment"},
			{"a.txt", "text/plain", "\x00\x01\x02", anyType, "attachment"},
			// honest mistakes
			{"a.jpg", "image/jpeg", png, "image/png", "inline"},
			{"a.png", "", png, "image/png", "inline"},
			{"a", anyType, png, "image/png", "inline"},
			{"a.json", "", `{"a":1}`, "application/json", "attachment"},
			{"a.md", anyType, "# x", "text/markdown", "attachment"},
			// nothing
			{"empty.png", "image/png", "", anyType, "attachment"},
			{"empty.txt", "text/plain", "", "text/plain; charset=utf-8", "inline"},
		} {
			made := ann.upload(at, aFile(one.name, one.said, one.body))
			got := nobody.download(made.text("0.url")).want(http.StatusOK)
			disposition, params, err := mime.ParseMediaType(got.header.Get("Content-Disposition"))
			if err != nil || got.header.Get("Content-Type") != one.kind || disposition != one.shown || params["filename"] != one.name || got.body.String() != one.body {
				t.Errorf("%s said to be %q: served as %q, %q (%q)", one.name, one.said, got.header.Get("Content-Type"), got.header.Get("Content-Disposition"), got.body)
			}
			for name, want := range map[string]string{
				"X-Content-Type-Options": "nosniff", "Content-Security-Policy": "sandbox; default-src 'none'", "Cross-Origin-Resource-Policy": "cross-origin",
				"Referrer-Policy": "no-referrer", "Cache-Control": "public, no-cache", "Content-Length": fmt.Sprint(len(one.body)),
			} {
				if got.header.Get(name) != want {
					t.Errorf("%s: %s is %q", one.name, name, got.header.Get(name))
				}
			}
		}
		private := ann.upload(at, aFile("a.png", "image/png", png), aField("public", "false"))
		got := ann.download(private.text("0.url")).want(http.StatusOK)
		if got.header.Get("Cache-Control") != "private, no-store" || got.header.Get("Cross-Origin-Resource-Policy") != "same-site" {
			t.Errorf("a private file: %v", got.header)
		}
	})
}

func TestTypesThatAreNotTaken(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		c.deps.Uploads.Allowed, c.deps.Uploads.Forbidden = []string{"image/*", "text/plain"}, []string{"image/svg+xml"}
		c.open()
		ann := c.user("ann")
		at := ann.workspace("Mine")
		ann.upload(at, aFile("a.png", "image/png", png))
		made := ann.upload(at, aFile("a.txt", "TEXT/Plain", "x"))
		for _, refused := range []piece{
			aFile("a.svg", "image/svg+xml", svg), aFile("a.png", "image/png", html), aFile("a.pdf", "application/pdf", pdf), aFile("a", "multipart/mixed", "x"),
			aFile("a.csv", "text/csv", "x"),
		} {
			ann.form(http.MethodPost, at+"/files", aFile("a.png", "image/png", png), refused).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("file")
			ann.form(http.MethodPut, at+"/files/"+made.text("0.id"), piece{field: "file", name: "a", kind: refused.kind, body: "\x00" + refused.body}).
				wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("file")
		}
		if total := ann.get(at + "/files").header.Get("X-Total-Count"); total != "2" {
			t.Errorf("%s files", total)
		}
	})
}

func TestDefaultVisibility(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		c.deps.Uploads.Private = true
		c.open()
		ann := c.user("ann")
		at := ann.workspace("Mine")
		if made := ann.upload(at, aFile("a.txt", "", "x")); made.text("0.public") != "false" {
			t.Errorf("%s", made.body)
		}
		if made := ann.upload(at, aFile("a.txt", "", "x"), aField("public", "true")); made.text("0.public") != "true" {
			t.Errorf("%s", made.body)
		}
	})
}

// Whatever a file is called, the name is one plain segment of an address, ends no header, and is the name of nothing else.
func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann, nobody := c.user("ann"), c.nobody()
		at := ann.workspace("Mine")
		long := strings.Repeat("é", 300) + ".tar.gz"
		for given, want := range map[string]string{
			"../../etc/passwd":                     "passwd",
			`..\..\windows\win.ini`:                "win.ini",
			"/abs/olute":                           "olute",
			"..":                                   "file",
			".":                                    "file",
			"a/..":                                 "file",
			"..;/x":                                "x",
			"a;b":                                  "a_b",
			"..;":                                  ".._",
			"%2e%2e%2fx":                           "_2e_2e_2fx",
			"C:\\fakepath\\photo.png":              "photo.png",
			"Crème brûlée à Noël.txt":              "Creme brulee a Noel.txt",
			"日本語.txt":                              "日本語.txt",
			"क़िताब":                               "क़िताब",
			"exe\u202egpj.txt":                     "exegpj.txt",
			"zero\u200bwidth\ufeff":                "zerowidth",
			"tab\tline":                            "tabline",
			"  spaces  ":                           "spaces",
			`quote"d`:                              "quote_d",
			`a"; filename="b.exe`:                  "a__ filename=_b.exe",
			"<script>":                             "_script_",
			".htaccess":                            ".htaccess",
			"CON":                                  "CON",
			"a?b#c&d=e":                            "a_b#c&d=e",
			"\u2028x\u2029":                        "x",
			"nul\u0085x":                           "nulx",
			strings.Repeat("x", 300):               strings.Repeat("x", 250),
			strings.Repeat("x", 300) + ".png":      strings.Repeat("x", 246) + ".png",
			long:                                   strings.Repeat("e", 247) + ".gz",
			strings.Repeat("😀", 250):               strings.Repeat("😀", 250),
			"sha256:" + strings.Repeat("0", 64):    "sha256_" + strings.Repeat("0", 64),
			"\xff\xfebroken":                       "broken",
			"Content-Type: text/html":              "html", // behind the slash
			"+ plus &amp;":                         "+ plus &amp_",
			"x.png\u0000.html":                     "x.png.html",
			"line\u000d\u000aSet-Cookie: a=b":      "lineSet-Cookie_ a=b",
			"a\u0301b\u030a.txt":                   "ab.txt",
			"data:text/html,x":                     "html,x",
			"trailing.":                            "trailing.",
			"~$lock":                               "~$lock",
			"'single' `back`":                      "'single' `back`",
			"{{secret.name}} ${HOME} $(id) | cat":  "{{secret.name}} ${HOME} $(id) _ cat",
			strings.Repeat("../", 80) + "deep.txt": "deep.txt",
		} {
			body := "name: " + given
			made := ann.form(http.MethodPost, at+"/files", aField("file", "data:text/plain;filename:"+percent(given)+";base64,"+base64Text(body))).want(http.StatusCreated)
			if made.text("0.name") != want {
				t.Errorf("%q is called %q, want %q", given, made.text("0.name"), want)
				continue
			}
			got := nobody.download(made.text("0.url")).want(http.StatusOK)
			_, params, err := mime.ParseMediaType(got.header.Get("Content-Disposition"))
			if err != nil || params["filename"] != want || got.body.String() != body || len(got.header.Values("Content-Disposition")) != 1 || got.header.Get("Set-Cookie") != "" {
				t.Errorf("%q: %v, %q", given, err, got.header.Get("Content-Disposition"))
			}
			if strings.ContainsAny(made.text("0.url")[len(filesURL):], "\\;\"<> \r\n") || strings.Contains(made.text("0.url"), "/..") || strings.Contains(made.text("0.url"), "%25") {
				t.Errorf("%q: the address is %q", given, made.text("0.url"))
			}
			ann.get(at + "/files/" + made.text("0.id")).want(http.StatusOK)
		}
		if hashes := c.hashes(); len(hashes) == 0 || !filepath.IsLocal(hashes[0]) {
			t.Errorf("contents: %v", hashes)
		}
	})
}

// B-ARC-06 and B-JSN-10: forms that are not what they say, and forms without an end.
func TestHostileForms(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		good := aFile("a.txt", "text/plain", "one")
		files := at + "/files"
		kind, body := encode(t, good)
		for name, refused := range map[string]*answer{
			"no boundary":        ann.send(http.MethodPost, files, "multipart/form-data", strings.NewReader(body)),
			"cut in the header":  ann.send(http.MethodPost, files, kind, strings.NewReader(body[:80])),
			"cut in the content": ann.send(http.MethodPost, files, kind, strings.NewReader(body[:len(body)-70])),
			"no names":           ann.send(http.MethodPost, files, "multipart/form-data; boundary=b", strings.NewReader("--b\r\nContent-Type: text/plain\r\n\r\nx\r\n--b--\r\n")),
			"a broken header":    ann.send(http.MethodPost, files, "multipart/form-data; boundary=b", strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"a\"; filename=\"\r\n\r\nx\r\n--b--\r\n")),
			"10 000 parts":       ann.send(http.MethodPost, files, "multipart/form-data; boundary=b", manyParts(10_000)),
			"51 files":           ann.form(http.MethodPost, files, repeated(good, 51)...),
		} {
			if refused.status != http.StatusBadRequest || refused.text("error") != string(errs.InvalidRequest) {
				t.Errorf("%s: %d %s", name, refused.status, refused.body)
			}
		}
		for _, nothing := range []string{body, "", "--other--\r\n"} { // nothing in it is a file
			ann.send(http.MethodPost, files, "multipart/form-data; boundary=other", strings.NewReader(nothing)).
				wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("file")
		}
		for _, wrong := range []string{"application/json", "text/plain", "multipart/mixed; boundary=b", ""} {
			ann.send(http.MethodPost, files, wrong, strings.NewReader(body)).wantError(http.StatusUnsupportedMediaType, errs.InvalidRequest)
		}
		if len(c.events(at, "workspaces.files.uploaded")) != 0 || ann.get(files).header.Get("X-Total-Count") != "0" {
			t.Error("a refused form left something")
		}
		ann.form(http.MethodPost, files, repeated(good, 50)...).want(http.StatusCreated)
	})
}

// What is too large is refused as soon as it is, and takes everything that came with it along.
func TestFilesThatAreTooLarge(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		files := at + "/files"
		largest := strings.Repeat("x", maxUpload)
		ann.upload(at, aFile("a.txt", "text/plain", largest))
		ann.upload(at, aField("file", "data:text/plain;base64,"+base64Text(largest)))
		for name, refused := range map[string]*answer{
			"one byte more":           ann.form(http.MethodPost, files, aFile("a.txt", "text/plain", largest+"x")),
			"one byte more in base64": ann.form(http.MethodPost, files, aField("file", "data:text/plain;base64,"+base64Text(largest+"x"))),
			"the second of two":       ann.form(http.MethodPost, files, aFile("a.txt", "text/plain", "small"), aFile("b.txt", "text/plain", largest+"x")),
			"the first of two":        ann.form(http.MethodPost, files, aFile("b.txt", "text/plain", largest+"x"), aFile("a.txt", "text/plain", "small")),
		} {
			refused.wantError(http.StatusRequestEntityTooLarge, errs.PayloadTooLarge)
			if refused.text("details.limit") != fmt.Sprint(maxUpload) {
				t.Errorf("%s: %s", name, refused.body)
			}
		}
		head := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"
		huge := &counting{Reader: io.MultiReader(strings.NewReader(head), endless{})}
		ann.send(http.MethodPost, files, "multipart/form-data; boundary=b", huge).wantError(http.StatusRequestEntityTooLarge, errs.PayloadTooLarge)
		if huge.read > 2*maxUpload {
			t.Errorf("%d bytes of a file without an end were read", huge.read)
		}
		field := &counting{Reader: io.MultiReader(strings.NewReader("--b\r\nContent-Disposition: form-data; name=\"metadata\"\r\n\r\n"), endless{})}
		ann.send(http.MethodPost, files, "multipart/form-data; boundary=b", field).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed).wantField("metadata")
		if field.read > maxUpload {
			t.Errorf("%d bytes of a field without an end were read", field.read)
		}
		stranger := &counting{Reader: io.MultiReader(strings.NewReader(head), endless{})}
		c.user("eve").send(http.MethodPost, files, "multipart/form-data; boundary=b", stranger).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		if stranger.read > maxUpload/2 {
			t.Errorf("%d bytes of somebody who may not upload were read", stranger.read)
		}
		if total := ann.get(files).header.Get("X-Total-Count"); total != "2" {
			t.Errorf("%s files", total)
		}
		var all []piece
		for range 50 {
			all = append(all, aFile("a.txt", "text/plain", largest))
		}
		ann.form(http.MethodPost, files, all...).want(http.StatusCreated)
	})
}

// B-HTP-10: ranges and conditions are bounded, and wrong ones are refused in our words.
func TestRangesAndConditions(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		const body = png + "0123456789"
		made := ann.upload(at, aFile("a.png", "image/png", body))
		address, size := made.text("0.url"), len(body)
		whole := ann.download(address).want(http.StatusOK)
		tag, modified := whole.header.Get("Etag"), whole.header.Get("Last-Modified")
		if len(tag) != 34 || modified != "Sun, 01 Mar 2026 12:00:00 GMT" || whole.header.Get("Accept-Ranges") != "bytes" {
			t.Errorf("%v", whole.header)
		}
		for asked, want := range map[string]string{
			"bytes=0-3": body[:4], "bytes=-3": "789", fmt.Sprintf("bytes=%d-", size-2): "89", "bytes=0-0": body[:1], "bytes=0-99999999": body, "bytes=-99999": body,
		} {
			got := ann.download(address, "Range", asked).want(http.StatusPartialContent)
			if got.body.String() != want || !strings.HasSuffix(got.header.Get("Content-Range"), fmt.Sprintf("/%d", size)) || got.header.Get("Content-Security-Policy") == "" {
				t.Errorf("%s: %q %v", asked, got.body, got.header)
			}
		}
		for _, wrong := range []string{fmt.Sprintf("bytes=%d-", size), "bytes=99-100", "bytes=5-2", "bytes=abc", "bytes=--1", "bytes=-0", "bytes=99999999999999999999-"} {
			got := ann.download(address, "Range", wrong).wantError(http.StatusRequestedRangeNotSatisfiable, errs.InvalidRequest)
			if got.header.Get("Content-Disposition") != "" || got.header.Get("Content-Type") != "application/json" || got.text("details.size") != fmt.Sprint(size) {
				t.Errorf("%s: %v", wrong, got.header)
			}
		}
		many := "bytes=0-0" + strings.Repeat(",0-0", 1000)
		for _, ignored := range []string{many, "bytes=0-1,3-4", "items=0-1"} {
			if got := ann.download(address, "Range", ignored); ignored != "items=0-1" && (got.status != http.StatusOK || got.body.String() != body) {
				t.Errorf("%.20s: %d %d bytes", ignored, got.status, got.body.Len())
			}
		}
		if got := ann.download(address, "If-None-Match", tag).want(http.StatusNotModified); got.body.Len() != 0 || got.header.Get("Etag") != tag {
			t.Errorf("%v", got.header)
		}
		ann.download(address, "If-None-Match", `"other", `+tag).want(http.StatusNotModified)
		ann.download(address, "If-None-Match", `"other"`).want(http.StatusOK)
		ann.download(address, "If-Modified-Since", modified).want(http.StatusNotModified)
		ann.download(address, "If-Match", `"other"`).wantError(http.StatusPreconditionFailed, errs.Conflict)
		ann.download(address, "Range", "bytes=0-3", "If-Range", tag).want(http.StatusPartialContent)
		ann.download(address, "Range", "bytes=0-3", "If-Range", `"other"`).want(http.StatusOK)
		head := ann.fetch(http.MethodHead, address).want(http.StatusOK)
		if head.header.Get("Content-Length") != fmt.Sprint(size) || head.header.Get("Content-Type") != "image/png" || head.body.Len() != 0 {
			t.Errorf("HEAD: %v", head.header)
		}
		empty := ann.upload(at, aFile("empty.txt", "text/plain", ""))
		ann.download(empty.text("0.url"), "Range", "bytes=0-").want(http.StatusOK)
		text := ann.upload(at, aFile("a.txt", "text/plain", "hello"))
		weak := ann.download(text.text("0.url")).header.Get("Etag")
		if !strings.HasPrefix(weak, `W/"`) { // it may be sent compressed
			t.Errorf("the tag of a text: %s", weak)
		}
		ann.download(text.text("0.url"), "If-None-Match", weak).want(http.StatusNotModified)
		if got := ann.download(text.text("0.url"), "Range", "bytes=0-1", "If-Range", weak).want(http.StatusOK); got.body.String() != "hello" {
			t.Errorf("%q", got.body)
		}
		private := ann.upload(at, aFile("a.png", "image/png", body), aField("public", "false"))
		c.nobody().download(private.text("0.url"), "If-None-Match", tag).wantError(http.StatusUnauthorized, errs.MissingToken) // nothing is told of its bytes
		c.clk.Advance(time.Hour)
		ann.form(http.MethodPut, at+"/files/"+made.text("0.id"), aFile("a.png", "image/png", body+"more")).want(http.StatusOK)
		ann.download(address, "If-None-Match", tag).want(http.StatusOK)
		ann.download(address, "If-Modified-Since", modified).want(http.StatusOK)
	})
}

// A path that is not exactly that of a file is none.
func TestPathsOfFiles(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		made := ann.upload(at, aFile("a.txt", "text/plain", "x"))
		path, id, workspaceID := made.text("0.path"), made.text("0.id"), made.text("0.workspaceId")
		slug := ann.get(at).text("slug")
		for _, wrong := range []string{
			id, id + ".a.txt", workspaceID + "/" + id, workspaceID + "/" + id + ".b.txt", workspaceID + "/" + id + ".a.txt/", workspaceID + "/" + id + ".a.txt/x",
			"other/" + id + ".a.txt", "slug:" + slug + "/" + id + ".a.txt", strings.ToUpper(path), path + " ", workspaceID + "/x/" + id + ".a.txt", "x", workspaceID,
			workspaceID + "/..;/" + id + ".a.txt", workspaceID + "/' OR 1=1 --.txt",
		} {
			for _, who := range []*caller{ann, c.nobody()} {
				who.download(address(wrong)).wantError(http.StatusNotFound, errs.NotFound)
			}
		}
		ann.download(made.text("0.url")+"?token=a&token=b").wantError(http.StatusBadRequest, errs.InvalidParameter)
		ann.do(http.MethodDelete, "/v2/files/"+path, nil).want(http.StatusMethodNotAllowed)
	})
}

// A file whose bytes break off on the way is not taken for whole.
func TestBrokenDownload(t *testing.T) {
	t.Parallel()
	eachCabinet(t, func(t *testing.T, c *cabinet) {
		ann := c.user("ann")
		at := ann.workspace("Mine")
		made := ann.upload(at, aFile("a.txt", "text/plain", "hello"))
		c.deps.Blobs = broken{c.blobs}
		c.open()
		defer func() {
			if cut := recover(); cut != http.ErrAbortHandler { //nolint:errorlint // it is panicked with as it is
				t.Errorf("the connection was not cut: %v", cut)
			}
		}()
		ann.download(made.text("0.url"))
	})
}
