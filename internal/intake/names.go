package intake

import "bytes"

// holds tells whether a path may lead anywhere in a stored event: whether the name it ends with stands in it as a key or a text.
// Most events have no such name, and need not be taken apart. A path that ends with * may lead anywhere.
func holds(body []byte, paths []field) bool {
	var first letters // of the names: most texts begin with another one, and a quote that ends a text is followed by none
	for _, p := range paths {
		name := p[len(p)-1]
		if name[0] == '*' {
			return true
		}
		first.add(name[0])
	}
	if spelledOtherwise(body) {
		return true
	}
	for at := 0; at < len(body)-1; at++ {
		if body[at] == '"' && first.has(body[at+1]) && begun(body[at+1:], paths) {
			return true
		}
	}
	return false
}

// begun tells whether one of the names stands at the beginning of a text.
func begun(text []byte, paths []field) bool {
	for _, p := range paths {
		if begins(text, p[len(p)-1]) {
			return true
		}
	}
	return false
}

// letters is a set of letters, whatever their capitals.
type letters [256 / 64]uint64

func (l *letters) add(b byte) {
	b = lower(b)
	l[b/64] |= 1 << (b % 64)
}

func (l *letters) has(b byte) bool {
	b = lower(b)
	return l[b/64]&(1<<(b%64)) != 0
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
