// Package config reads the configuration: built-in default, then the file named by ATELIER_CONFIG, then the environment,
// then flags; the later wins. Nothing else in the product reads the environment.
package config

// Secret is a value that is never shown: it prints, logs and encodes as ***.
type Secret string

// Reveal gives the value to the one place that needs it.
func (s Secret) Reveal() string { return string(s) }

// String hides the value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "***"
}

// GoString hides the value from %#v.
func (s Secret) GoString() string { return s.String() }

// MarshalText hides the value from encoders.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
