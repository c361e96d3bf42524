// Package mailtest is the suite of the mail contract. Every driver runs it.
package mailtest

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"atelier/internal/ident"
	"atelier/internal/mail"
)

// From is the sender that drivers under test are opened with.
const From = "atelier@example.com"

// Box gives the mails that arrived for an address, as they travelled.
type Box func(t *testing.T, to string) [][]byte

// Run holds a driver against the contract. open gives a sender, and the place where its mails arrive.
func Run(t *testing.T, open func(t *testing.T) (mail.Sender, Box)) {
	t.Helper()
	for name, scenario := range map[string]func(*testing.T, mail.Sender, Box){
		"arrives":           arrives,
		"plain text":        plainText,
		"other languages":   otherLanguages,
		"awkward texts":     awkwardTexts,
		"refuses":           refuses,
		"ids":               ids,
		"many at once":      manyAtOnce,
		"cancelled":         cancelled,
		"ping and close":    pingAndClose,
		"longest addresses": longestAddresses,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sender, box := open(t)
			scenario(t, sender, box)
		})
	}
}

// someone is an address that nothing was sent to yet.
func someone() string { return ident.Source{}.UUID() + "@example.org" }

func send(t *testing.T, sender mail.Sender, message mail.Message) {
	t.Helper()
	if err := sender.Send(t.Context(), message); err != nil {
		t.Fatal(err)
	}
}

// only gives the one mail that arrived for the address.
func only(t *testing.T, box Box, to string) Received {
	t.Helper()
	mails := box(t, to)
	if len(mails) != 1 {
		t.Fatalf("%d mails arrived for %s", len(mails), to)
	}
	return parse(t, mails[0])
}

func arrives(t *testing.T, sender mail.Sender, box Box) {
	to := someone()
	send(t, sender, mail.Message{
		ID: "some-id-1", To: to, ToName: "Ada Lovelace", Subject: "A subject", Text: "Hello,\n\nthis is the text.\n", HTML: "<p>Hello</p>\n",
	})
	got := only(t, box, to)
	for name, want := range map[string]string{
		"From": `"Atelier" <` + From + `>`, "To": `"Ada Lovelace" <` + to + `>`, "Subject": "A subject", "Message-Id": "<some-id-1@example.com>",
		"Auto-Submitted": "auto-generated", "Mime-Version": "1.0",
	} {
		if values := got.Header[name]; len(values) != 1 || values[0] != want {
			t.Errorf("%s: %q, want %q", name, values, want)
		}
	}
	if _, err := got.Header.Date(); err != nil {
		t.Errorf("date: %v", err)
	}
	if got.Text != "Hello,\n\nthis is the text.\n" || got.HTML != "<p>Hello</p>\n" {
		t.Errorf("%q\n%q", got.Text, got.HTML)
	}
}

func plainText(t *testing.T, sender mail.Sender, box Box) {
	to := someone()
	send(t, sender, mail.Message{To: to, Subject: "Only text", Text: "Hello"})
	if got := only(t, box, to); strings.TrimRight(got.Text, "\n") != "Hello" || got.HTML != "" {
		t.Errorf("%q %q", got.Text, got.HTML)
	}
}

func otherLanguages(t *testing.T, sender mail.Sender, box Box) {
	const subject = "Réinitialiser votre mot de passe — Grüße, 世界 🎨 und noch ein wenig mehr, damit die Zeile lang wird"
	for _, name := range []string{"Zoë Ångström", "世界", `Weird "quoted" \ name, Jr. <x@y>`, "a@b.example, c@d.example"} {
		to := someone()
		send(t, sender, mail.Message{To: to, ToName: name, Subject: subject, Text: subject, HTML: "<p lang=de>" + subject + "</p>"})
		got := only(t, box, to)
		if got.Subject(t) != subject {
			t.Errorf("subject %q", got.Subject(t))
		}
		addresses, err := got.Header.AddressList("To")
		if err != nil || len(addresses) != 1 || addresses[0].Name != name || addresses[0].Address != to {
			t.Errorf("%q became %v, %v", name, addresses, err)
		}
		if strings.TrimSpace(got.Text) != subject || !strings.Contains(got.HTML, subject) {
			t.Errorf("%q\n%q", got.Text, got.HTML)
		}
		for line := range strings.SplitSeq(string(got.Raw), "\n") {
			const longest = 998
			if len(line) > longest || strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
				t.Errorf("a line that not every server takes: %.60q", line)
			}
		}
	}
}

// What looks like the end of a mail, or like a header, is text.
func awkwardTexts(t *testing.T, sender mail.Sender, box Box) {
	for _, text := range []string{
		"one\n.\ntwo\n..\n...three\n", ".\n", "QUIT\nRSET\n", "From here on\n>From there\n", "Bcc: eve@example.com\n\nboo\n",
		strings.Repeat("long ", 20_000) + "\n", "trailing space \nand tab\t\nend\n", "=20 =\n=3D\n", "--boundary--\n--\n", "\n\n\nlate\n",
	} {
		to := someone()
		send(t, sender, mail.Message{To: to, Subject: "Awkward", Text: text, HTML: text})
		if got := only(t, box, to); got.Text != text || got.HTML != text {
			t.Errorf("%.40q became %.40q and %.40q", text, got.Text, got.HTML)
		}
	}
}

// refuses everything that would make another mail than the one that was meant.
func refuses(t *testing.T, sender mail.Sender, box Box) {
	to := someone()
	for name, change := range Invalid(to) {
		message := mail.Message{To: to, Subject: "Fine", Text: "Fine"}
		change(&message)
		if err := sender.Send(t.Context(), message); !errors.Is(err, mail.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if mails := box(t, to); len(mails) != 0 {
		t.Errorf("%d mails arrived", len(mails))
	}
}

// Invalid lists what is wrong with messages that no driver may send.
func Invalid(to string) map[string]func(*mail.Message) {
	address := func(text string) func(*mail.Message) { return func(m *mail.Message) { m.To = text } }
	all := map[string]func(*mail.Message){
		"no address":           address(""),
		"no domain":            address("ada"),
		"no name":              address("@example.com"),
		"two addresses":        address(to + ", eve@example.com"),
		"two with a semicolon": address(to + ";eve@example.com"),
		"two at signs":         address("a@b@example.com"),
		"a display name":       address("Ada <" + to + ">"),
		"angle brackets":       address("<" + to + ">"),
		"a comment":            address(to + " (eve@example.com)"),
		"a quoted name":        address(`"a b"@example.com`),
		"a route":              address("@relay.example:" + to),
		"an address literal":   address("ada@[127.0.0.1]"),
		"a space before":       address(" " + to),
		"a new line":           address(to + "\nBcc: eve@example.com"),
		"a carriage return":    address(to + "\rBcc: eve@example.com"),
		"both":                 address(to + "\r\nBcc: eve@example.com"),
		"a NUL":                address(to + "\x00"),
		"an option":            address(to + "> NOTIFY=SUCCESS"),
		"a long address":       address(strings.Repeat("a", 64) + "@" + strings.Repeat("b.", 100) + "example.com"),
		"a long name":          address(strings.Repeat("a", 65) + "@example.com"),
		"a long label":         address("ada@" + strings.Repeat("b", 64) + ".com"),
		"an empty label":       address("ada@example..com"),
		"a dot at the end":     address("ada@example.com."),
		"dots in a row":        address("a..b@example.com"),
		"a hyphen":             address("ada@-example.com"),
		"another alphabet":     address("ada@bücher.example"),
		"no subject":           func(m *mail.Message) { m.Subject = "" },
		"a blank subject":      func(m *mail.Message) { m.Subject = "  " },
		"a long subject":       func(m *mail.Message) { m.Subject = strings.Repeat("x", 251) },
		"no text":              func(m *mail.Message) { m.Text, m.HTML = "", "<p>x</p>" },
		"a long text":          func(m *mail.Message) { m.Text = strings.Repeat("x", 256<<10+1) },
		"a NUL in the text":    func(m *mail.Message) { m.Text = "a\x00b" },
		"a NUL in the HTML":    func(m *mail.Message) { m.HTML = "a\x00b" },
		"no UTF-8 in the text": func(m *mail.Message) { m.Text = "a\xffb" },
		"a long person's name": func(m *mail.Message) { m.ToName = strings.Repeat("x", 201) },
		"an id with an angle":  func(m *mail.Message) { m.ID = "a>\r\nBcc: eve@example.com" },
		"an id with a space":   func(m *mail.Message) { m.ID = "a b" },
		"a long id":            func(m *mail.Message) { m.ID = strings.Repeat("a", 101) },
	}
	for name, text := range map[string]string{
		"a new line": "x\nBcc: eve@example.com", "a carriage return": "x\rBcc: eve@example.com", "both": "x\r\n\r\n<h1>boo</h1>", "a NUL": "x\x00",
		"another line end": "x\u2028y", "a next line": "x\u0085y", "a turned direction": "x\u202ey", "no UTF-8": "x\xff",
	} {
		all[name+" in the subject"] = func(m *mail.Message) { m.Subject = text }
		all[name+" in a person's name"] = func(m *mail.Message) { m.ToName = text }
	}
	return all
}

// One id makes one Message-ID, however often it is sent; no id makes a new one each time.
func ids(t *testing.T, sender mail.Sender, box Box) {
	to := someone()
	for range 2 {
		send(t, sender, mail.Message{ID: "one", To: to, Subject: "x", Text: "x"})
		send(t, sender, mail.Message{To: to, Subject: "x", Text: "x"})
	}
	seen := map[string]int{}
	for _, raw := range box(t, to) {
		seen[parse(t, raw).Header.Get("Message-Id")]++
	}
	if len(seen) != 3 || seen["<one@example.com>"] != 2 {
		t.Errorf("%v", seen)
	}
}

func manyAtOnce(t *testing.T, sender mail.Sender, box Box) {
	to := someone()
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			if err := sender.Send(t.Context(), mail.Message{To: to, Subject: "x", Text: "x"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if mails := box(t, to); len(mails) != 10 {
		t.Errorf("%d mails arrived", len(mails))
	}
}

func cancelled(t *testing.T, sender mail.Sender, box Box) {
	to := someone()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := sender.Send(ctx, mail.Message{To: to, Subject: "x", Text: "x"}); !errors.Is(err, context.Canceled) {
		t.Errorf("send: %v", err)
	}
	if err := sender.Ping(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("ping: %v", err)
	}
	if mails := box(t, to); len(mails) != 0 {
		t.Errorf("%d mails arrived", len(mails))
	}
}

func pingAndClose(t *testing.T, sender mail.Sender, _ Box) {
	if sender.Driver() == "" {
		t.Error("the driver has no name")
	}
	if err := sender.Ping(t.Context()); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := sender.Close(); err != nil {
			t.Error(err)
		}
	}
}

func longestAddresses(t *testing.T, sender mail.Sender, box Box) {
	unique := strings.ReplaceAll(ident.Source{}.UUID(), "-", "")
	for _, to := range []string{
		unique + strings.Repeat("a", 64-len(unique)) + "@" + strings.Repeat("b", 63) + "." + strings.Repeat("c", 63) + "." + strings.Repeat("d", 61),
		"o'" + unique + "+tag=1/2@localhost",
		unique + "@xn--bcher-kva.example",
	} {
		send(t, sender, mail.Message{To: to, Subject: "x", Text: "x"})
		only(t, box, to)
	}
}
