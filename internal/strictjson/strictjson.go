// Package strictjson reads JSON the way the specification means it. The standard decoder takes the last of two equal keys,
// repairs broken text and ignores what follows the document; two programs that do so differently can be played off
// against each other, so all of that is refused here before the standard decoder sees it.
package strictjson

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Limits bound what a document may ask of us.
type Limits struct {
	// Depth is how deep objects and arrays may nest.
	Depth int
	// Members is how many keys and elements the whole document may have.
	Members int
}

// Default suits bodies with free-form parts such as event payloads.
func Default() Limits { return Limits{Depth: 64, Members: 100_000} }

// Error says what is wrong with a document and where.
type Error struct {
	Offset  int
	Message string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (at byte %d)", e.Message, e.Offset) }

// Unmarshal checks the document, then decodes it with the standard decoder.
func Unmarshal(data []byte, v any) error {
	if err := Check(data, Default()); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Check tells whether data is one well-formed JSON document without duplicate keys, broken text or excessive size.
func Check(data []byte, limits Limits) error {
	s := scanner{data: data, limits: limits}
	if err := s.value(0); err != nil {
		return err
	}
	s.space()
	if s.pos != len(data) {
		return s.fail("there is something after the end of the document")
	}
	return nil
}

type scanner struct {
	data    []byte
	pos     int
	members int
	limits  Limits
}

func (s *scanner) fail(message string) error { return &Error{Offset: s.pos, Message: message} }

func (s *scanner) space() {
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return
		}
	}
}

func (s *scanner) value(depth int) error {
	s.space()
	if s.pos >= len(s.data) {
		return s.fail("the document ends too early")
	}
	switch c := s.data[s.pos]; {
	case c == '{':
		return s.object(depth + 1)
	case c == '[':
		return s.array(depth + 1)
	case c == '"':
		return s.text()
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	default:
		return s.fail("a value is expected here")
	}
}

func (s *scanner) word(word string) error {
	if len(s.data)-s.pos < len(word) || string(s.data[s.pos:s.pos+len(word)]) != word {
		return s.fail("a value is expected here")
	}
	s.pos += len(word)
	return nil
}

func (s *scanner) enter(depth int) error {
	if depth > s.limits.Depth {
		return s.fail("the document is nested too deeply")
	}
	s.pos++
	s.space()
	return nil
}

func (s *scanner) member() error {
	if s.members++; s.members > s.limits.Members {
		return s.fail("the document has too many members")
	}
	return nil
}

func (s *scanner) object(depth int) error {
	if err := s.enter(depth); err != nil {
		return err
	}
	if s.take('}') {
		return nil
	}
	var keys keySet
	for {
		s.space()
		start := s.pos
		if s.pos >= len(s.data) || s.data[s.pos] != '"' {
			return s.fail("a key in double quotes is expected here")
		}
		if err := s.text(); err != nil {
			return err
		}
		if !keys.add(s.data[start:s.pos]) {
			s.pos = start
			return s.fail("a key appears twice")
		}
		s.space()
		if !s.take(':') {
			return s.fail("a colon is expected after a key")
		}
		if err := s.element(depth); err != nil {
			return err
		}
		if s.take('}') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma or } is expected here")
		}
	}
}

func (s *scanner) array(depth int) error {
	if err := s.enter(depth); err != nil {
		return err
	}
	if s.take(']') {
		return nil
	}
	for {
		if err := s.element(depth); err != nil {
			return err
		}
		if s.take(']') {
			return nil
		}
		if !s.take(',') {
			return s.fail("a comma or ] is expected here")
		}
	}
}

func (s *scanner) element(depth int) error {
	if err := s.member(); err != nil {
		return err
	}
	if err := s.value(depth); err != nil {
		return err
	}
	s.space()
	return nil
}

func (s *scanner) take(c byte) bool {
	if s.pos < len(s.data) && s.data[s.pos] == c {
		s.pos++
		return true
	}
	return false
}

// text reads a string: valid UTF-8, no control characters, no zero, escapes that mean a character.
func (s *scanner) text() error {
	s.pos++
	for s.pos < len(s.data) {
		switch c := s.data[s.pos]; {
		case c == '"':
			s.pos++
			return nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.fail("a control character must be escaped")
		case c < utf8.RuneSelf:
			s.pos++
		default:
			r, size := utf8.DecodeRune(s.data[s.pos:])
			if r == utf8.RuneError && size == 1 {
				return s.fail("the text is not valid UTF-8")
			}
			s.pos += size
		}
	}
	return s.fail("a string is not closed")
}

func (s *scanner) escape() error {
	if s.pos+1 >= len(s.data) {
		return s.fail("a string is not closed")
	}
	switch s.data[s.pos+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.pos += 2
		return nil
	case 'u':
		return s.unicode()
	default:
		return s.fail("this escape does not exist")
	}
}

// unicode reads \uXXXX; half of a surrogate pair alone is not a character, and zero is refused everywhere because
// databases and programs disagree about it.
func (s *scanner) unicode() error {
	first, ok := s.hex4(s.pos + 2)
	switch {
	case !ok:
		return s.fail("four hexadecimal digits are expected after \\u")
	case first == 0:
		return s.fail("the zero character is not allowed")
	case first < 0xD800 || first > 0xDFFF:
		s.pos += 6
		return nil
	}
	second, ok := s.hex4(s.pos + 8)
	if first > 0xDBFF || !ok || s.data[s.pos+6] != '\\' || s.data[s.pos+7] != 'u' || second < 0xDC00 || second > 0xDFFF {
		return s.fail("half of a surrogate pair stands alone")
	}
	s.pos += 12
	return nil
}

func (s *scanner) hex4(at int) (n int, ok bool) {
	if at+4 > len(s.data) {
		return 0, false
	}
	for _, c := range s.data[at : at+4] {
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | int(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}

func (s *scanner) number() error {
	s.take('-')
	switch {
	case s.take('0'):
	case !s.digits():
		return s.fail("a digit is expected here")
	}
	if s.take('.') && !s.digits() {
		return s.fail("a digit is expected after the decimal point")
	}
	if s.pos < len(s.data) && s.data[s.pos]|0x20 == 'e' {
		s.pos++
		if !s.take('+') {
			s.take('-')
		}
		if !s.digits() {
			return s.fail("a digit is expected in the exponent")
		}
	}
	return nil
}

func (s *scanner) digits() bool {
	start := s.pos
	for s.pos < len(s.data) && '0' <= s.data[s.pos] && s.data[s.pos] <= '9' {
		s.pos++
	}
	return s.pos > start
}
