package httpx

import (
	"bytes"
)

// headGuard watches the bytes of a connection and finds request heads that two HTTP parsers could read differently, which
// is how a second request is smuggled past a proxy: a line that ends in a bare LF, a folded header line, a length given
// twice, or a length beside a transfer encoding. The standard parser accepts all of these.
//
// It knows where a request ends because a request with a transfer encoding is the last of its connection; see Front.
type headGuard struct {
	part   headPart
	line   []byte // what is kept of the current line, without its line end: enough to read the headers that matter
	length int    // of the current line
	before byte   // the byte before this one
	begun  bool   // the request line is complete
	modern bool   // the request line says HTTP/1.1
	sized  bool   // a Content-Length was seen
	coded  bool   // a Transfer-Encoding was seen
	body   int64  // bytes of the body still to come
}

// headPart is where in the stream of requests the guard is.
type headPart int

const (
	inHead headPart = iota
	inBody
	unframed // nothing more can be said about this connection
	refused
)

// keptOfLine is longer than any header line that the guard needs to read to its end.
const keptOfLine = 64

// scan looks at the next bytes and gives how many of them are acceptable; fewer than all mean that the request is refused.
func (g *headGuard) scan(b []byte) int {
	for i := 0; i < len(b); {
		switch g.part {
		case unframed:
			return len(b)
		case refused:
			return i
		case inBody:
			skip := min(int64(len(b)-i), g.body)
			i += int(skip)
			if g.body -= skip; g.body == 0 {
				g.restart()
			}
		case inHead:
			taken, ok := g.takeLine(b[i:])
			if !ok {
				g.part = refused
				return i
			}
			i += taken
		}
	}
	return len(b)
}

func (g *headGuard) restart() { *g = headGuard{line: g.line[:0]} }

// takeLine takes the next line when all of it is there, as nearly always, and otherwise the next byte.
func (g *headGuard) takeLine(b []byte) (taken int, ok bool) {
	end := -1
	if g.length == 0 && g.before == 0 {
		end = bytes.IndexByte(b, '\n')
	}
	if end < 1 {
		return 1, g.next(b[0])
	}
	line := b[:end-1]
	if b[end-1] != '\r' || bytes.IndexByte(line, '\r') >= 0 || g.begun && len(line) > 0 && (line[0] == ' ' || line[0] == '\t') {
		return 0, false
	}
	return end + 1, g.endLine(line, true)
}

// next takes one byte of a head and tells whether it is acceptable.
func (g *headGuard) next(c byte) bool {
	before := g.before
	g.before = c
	switch {
	case c == '\n':
		if before != '\r' {
			return false
		}
		line, whole := g.line, g.length == len(g.line)
		g.line, g.length, g.before = g.line[:0], 0, 0
		return g.endLine(line, whole)
	case before == '\r':
		return false
	case c == '\r':
		return true
	case g.length == 0 && g.begun && (c == ' ' || c == '\t'):
		return false
	}
	g.keep(c)
	return true
}

// keep remembers the beginning of a header line, and the end of a request line.
func (g *headGuard) keep(c byte) {
	g.length++
	if len(g.line) < keptOfLine {
		g.line = append(g.line, c)
	} else if !g.begun {
		g.line = append(g.line[:0], g.line[keptOfLine/2:]...)
		g.line = append(g.line, c)
	}
}

// endLine takes a line of the head, or what was kept of it when it is not whole.
func (g *headGuard) endLine(line []byte, whole bool) bool {
	switch {
	case len(line) == 0 && !g.begun:
		return true // the server decides whether it forgives an empty line before a request
	case len(line) == 0:
		g.endHead()
		return true
	case !g.begun:
		g.begun, g.modern = true, bytes.HasSuffix(line, []byte(" HTTP/1.1"))
		return true
	}
	if first := line[0] | 0x20; first != 'c' && first != 't' {
		return true // no header that matters begins so
	}
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch {
	case bytes.EqualFold(name, []byte("content-length")):
		size, ok := plainNumber(string(bytes.Trim(value, " \t")))
		if g.sized || g.coded || !ok || !whole {
			return false
		}
		g.sized, g.body = true, size
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		if g.sized || g.coded || !g.modern {
			return false
		}
		g.coded = true
	}
	return true
}

func (g *headGuard) endHead() {
	switch {
	case g.coded:
		g.part = unframed
	case g.body > 0:
		g.part = inBody
	default:
		g.restart()
	}
}

// plainNumber reads digits and nothing else.
func plainNumber(text string) (n int64, ok bool) {
	const longest = 18 // digits that always fit
	for i := range len(text) {
		c := text[i]
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, text != "" && len(text) <= longest
}
