package fetch

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"atelier/internal/dsul/expr/value"
)

// decode makes a value of a body by its type: JSON is read, texts are texts, and other applications and images are bytes, written
// as base64 since the language has no bytes.
func decode(got *answer) (any, error) {
	switch {
	case isJSON(got.kind):
		return decodeJSON(got)
	case strings.HasPrefix(got.kind, "image/"), strings.HasPrefix(got.kind, "application/") && !isText(got.kind):
		if len(got.raw) == 0 {
			return "", nil
		}
		return base64.StdEncoding.EncodeToString(got.raw), nil
	default:
		return text(got.raw, got.charset), nil
	}
}

func isJSON(kind string) bool {
	return kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
}

// isText tells that an application type is written for people too.
func isText(kind string) bool {
	name := strings.TrimPrefix(kind, "application/")
	return strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+yaml") || slices.Contains([]string{
		"xml", "javascript", "ecmascript", "x-javascript", "x-ndjson", "ndjson", "jsonl", "x-jsonlines", "yaml", "x-yaml", "toml", "graphql", "sql",
		"x-www-form-urlencoded", "x-sh", "jwt",
	}, name)
}

// decodeJSON reads JSON. An empty body is none. An error that is not JSON, though it says so, is shown as the text it is.
func decodeJSON(got *answer) (any, error) {
	written := strings.TrimSpace(strings.TrimPrefix(text(got.raw, got.charset), "\uFEFF"))
	if written == "" {
		return value.Undefined{}, nil
	}
	if !bearable(written) {
		return nil, badAnswerError("The answer holds more values than allowed; ask for less at a time.")
	}
	v, err := value.Decode(written)
	if err == nil {
		return v, nil
	}
	if got.status >= http.StatusBadRequest || got.kind != "application/json" {
		return written, nil
	}
	return nil, badAnswerError("The answer says that it is JSON, but it is not, or it is nested too deeply; use outputMode base64 to get it as it is.")
}

const (
	// maxWeight is how much the values of one JSON text may weigh; a list or object weighs as much as several texts.
	maxWeight       = 2_000_000
	containerWeight = 8
)

// bearable tells that the values of a JSON text fit into memory: {} takes three characters in a list and a hundred bytes as a
// value.
func bearable(written string) bool {
	if len(written) < maxWeight/containerWeight {
		return true
	}
	weight, inText := 0, false
	for i := 0; i < len(written); i++ {
		switch c := written[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{', c == '[':
			weight += containerWeight
		case c == ',':
			weight++
		}
	}
	return weight <= maxWeight
}

// text reads bytes in their charset; one that is not known, or wrong, leaves marks where it cannot be read.
func text(raw []byte, charset string) string {
	if charset != "" && !strings.EqualFold(charset, "utf-8") && !strings.EqualFold(charset, "utf8") {
		if encoding, err := htmlindex.Get(charset); err == nil {
			if decoded, err := encoding.NewDecoder().Bytes(raw); err == nil {
				raw = decoded
			}
		}
	}
	if utf8.Valid(raw) {
		return string(raw)
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}
