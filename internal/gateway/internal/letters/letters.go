// Package letters writes the mails that the gateway sends to people: in their language, as plain text and as HTML that says
// the same, readable without images, colours or a mouse.
package letters

import (
	_ "embed"
	"errors"
	"html/template"
	"net/url"
	"strings"

	"atelier/internal/mail"
)

// Validate asks the owner of an address to confirm a new account. The link works for an hour.
func Validate(lang, link string) (mail.Message, error) { return write(lang, link, validate()) }

// Reset lets the owner of an account choose a new password. The link works for an hour.
func Reset(lang, link string) (mail.Message, error) { return write(lang, link, reset()) }

// Deletion asks the owner of an account to confirm that it is to be deleted. The link works for an hour.
func Deletion(lang, link string) (mail.Message, error) { return write(lang, link, deletion()) }

// Known tells the owner of an account that somebody tried to sign up with its address again. The link leads to the sign-in
// page and may be empty.
func Known(lang, link string) (mail.Message, error) { return write(lang, link, known()) }

// letter is what a template fills in.
type letter struct {
	words

	Lang, Link string
	// OneHour tells how long the link works; empty when it always does.
	OneHour string
}

//go:embed letter.html
var page string

// write gives the message without a recipient, which the caller knows.
func write(lang, link string, k kind) (mail.Message, error) {
	if link == "" && k.expires || link != "" && !isWebAddress(link) {
		return mail.Message{}, errors.New("letters: a link must be an address of the web")
	}
	chosen := language(lang)
	l := letter{words: k.words[chosen], Lang: chosen, Link: link}
	if k.expires {
		l.OneHour = oneHour()[chosen]
	}
	html, err := l.html()
	return mail.Message{Subject: l.Subject, Text: l.text(), HTML: html}, err
}

func isWebAddress(link string) bool {
	u, err := url.Parse(link)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && !strings.ContainsAny(link, " \t\r\n<>\"")
}

func (l letter) html() (string, error) {
	parsed, err := template.New("letter").Parse(page)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	err = parsed.Execute(&text, l)
	return text.String(), err
}

// text says what the page says.
func (l letter) text() string {
	paragraphs := []string{l.Subject, l.Body}
	if l.Link != "" {
		paragraphs = append(paragraphs, l.Action+":\n"+l.Link)
	}
	if l.OneHour != "" {
		paragraphs = append(paragraphs, l.OneHour)
	}
	return strings.Join(append(paragraphs, l.Otherwise), "\n\n") + "\n"
}
