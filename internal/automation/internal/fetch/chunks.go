package fetch

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"atelier/internal/dsul/expr/value"
)

const (
	// piece is how much of a stream is read at once, maxLine how long one line of it may be.
	piece   = 32 << 10
	maxLine = 1 << 20
)

// chunk is what came of a stream at once.
type chunk struct {
	data               []any
	event, id, comment any
	retry              any
	size               int
}

func newChunk() *chunk {
	return &chunk{event: value.Undefined{}, id: value.Undefined{}, comment: value.Undefined{}, retry: value.Undefined{}}
}

func (c *chunk) empty() bool {
	none := value.Undefined{}
	return len(c.data) == 0 && c.event == none && c.id == none && c.comment == none && c.retry == none
}

// value is the chunk as automations see it.
func (c *chunk) value() *value.Object {
	o := value.NewObject(2)
	data := c.data
	if data == nil {
		data = []any{}
	}
	o.Set("data", data)
	for _, field := range []struct {
		name string
		v    any
	}{{"event", c.event}, {"id", c.id}, {"retry", c.retry}, {"comment", c.comment}} {
		if (field.v != value.Undefined{}) {
			o.Set(field.name, field.v)
		}
	}
	return o
}

// merge makes one chunk of two, as if they had come together.
func (c *chunk) merge(next *chunk) {
	none := value.Undefined{}
	c.data = append(c.data, next.data...)
	c.size += next.size
	for _, field := range []struct{ into, from *any }{
		{&c.event, &next.event}, {&c.id, &next.id}, {&c.retry, &next.retry}, {&c.comment, &next.comment},
	} {
		if *field.from != none {
			*field.into = *field.from
		}
	}
}

// chunks reads a stream: server-sent events, or lines of JSON or text.
type chunks struct {
	body io.Reader
	// events tells that the server says that it sends events: what is no field of one is then left out.
	events  bool
	input   []byte
	pending []byte // a line whose end has not come
	scanned int    // how much of it has no end of line
	err     error  // why nothing more comes
}

func newChunks(body io.Reader, events bool) *chunks {
	return &chunks{body: body, events: events, input: make([]byte, piece)}
}

// next waits for something to come and gives all lines of it that are whole. The error is io.EOF at the end.
func (s *chunks) next() (*chunk, error) {
	for s.err == nil {
		n, err := s.body.Read(s.input)
		s.err = err
		c := newChunk()
		if n > 0 {
			s.take(c, s.input[:n])
		}
		if s.err != nil && len(s.pending) > 0 {
			s.line(c, s.pending)
			s.pending = nil
		}
		if len(s.pending) > maxLine {
			s.err = badAnswerError("A line of the stream is longer than 1 MB.")
		}
		if !c.empty() {
			return c, nil
		}
	}
	return nil, s.err
}

// take adds what came to what is left of before, and reads the lines that are whole.
func (s *chunks) take(c *chunk, came []byte) {
	c.size += len(came)
	if len(s.pending) == 0 && looksJSON(came) {
		// A server that sends one JSON text at a time need not end it with a line.
		if v, err := value.Decode(readable(came)); err == nil {
			c.data = append(c.data, v)
			return
		}
	}
	s.pending = append(s.pending, came...)
	start := 0
	for {
		end := bytes.IndexAny(s.pending[max(start, s.scanned):], "\r\n")
		if end < 0 {
			break
		}
		end += max(start, s.scanned)
		s.line(c, s.pending[start:end])
		start, s.scanned = end+1, 0 // a line feed behind a carriage return makes an empty line, which says nothing
	}
	s.pending = append(s.pending[:0], s.pending[start:]...)
	s.scanned = len(s.pending)
}

// line reads a line.
func (s *chunks) line(c *chunk, line []byte) {
	written := readable(line)
	if strings.TrimSpace(written) == "" {
		return
	}
	if looksJSON(line) {
		c.data = append(c.data, datum(written))
		return
	}
	name, v, found := strings.Cut(written, ":")
	v = strings.TrimSpace(v)
	switch {
	case !found:
	case name == "":
		c.comment = v
		return
	case name == "data":
		c.data = append(c.data, datum(v))
		return
	case name == "event":
		c.event = v
		return
	case name == "id":
		c.id = v
		return
	case name == "retry":
		if n, err := strconv.ParseUint(v, 10, 32); err == nil {
			c.retry = float64(n)
		}
		return
	}
	if !s.events {
		c.data = append(c.data, written)
	}
}

// datum is one line of data: JSON when it looks like it and is.
func datum(written string) any {
	written = strings.TrimSpace(written)
	if strings.HasPrefix(written, "{") || strings.HasPrefix(written, "[") {
		if v, err := value.Decode(written); err == nil {
			return v
		}
	}
	return written
}

func looksJSON(came []byte) bool {
	came = bytes.TrimLeft(came, " \t\r\n")
	return len(came) > 0 && (came[0] == '{' || came[0] == '[')
}

func readable(raw []byte) string { return strings.ToValidUTF8(string(raw), "\uFFFD") }
