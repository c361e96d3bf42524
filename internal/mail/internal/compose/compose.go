// Package compose writes messages in the form in which they travel.
package compose

import (
	"fmt"
	netmail "net/mail"
	"strings"

	gomail "github.com/wneessen/go-mail"

	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/mail"
)

// Composer writes messages from one sender.
type Composer struct {
	From  string
	Clock clock.Clock
	IDs   ident.Source
}

// product is the name of the sender.
const product = "Atelier"

// Message gives the message with its headers: plain text, and HTML beside it when there is one.
func (c Composer) Message(m mail.Message) (*gomail.Msg, error) {
	if err := m.Check(); err != nil {
		return nil, err
	}
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&netmail.Address{Name: product, Address: c.From})
	msg.ToMailAddress(&netmail.Address{Name: m.ToName, Address: m.To})
	msg.Subject(m.Subject)
	msg.SetDateWithValue(c.Clock.Now().UTC())
	msg.SetMessageIDWithValue(c.messageID(m))
	msg.SetGenHeader("Auto-Submitted", "auto-generated") // nobody's holiday notice is to answer it
	msg.SetGenHeader("X-Auto-Response-Suppress", "All")
	msg.SetBodyString(gomail.TypeTextPlain, lines(m.Text))
	if m.HTML != "" {
		msg.AddAlternativeString(gomail.TypeTextHTML, lines(m.HTML))
	}
	return msg, nil
}

// Check gives an error when mails cannot come from the sender.
func (c Composer) Check() error {
	if err := mail.CheckAddress(c.From); err != nil {
		return fmt.Errorf("EMAIL_FROM: %w", err)
	}
	return nil
}

func (c Composer) messageID(m mail.Message) string {
	id := m.ID
	if id == "" {
		id = c.IDs.UUID()
	}
	_, domain, _ := strings.Cut(c.From, "@")
	return id + "@" + domain
}

// lines ends every line the same way, so that the encoding does not have to guess.
func lines(text string) string {
	return strings.NewReplacer("\r\n", "\r\n", "\r", "\r\n", "\n", "\r\n").Replace(text)
}
