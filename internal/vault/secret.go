package vault

import (
	"fmt"
	"io"
	"log/slog"
)

// Secret is a text that is never shown: it prints, logs and encodes as ***. An empty one shows as empty, so that people see
// that it is not set.
type Secret string

// Reveal gives the text to the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return s.String() }

// Format hides the text from every verb, also from one that does not fit: that would show it to say so.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText hides the text from encoders: JSON, YAML and whatever else asks a value for its text.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue hides the text from handlers that do not ask for it.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
