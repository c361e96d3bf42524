package apptest

import (
	"io"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// Mail waits for the newest mail to an address that has a subject with the text in it, among those that the server left as
// files, and gives its text.
func (s *Server) Mail(to, subject string) string {
	s.t.Helper()
	const patience, pause = 10 * time.Second, 10 * time.Millisecond
	for deadline := time.Now().Add(patience); ; {
		if text, found := s.findMail(to, subject); found {
			return text
		}
		if time.Now().After(deadline) {
			s.t.Fatalf("no mail to %s with %q arrived", to, subject)
		}
		timer := time.NewTimer(pause)
		<-timer.C
	}
}

// MailToken is the token in the link of a mail.
func (s *Server) MailToken(to, subject string) string {
	s.t.Helper()
	found := regexp.MustCompile(`[?&]token=([A-Za-z0-9_-]+)`).FindStringSubmatch(s.Mail(to, subject))
	if found == nil {
		s.t.Fatalf("the mail to %s has no link", to)
	}
	return found[1]
}

// findMail looks through the mails, the newest first.
func (s *Server) findMail(to, subject string) (string, bool) {
	s.t.Helper()
	files, err := filepath.Glob(filepath.Join(s.DataDir, "mail", "*.eml"))
	if err != nil {
		s.t.Fatal(err)
	}
	var newest time.Time
	text, found := "", false
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil || !info.ModTime().After(newest) {
			continue
		}
		if body, ok := s.readMail(name, to, subject); ok {
			text, found, newest = body, true, info.ModTime()
		}
	}
	return text, found
}

func (s *Server) readMail(name, to, subject string) (string, bool) {
	s.t.Helper()
	file, err := os.Open(name)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	message, err := mail.ReadMessage(file)
	if err != nil {
		s.t.Fatalf("%s: %v", name, err)
	}
	title, err := new(mime.WordDecoder).DecodeHeader(message.Header.Get("Subject"))
	if err != nil || !strings.Contains(message.Header.Get("To"), to) || !strings.Contains(title, subject) {
		return "", false
	}
	return s.mailText(message), true
}

// mailText is the plain text of a mail with alternatives.
func (s *Server) mailText(message *mail.Message) string {
	s.t.Helper()
	_, params, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil {
		s.t.Fatal(err)
	}
	body := message.Body
	if params["boundary"] != "" {
		part, err := multipart.NewReader(message.Body, params["boundary"]).NextPart()
		if err != nil {
			s.t.Fatal(err)
		}
		body = part // decodes quoted-printable by itself
	} else if strings.EqualFold(message.Header.Get("Content-Transfer-Encoding"), "quoted-printable") {
		body = quotedprintable.NewReader(body)
	}
	text, err := io.ReadAll(body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}
