package vault

import (
	"bytes"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

const keySize = 32

// DerivedKeyID is the id of the master key that is made from the internal key.
const DerivedKeyID = "internal"

// MasterKey wraps the keys of values. Its id is stored with each of them and is no secret.
type MasterKey struct {
	ID  string
	Key [keySize]byte
}

// Format shows the id alone.
func (k MasterKey) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "master key "+k.ID) }

// MarshalText shows the id alone to encoders and logs.
func (k MasterKey) MarshalText() ([]byte, error) { return []byte("master key " + k.ID), nil }

// DerivedKey makes a master key from the internal key, for installations that configure none.
func DerivedKey(internalKey string) (MasterKey, error) {
	key, err := hkdf.Key(sha256.New, []byte(internalKey), nil, "atelier vault: master key", keySize)
	if err != nil {
		return MasterKey{}, err
	}
	return MasterKey{ID: DerivedKeyID, Key: [keySize]byte(key)}, nil
}

// idForm is shorter than any key in any spelling: an entry written the wrong way round has no valid id, and so a message that
// names ids never shows a key.
var idForm = regexp.MustCompile(`^[A-Za-z0-9._-]{1,32}$`) //nolint:gochecknoglobals // compiled once, never changed

// ParseKeys reads master keys as operators write them: id:base64 of 32 bytes, separated by commas, the first for new values;
// or the JSON of the specification, [{"kid","key","active"}] with keys of 64 hexadecimal digits, the active one for new
// values. No text gives no keys. An error names the entry that is wrong, never what it says.
func ParseKeys(text string) ([]MasterKey, error) {
	text = strings.TrimSpace(text)
	read := parseList
	switch {
	case text == "":
		return nil, nil
	case strings.HasPrefix(text, "["):
		read = parseJSON
	}
	keys, err := read(text)
	if err == nil {
		err = distinct(keys)
	}
	if err != nil {
		return nil, err
	}
	return keys, nil
}

func parseList(text string) ([]MasterKey, error) {
	entries := strings.Split(text, ",")
	keys := make([]MasterKey, 0, len(entries))
	for i, entry := range entries {
		id, encoded, found := strings.Cut(strings.TrimSpace(entry), ":")
		if !found {
			return nil, fmt.Errorf("entry %d has no colon; write each as id:key", i+1)
		}
		raw, err := base64.RawStdEncoding.Strict().DecodeString(strings.TrimRight(standard(encoded), "="))
		if err != nil {
			raw = nil
		}
		key, err := newKey(i, id, raw, "32 bytes in base64, such as \"openssl rand -base64 32\" makes")
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// standard writes the alphabet of addresses as the usual one.
func standard(encoded string) string { return strings.NewReplacer("-", "+", "_", "/").Replace(encoded) }

func parseJSON(text string) ([]MasterKey, error) {
	var entries []struct {
		KID    string `json:"kid"`
		Key    string `json:"key"`
		Active bool   `json:"active"`
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&entries); err != nil || len(entries) == 0 {
		return nil, errors.New(`it is not a JSON list of objects with kid, key and active`) // the cause could repeat a key
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something after the JSON list")
	}
	keys, active := make([]MasterKey, 0, len(entries)), -1
	for i, entry := range entries {
		raw, err := hex.DecodeString(entry.Key)
		if err != nil {
			raw = nil
		}
		key, err := newKey(i, entry.KID, raw, "64 hexadecimal digits")
		if err != nil {
			return nil, err
		}
		if entry.Active && active >= 0 {
			return nil, fmt.Errorf("entries %d and %d are both active; new values need one key", active+1, i+1)
		}
		if entry.Active {
			active = i
		}
		keys = append(keys, key)
	}
	if active > 0 {
		current := keys[active]
		keys = slices.Insert(slices.Delete(keys, active, active+1), 0, current)
	}
	return keys, nil
}

func newKey(index int, id string, raw []byte, form string) (MasterKey, error) {
	switch {
	case !idForm.MatchString(id):
		return MasterKey{}, fmt.Errorf("entry %d has no good id; use 1 to 32 letters, digits and . _ -", index+1)
	case id == DerivedKeyID:
		return MasterKey{}, fmt.Errorf("entry %d has the id %q, which is that of the key made from the internal key; choose another", index+1, id)
	case len(raw) != keySize:
		return MasterKey{}, fmt.Errorf("entry %d (%q) has no good key; use %s", index+1, id, form)
	}
	return MasterKey{ID: id, Key: [keySize]byte(raw)}, nil
}

// distinct refuses an id that names two keys, and a key under two ids: changing from one to the other would change nothing.
func distinct(keys []MasterKey) error {
	for i, key := range keys {
		for _, other := range keys[:i] {
			if key.ID == other.ID {
				return fmt.Errorf("the id %q is used twice", key.ID)
			}
			if key.Key == other.Key {
				return fmt.Errorf("%q and %q are the same key", other.ID, key.ID)
			}
		}
	}
	return nil
}
