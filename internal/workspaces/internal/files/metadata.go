package files

import (
	"encoding/json"
	"fmt"
	"strconv"

	"atelier/internal/errs"
	"atelier/internal/strictjson"
)

const (
	longestMetadata = 16 << 10
	deepestMetadata = 16
	mostMetadata    = 1000
	longestKey      = 200
)

// ParseMetadata reads metadata that came as the text of a JSON object.
func ParseMetadata(text string) (Metadata, error) {
	var m Metadata
	if err := strictjson.Unmarshal([]byte(text), &m); err != nil || m == nil {
		return nil, errs.Invalid(errs.Field{Field: "metadata", Message: "send a JSON object"})
	}
	return m, m.Check()
}

// Check refuses metadata that are too large, too deep, or that the database could not look into.
func (m Metadata) Check() error {
	wrong := func(format string, args ...any) error {
		return errs.Invalid(errs.Field{Field: "metadata", Message: fmt.Sprintf(format, args...)})
	}
	for key := range m {
		if key == "" || len(key) > longestKey {
			return wrong("a name has 1 to %d bytes", longestKey)
		}
	}
	text, err := json.Marshal(m)
	if err != nil {
		return wrong("send a JSON object")
	}
	if len(text) > longestMetadata {
		return wrong("they are larger than %d bytes together", longestMetadata)
	}
	if err := strictjson.Check(text, strictjson.Limits{Depth: deepestMetadata, Members: mostMetadata}); err != nil {
		return wrong("%s", err.Error())
	}
	return nil
}

// Set adds a text under a name.
func (m Metadata) Set(name, text string) {
	value, _ := json.Marshal(text) // a text can always be written
	m[name] = value
}

// MetadataFilter reads the values that files are to have, as texts.
func MetadataFilter(text string) (map[string]string, error) {
	var asked map[string]any
	wrong := errs.Parameter("metadata", "send a JSON object of texts, whole numbers, true and false")
	if err := strictjson.Unmarshal([]byte(text), &asked); err != nil {
		return nil, wrong
	}
	values := make(map[string]string, len(asked))
	for key, value := range asked {
		switch v := value.(type) {
		case string:
			values[key] = v
		case bool:
			values[key] = strconv.FormatBool(v)
		case float64:
			whole := int64(v)
			if float64(whole) != v {
				return nil, wrong
			}
			values[key] = strconv.FormatInt(whole, 10)
		default:
			return nil, wrong
		}
	}
	return values, nil
}

// ValidToken tells whether a caller's own share token can be one: long enough not to be guessed, and plain in an address.
func ValidToken(token string) bool {
	const shortest, longest = 20, 200
	if len(token) < shortest || len(token) > longest {
		return false
	}
	for _, c := range []byte(token) {
		if c != '-' && c != '_' && (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') {
			return false
		}
	}
	return true
}
