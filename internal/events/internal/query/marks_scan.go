package query

import "encoding/json"

// scanner finds the marks of an event without making anything of it that would have to be thrown away. The text is JSON; what
// is not is not read further.
type scanner struct {
	text  []byte
	at    int
	visit func(mark uint64)
	words *wordMarks
	// there, when set, gets every path that has something; path is where the scanner is, after a dot.
	there func(path []byte, hash uint64)
	path  []byte
	// scalar, when set, gets every text, number and boolean as it is written instead.
	scalar func(text []byte)
}

// region is where in an event a value stands.
type region int

const (
	inPayload region = iota // or anywhere else where everything has marks
	inEvent
	inSource
)

// value reads a value at a path and tells whether it is, or has, anything but null.
func (s *scanner) value(path uint64, where region) (there bool) {
	switch s.next() {
	case '{':
		return s.object(path, where)
	case '[':
		return s.list(path, where)
	case '"':
		s.textual(path, s.unquoted())
	case 't', 'f':
		s.textual(path, s.word())
	case 'n':
		s.word()
		return false
	case 0:
		return false
	default:
		s.number(path, s.word())
	}
	return true
}

func (s *scanner) textual(path uint64, text []byte) {
	if s.scalar != nil {
		s.scalar(text)
		return
	}
	s.visit(textMark(path, text))
	s.words.of(text)
}

func (s *scanner) number(path uint64, text []byte) {
	if s.scalar != nil {
		s.scalar(text)
		return
	}
	s.visit(numberMark(path, canonical(string(text))))
	s.words.of(text)
}

func (s *scanner) object(path uint64, where region) (there bool) {
	for s.at++; s.next() == '"'; s.separator() {
		key := s.unquoted()
		at := fnv(fnvByte(path, '.'), key)
		length := s.enter(key)
		if s.next() == ':' {
			s.at++
		}
		visit := s.visit
		if unmarked(where, key) {
			s.visit = func(uint64) {}
		}
		if s.value(at, inside(where, key)) {
			there = true
			s.something(at)
		}
		s.visit, s.path = visit, s.path[:length]
	}
	s.at++
	return there
}

// something tells of a path that has something. Longer ones nobody can ask for.
func (s *scanner) something(at uint64) {
	if s.scalar != nil {
		return
	}
	s.visit(anyMark(at))
	if s.there != nil && len(s.path) <= 1+maxPath {
		s.there(s.path[1:], at)
	}
}

// enter adds a key to the path and tells how long that was.
func (s *scanner) enter(key []byte) (length int) {
	length = len(s.path)
	if s.there == nil {
		return length
	}
	s.path = append(append(s.path, '.'), key...)
	return length
}

func (s *scanner) list(path uint64, where region) (there bool) {
	for s.at++; s.next() != ']' && s.next() != 0; s.separator() {
		there = s.value(path, where) || there
	}
	s.at++
	return there
}

func inside(where region, key []byte) region {
	if where == inEvent && string(key) == "source" {
		return inSource
	}
	return inPayload
}

// unmarked tells the keys below which nothing has marks but words.
func unmarked(where region, key []byte) bool {
	if where != inSource {
		return false
	}
	switch string(key) {
	case "workspaceId", "userId", "correlationId":
		return true
	default:
		return false
	}
}

// next passes over what stands between values and gives the first byte of the next; zero at the end.
func (s *scanner) next() byte {
	for ; s.at < len(s.text); s.at++ {
		switch c := s.text[s.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// separator passes over a comma.
func (s *scanner) separator() {
	if s.next() == ',' {
		s.at++
	}
}

// word reads a number, true, false or null. It reads at least a byte, so that everything ends.
func (s *scanner) word() []byte {
	from := s.at
	for s.at++; s.at < len(s.text); s.at++ {
		switch s.text[s.at] {
		case ',', ']', '}', ' ', '\t', '\n', '\r':
			return s.text[from:s.at]
		}
	}
	return s.text[from:]
}

// unquoted reads a text.
func (s *scanner) unquoted() []byte {
	from, escaped := s.at, false
	for s.at++; s.at < len(s.text) && s.text[s.at] != '"'; s.at++ {
		if s.text[s.at] == '\\' {
			escaped = true
			s.at++
		}
	}
	s.at = min(s.at+1, len(s.text))
	if !escaped {
		return s.text[min(from+1, s.at):max(s.at-1, min(from+1, s.at))]
	}
	var text string
	_ = json.Unmarshal(s.text[from:s.at], &text) // it was read as JSON before it was stored
	return []byte(text)
}
