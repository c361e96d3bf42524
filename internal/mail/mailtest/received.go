package mailtest

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"strings"
	"testing"
)

// Received is a mail read back with the parser of the standard library.
type Received struct {
	Raw        []byte
	Header     netmail.Header
	Text, HTML string
}

// Subject is the subject as people see it.
func (r Received) Subject(t *testing.T) string {
	t.Helper()
	text, err := (&mime.WordDecoder{}).DecodeHeader(r.Header.Get("Subject"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func parse(t *testing.T, raw []byte) Received {
	t.Helper()
	message, err := netmail.ReadMessage(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	got := Received{Raw: raw, Header: message.Header}
	kind, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(kind, "multipart/") {
		got.take(t, kind, message.Header.Get("Content-Transfer-Encoding"), message.Body)
		return got
	}
	parts := multipart.NewReader(message.Body, params["boundary"])
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			return got
		}
		if err != nil {
			t.Fatal(err)
		}
		kind, _, err := mime.ParseMediaType(part.Header.Get("Content-Type"))
		if err != nil {
			t.Fatal(err)
		}
		got.take(t, kind, part.Header.Get("Content-Transfer-Encoding"), part)
	}
}

func (r *Received) take(t *testing.T, kind, encoding string, body io.Reader) {
	t.Helper()
	if encoding != "quoted-printable" {
		t.Fatalf("encoding %q", encoding)
	}
	text, err := io.ReadAll(quotedprintable.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	plain := strings.ReplaceAll(string(text), "\r\n", "\n")
	switch kind {
	case "text/plain":
		r.Text = plain
	case "text/html":
		r.HTML = plain
	default:
		t.Errorf("an unexpected part: %s", kind)
	}
}
