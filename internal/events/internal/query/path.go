package query

import (
	"slices"
	"strings"
)

// Paths says which paths there are in an event.
const Paths = "the fields of an event are id, type, createdAt, size and everything below source, payload, target, options and error"

const maxPath = 300

// cleanPath gives a path as events have it, or false when it is none: aggPayload is another name of payload.
func cleanPath(path string) (string, bool) {
	if path == "" || len(path) > maxPath {
		return "", false
	}
	if rest, ok := strings.CutPrefix(path, "aggPayload"); ok && (rest == "" || rest[0] == '.') {
		path = "payload" + rest
	}
	if isOuter(path) || path == "payload" {
		return path, true
	}
	root, rest, _ := strings.Cut(path, ".")
	return path, rest != "" && slices.Contains([]string{"source", "payload", "target", "options", "error"}, root)
}
