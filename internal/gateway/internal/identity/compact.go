package identity

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	"atelier/internal/strictjson"
)

// tokenHeader is what the header of a token says, all of it: whatever else might stand there, such as a key or an address
// to fetch one from, makes the token unreadable.
type tokenHeader struct {
	Algorithm string `json:"alg"`
	KeyID     string `json:"kid"`
	Type      string `json:"typ"`
}

// readHeader takes a token apart without believing it. There is one spelling of a token: three parts in base64url without
// padding, blanks or stray bits.
func readHeader(token string) (header tokenHeader, ok bool) {
	const parts = 3
	if strings.Count(token, ".") != parts-1 {
		return header, false
	}
	var first []byte
	for part := range strings.SplitSeq(token, ".") {
		decoded, ok := decodePart(part)
		if !ok {
			return header, false
		}
		if first == nil {
			first = decoded
		}
	}
	ok = readExactly(first, &header, []string{"alg", "kid", "typ"})
	return header, ok && strings.EqualFold(header.Type, "jwt")
}

// decodePart reads base64url as it is written. The standard decoder skips line breaks, which would give a token many spellings.
func decodePart(part string) ([]byte, bool) {
	if part == "" || strings.ContainsAny(part, "\r\n") {
		return nil, false
	}
	decoded, err := base64.RawURLEncoding.Strict().DecodeString(part)
	return decoded, err == nil
}

// readExactly decodes an object that has none but the named keys, each at most once and in this spelling: the standard
// decoder alone would also take SUB for sub.
func readExactly(text []byte, v any, names []string) bool {
	var members map[string]json.RawMessage
	if err := strictjson.Unmarshal(text, &members); err != nil || members == nil {
		return false
	}
	for name := range members {
		if !slices.Contains(names, name) {
			return false
		}
	}
	return json.Unmarshal(text, v) == nil
}

// claimNames are the claims a token may have. One with others, such as an ID token, was not made by issue.
func claimNames() []string {
	return []string{"svcSessionId", "jti", "sub", "iat", "exp", "scope", "client_id", "iss", "aud", "nbf"}
}
