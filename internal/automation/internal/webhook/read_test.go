package webhook_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/dsul/expr/value"
)

// request is one to an endpoint, with headers as name: value.
func request(method, target, body string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, strings.NewReader(body))
	for _, header := range headers {
		name, text, _ := strings.Cut(header, ": ")
		r.Header.Add(name, text)
	}
	return r
}

func part(t *testing.T, r *http.Request, name string) string {
	t.Helper()
	payload, err := webhook.Read(r, webhook.NewLimits(1000), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, _ := value.JSON(payload.Get(name), "", 1<<20)
	return text
}

func TestReadWhole(t *testing.T) {
	t.Parallel()
	r := request("post", "/hook/7?a=1&b=x%20y&a=2&a=3&f[x][]=z&flag&%zz=%C3%28", `{"b":1,"a":[true,null]}`,
		"Content-Type: application/json; charset=utf-8", "Cookie: access-token=x", "X-Svc-Workspace-Id: w", "X-Svc-Api-Key: k", "X-Hub-Signature: s",
		"Authorization: Bearer t", "X-Many: 1", "X-Many: 2", "Accept: caf\xe9")
	payload, err := webhook.Read(r, webhook.NewLimits(1000), map[string]string{"rest": "x/y", "id": "7"})
	if err != nil {
		t.Fatal(err)
	}
	text, _ := value.JSON(payload, "", 1<<20)
	if want := `{"body":{"b":1,"a":[true,null]},"headers":{"accept":"caf` + "\ufffd" + `","authorization":"Bearer t","content-type":"application/json; charset=utf-8",` +
		`"x-hub-signature":"s","x-many":"1, 2"},"method":"POST","query":{"a":["1","2","3"],"b":"x y","f[x][]":"z","flag":"","%zz":"` + "\ufffd" + `("},` +
		`"pathParams":{"id":"7","rest":"x/y"}}`; text != want {
		t.Errorf("%s\nnot\n%s", text, want)
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, body, want string }{
		"none":             {"", "", `{}`},
		"empty JSON":       {"application/json", "", `{}`},
		"a list":           {"application/json", ` [1] `, `[1]`},
		"a text":           {"application/json", `"a"`, `"a"`},
		"a kind of JSON":   {"application/vnd.api+json", `{"a":1}`, `{"a":1}`},
		"marked JSON":      {"application/json", "\ufeff{}", `{}`},
		"bad parameters":   {"application/json; charset", `{"a":1}`, `{"a":1}`},
		"form":             {"application/x-www-form-urlencoded", "a=1&a=2&b[c]=+%26", `{"a":["1","2"],"b[c]":" &"}`},
		"text":             {"text/plain", "{hello", `"{hello"`},
		"text of bytes":    {"text/plain", "a\xff", `"a` + "\ufffd" + `"`},
		"xml":              {"application/xml", "<a/>", `"<a/>"`},
		"bytes":            {"application/octet-stream", "\x00\xff", `{"mimetype":"application/octet-stream","size":2,"base64":"AP8="}`},
		"JSON, not said":   {"", `{"a":1}`, `{"a":1}`},
		"nearly JSON":      {"", `{"a":1`, `"{\"a\":1"`},
		"exactly the size": {"text/plain", strings.Repeat("x", 1000), `"` + strings.Repeat("x", 1000) + `"`},
	} {
		r := request("POST", "/", c.body)
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		if got := part(t, r, "body"); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
	r := request("GET", "/", "")
	r.Body = nil
	if got := part(t, r, "body"); got != `{}` {
		t.Error(got)
	}
}

// upload is a form; each part is "field=value" or "field@name@type=value".
func upload(t *testing.T, parts ...string) *http.Request {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, one := range parts {
		what, content, _ := strings.Cut(one, "=")
		field, file, isFile := strings.Cut(what, "@")
		name, kind, _ := strings.Cut(file, "@")
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name=%q`, field)
		if field == "-" {
			disposition = "form-data"
		}
		if isFile {
			disposition += fmt.Sprintf(`; filename=%q`, name)
		}
		h.Set("Content-Disposition", disposition)
		if kind != "" {
			h.Set("Content-Type", kind)
		}
		if field == "bad" {
			h.Set("Content-Disposition", ";;")
		}
		writer, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(writer, content)
	}
	_ = w.Close()
	return request("POST", "/", body.String(), "Content-Type: "+w.FormDataContentType())
}

func TestForms(t *testing.T) {
	t.Parallel()
	const txt = `{"originalname":"a.txt","encoding":"7bit","mimetype":"text/plain","size":2,"base64":"aGk="}`
	const bin = `{"originalname":"b","encoding":"7bit","mimetype":"application/octet-stream","size":0,"base64":""}`
	for name, c := range map[string]struct {
		parts []string
		want  string
	}{
		"none":             {nil, `{}`},
		"fields and files": {[]string{"z=1", "f@a.txt@text/plain=hi", "é=x\xff"}, `{"z":"1","f":` + txt + `,"é":"x` + "\ufffd" + `"}`},
		"repeated":         {[]string{"a=1", "a=2", "a=3", "a=4"}, `{"a":["1","2","3","4"]}`},
		"repeated files":   {[]string{"f@a.txt@text/plain=hi", "f@b=", "f@a.txt@text/plain=hi"}, `{"f":[` + txt + `,` + bin + `,` + txt + `]}`},
		"mixed":            {[]string{"f=x", "f@a.txt@text/plain=hi"}, `{"f":["x",` + txt + `]}`},
		"no name":          {[]string{"-@a.txt@text/plain=hi"}, `{"file":` + txt + `}`},
		"nobody chose":     {[]string{"f@=", "a=1"}, `{"a":"1"}`},
		"with a path":      {[]string{`f@C:\x\a.txt@text/plain=hi`, "g@../../a.txt@text/plain=hi"}, `{"f":` + txt + `,"g":` + txt + `}`},
	} {
		if got := part(t, upload(t, c.parts...), "body"); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
		slow := upload(t, c.parts...) // the end may come in pieces
		slow.Body = io.NopCloser(iotest.OneByteReader(slow.Body))
		if got := part(t, slow, "body"); got != c.want {
			t.Errorf("%s, byte by byte: %s", name, got)
		}
	}
}

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	limits := webhook.Limits{File: 100, Field: 50, Total: 5000, Parts: 10, Pairs: 5}
	const form = "Content-Type: multipart/form-data; boundary=x"
	for name, c := range map[string]struct {
		r       *http.Request
		failure string
		status  int
		says    string
	}{
		"bad JSON":        {request("POST", "/", `{"a":`, "Content-Type: application/json"), webhook.InvalidRequest, 400, "not valid JSON"},
		"deep JSON":       {request("POST", "/", strings.Repeat("[", 49)+strings.Repeat("]", 49)+"x", "Content-Type: application/json"), webhook.InvalidRequest, 400, "not valid JSON"},
		"large body":      {request("POST", "/", strings.Repeat("x", 101), "Content-Type: text/plain"), machine.InvalidUpload, 413, "too large"},
		"many pairs":      {request("POST", "/", "a&b&c&d&e&f", "Content-Type: application/x-www-form-urlencoded"), machine.InvalidUpload, 413, "too many parameters"},
		"long query":      {request("GET", "/?a&b&c&d&e&f", ""), machine.InvalidUpload, 413, "too many parameters"},
		"large file":      {upload(t, "f@a="+strings.Repeat("x", 101)), machine.InvalidUpload, 413, "A file is too large: f"},
		"large field":     {upload(t, "f="+strings.Repeat("x", 51)), machine.InvalidUpload, 413, "A field of the form is too large: f"},
		"large form":      {upload(t, strings.Split(strings.Repeat("f@a="+strings.Repeat("x", 99)+";", 9)+"a="+strings.Repeat("x", 4000), ";")...), machine.InvalidUpload, 413, "too large"},
		"many parts":      {upload(t, strings.Split(strings.Repeat("a=;", 10)+"a=", ";")...), machine.InvalidUpload, 413, "too many parts"},
		"no boundary":     {request("POST", "/", "x", "Content-Type: multipart/form-data"), webhook.InvalidRequest, 400, "no boundary"},
		"cut off":         {request("POST", "/", "--x\r\nContent-Disposition: form-data; name=a\r\n\r\nabc", form), webhook.InvalidRequest, 400, "could not be read to its end"},
		"cut off between": {request("POST", "/", "--x\r\nContent-Disposition: form-data; name=a\r\n\r\nabc\r\n--x\r\n", form), webhook.InvalidRequest, 400, "could not be read to its end"},
		"no form":         {request("POST", "/", "hello", form), webhook.InvalidRequest, 400, "could not be read to its end"},
		"no disposition":  {upload(t, "bad=1"), webhook.InvalidRequest, 400, "does not say what it is"},
		"late":            {broken(os.ErrDeadlineExceeded, "text/plain"), webhook.InvalidRequest, 408, "did not arrive in time"},
		"late form":       {broken(os.ErrDeadlineExceeded, "multipart/form-data; boundary=x"), webhook.InvalidRequest, 408, "did not arrive in time"},
		"broken":          {broken(io.ErrUnexpectedEOF, "text/plain"), webhook.InvalidRequest, 400, "could not be read to its end"},
		"the server's":    {broken(&http.MaxBytesError{Limit: 7}, "text/plain"), machine.InvalidUpload, 413, "too large"},
		"headers of part": {request("POST", "/", "--x\r\n"+strings.Repeat("A: "+strings.Repeat("b", 100)+"\r\n", 100), form), machine.InvalidUpload, 413, "too large"},
	} {
		payload, err := webhook.Read(c.r, limits, nil)
		var failure *machine.Failure
		if !errors.As(err, &failure) || failure.Name != c.failure || !strings.Contains(failure.Message, c.says) || webhook.Status(err) != c.status || payload != nil {
			t.Errorf("%s: %v, %d", name, err, webhook.Status(err))
		}
	}
}

func broken(err error, kind string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(err))
	r.Header.Set("Content-Type", kind)
	return r
}
