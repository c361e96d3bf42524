package intake

import (
	"bytes"
	"slices"
)

// holds tells whether a path may lead anywhere in a stored event: whether the name it ends with stands in it as a key or a text.
// Most events have no such name, and need not be taken apart. A path that ends with * may lead anywhere.
func holds(body []byte, paths []field) bool {
	if slices.ContainsFunc(paths, func(p field) bool { return p[len(p)-1][0] == '*' }) || spelledOtherwise(body) {
		return true
	}
	for at := 0; ; {
		quote := bytes.IndexByte(body[at:], '"')
		if quote < 0 {
			return false
		}
		at += quote + 1
		for _, p := range paths {
			if begins(body[at:], p[len(p)-1]) {
				return true
			}
		}
	}
}

// begins tells whether a name stands at the beginning of a text, up to a quote, whatever its capitals.
func begins(text []byte, name string) bool {
	if len(text) <= len(name) || text[len(name)] != '"' {
		return false
	}
	for i := range len(name) {
		if lower(text[i]) != lower(name[i]) {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// spelledOtherwise tells whether letters may be written in a way that comparing bytes does not see: as an escape, or as one of the two
// characters outside of ASCII that fold to a letter, the long s and the sign of Kelvin.
func spelledOtherwise(body []byte) bool {
	return bytes.Contains(body, []byte(`\u`)) || bytes.Contains(body, []byte(`\/`)) || bytes.Contains(body, []byte("ſ")) || bytes.Contains(body, []byte("\u212a"))
}
