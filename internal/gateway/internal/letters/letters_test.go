package letters_test

import (
	"html"
	"strings"
	"testing"

	"atelier/internal/gateway/internal/letters"
	"atelier/internal/mail"
)

const link = "https://example.com/validate?token=abc_DEF-123&lang=fr"

func kinds() map[string]func(lang, link string) (mail.Message, error) {
	return map[string]func(lang, link string) (mail.Message, error){
		"validate": letters.Validate, "reset": letters.Reset, "deletion": letters.Deletion, "known": letters.Known,
	}
}

// Every letter can be sent, says the same in both forms, holds its link whole, and differs from every other.
func TestLetters(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, write := range kinds() {
		for _, lang := range []string{"en", "fr", "de"} {
			message, err := write(lang, link)
			if err != nil {
				t.Fatal(err)
			}
			message.To = "ada@example.com"
			if err := message.Check(); err != nil {
				t.Errorf("%s in %s: %v", name, lang, err)
			}
			for _, text := range []string{message.Subject, message.Text, message.HTML} {
				if other, twice := seen[text]; twice {
					t.Errorf("%s in %s says the same as %s", name, lang, other)
				}
				seen[text] = name + " in " + lang
			}
			for paragraph := range strings.SplitSeq(strings.TrimSpace(message.Text), "\n") {
				if paragraph = strings.TrimSuffix(paragraph, ":"); !strings.Contains(html.UnescapeString(message.HTML), paragraph) {
					t.Errorf("%s in %s: the page lacks %q", name, lang, paragraph)
				}
			}
			if !strings.Contains(message.Text, "\n"+link+"\n") || strings.Count(message.HTML, `href="`+html.EscapeString(link)+`"`) != 2 {
				t.Errorf("%s in %s: the link is not there:\n%s", name, lang, message.HTML)
			}
			if !strings.Contains(message.HTML, `<html lang="`+lang+`">`) || strings.Contains(message.HTML, "<img") {
				t.Errorf("%s in %s: %s", name, lang, message.HTML)
			}
		}
	}
}

func TestLanguages(t *testing.T) {
	t.Parallel()
	for tag, lang := range map[string]string{
		"en": "en", "fr": "fr", "FR": "fr", "fr-CA": "fr", "de_AT": "de", "de-Latn-DE": "de", "": "en", "it": "en", "fra": "en", "\"><script>": "en",
	} {
		message, err := letters.Reset(tag, link)
		if err != nil || !strings.Contains(message.HTML, `<html lang="`+lang+`">`) {
			t.Errorf("%q: %v\n%.60s", tag, err, message.HTML)
		}
	}
}

// A link is an address of the web, and nothing that could be taken for one.
func TestLinks(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{
		"javascript:alert(1)", "data:text/html,x", "/relative", "example.com", "https://", "https://example.com/\r\nBcc: x", "https://example.com/ x",
		`https://example.com/"onclick="x`, "https://example.com/<b>", "ftp://example.com/", "mailto:x@example.com",
	} {
		for name, write := range kinds() {
			if message, err := write("en", bad); err == nil {
				t.Errorf("%s: %q was written: %s", name, bad, message.Text)
			}
		}
	}
	for name, write := range kinds() {
		message, err := write("en", "")
		if (err == nil) != (name == "known") {
			t.Errorf("%s without a link: %v", name, err)
		}
		if err == nil && strings.Contains(message.HTML, "<a ") {
			t.Errorf("a link to nowhere: %s", message.HTML)
		}
	}
}
