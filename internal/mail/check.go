package mail

import (
	"errors"
	"fmt"
	netmail "net/mail"
	"strings"
	"unicode"
	"unicode/utf8"
)

// ErrInvalid says that a message cannot be sent as it is; the error around it names the field.
var ErrInvalid = errors.New("mail: the message is not valid")

// The longest parts of a message. Those of addresses are from RFC 5321.
const (
	maxAddress = 254
	maxLocal   = 64
	maxName    = 200
	maxSubject = 250
	maxID      = 100
	maxBody    = 256 << 10
)

// Check gives ErrInvalid when the message cannot be sent: several recipients or none, something that would end a header,
// a text that is empty, too long, or no text.
func (m Message) Check() error {
	if err := CheckAddress(m.To); err != nil {
		return err
	}
	if !headerText(m.ToName, maxName) {
		return invalid("ToName", "at most 200 bytes of printable text")
	}
	if strings.TrimSpace(m.Subject) == "" || !headerText(m.Subject, maxSubject) {
		return invalid("Subject", "1 to 250 bytes of printable text")
	}
	if len(m.ID) > maxID || strings.Trim(m.ID, idCharacters) != "" {
		return invalid("ID", "at most 100 letters, digits and -")
	}
	if strings.TrimSpace(m.Text) == "" || !bodyText(m.Text) {
		return invalid("Text", "1 to 262144 bytes of text")
	}
	if !bodyText(m.HTML) {
		return invalid("HTML", "at most 262144 bytes of text")
	}
	return nil
}

// CheckAddress gives ErrInvalid unless the text is one address that mail can be sent to: name@domain in ASCII (other domains
// in their xn-- form), without a display name, comments or quotes, at most 254 bytes long.
func CheckAddress(address string) error {
	local, domain, found := strings.Cut(address, "@")
	parsed, err := netmail.ParseAddress(address)
	fine := found && err == nil && parsed.Name == "" && parsed.Address == address && len(address) <= maxAddress && len(local) <= maxLocal
	if !fine || !plainLocal(local) || !plainDomain(domain) {
		return invalid("the address", "exactly one address such as ada@example.com, at most 254 bytes long")
	}
	return nil
}

func invalid(field, expected string) error {
	return fmt.Errorf("%w: %s: expected %s", ErrInvalid, field, expected)
}

const (
	letters      = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	idCharacters = letters + "0123456789-"
	// localCharacters are what RFC 5322 allows without quotes.
	localCharacters = idCharacters + "!#$%&'*+/=?^_`{|}~."
)

func plainLocal(local string) bool { return local != "" && strings.Trim(local, localCharacters) == "" }

// plainDomain tells whether the text is a host name. One without a dot is: there is localhost.
func plainDomain(domain string) bool {
	for label := range strings.SplitSeq(domain, ".") {
		const longest = 63
		if label == "" || len(label) > longest || strings.Trim(label, idCharacters) != "" || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
	}
	return true
}

// headerText tells whether the text may stand in a header: no line ends, no other control characters, nothing invisible that
// turns the direction of what follows.
func headerText(text string, longest int) bool {
	if len(text) > longest || !utf8.ValidString(text) {
		return false
	}
	return strings.IndexFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
	}) < 0
}

func bodyText(text string) bool {
	return len(text) <= maxBody && utf8.ValidString(text) && !strings.ContainsRune(text, 0)
}
