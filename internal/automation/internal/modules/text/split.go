package text

import (
	"strings"
	"unicode/utf8"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
)

const (
	usualChunk   = 1000
	usualOverlap = 200
	// overlapShare is the part of a chunk that the usual overlap may be at most.
	overlapShare  = 5
	maxChunk      = 1_000_000
	maxSeparators = 32
	maxSeparator  = 1000
	maxChunks     = 100_000
)

// Split is {content, chunkSize, chunkOverlap, separators, keepSeparator}: a list of {content, size}. A text is cut at the first
// separator that it has; pieces that are still too long at the next one, and so on; what is short is put together again up to the
// size of a chunk. Neighbours share at most chunkOverlap characters. Sizes are those of JavaScript's texts.
func Split(parameters *value.Object) (any, error) {
	p := params.Read("text.splitText", parameters)
	content := p.Text("content", maxContent)
	s := splitter{size: p.Int("chunkSize", usualChunk, 1, maxChunk), chunks: []any{}}
	s.overlap = p.Int("chunkOverlap", min(usualOverlap, s.size/overlapShare), 0, maxChunk)
	if s.overlap >= s.size {
		p.Refuse("chunkOverlap", "must be smaller than chunkSize")
	}
	separators := p.Texts("separators", []string{"\n\n", "\n", " ", ""}, maxSeparators, maxSeparator)
	s.keep = p.Bool("keepSeparator", false)
	if err := p.Err(); err != nil {
		return nil, err
	}
	s.split(content, separators)
	if s.full {
		return nil, tooMuch("splitText")
	}
	return s.chunks, nil
}

// splitter cuts a text into chunks.
type splitter struct {
	size, overlap int
	keep          bool
	chunks        []any
	// written is how many bytes the chunks have, full that they became too many or too long.
	written int
	full    bool
}

// split cuts a text at the first of the separators that it has.
func (s *splitter) split(text string, separators []string) {
	separator, rest := separators[len(separators)-1], []string(nil)
	for i, candidate := range separators {
		if candidate == "" {
			separator = candidate
			break
		}
		if strings.Contains(text, candidate) {
			separator, rest = candidate, separators[i+1:]
			break
		}
	}
	m := merger{splitter: s, between: separator}
	if s.keep {
		m.between = ""
	}
	m.gap = value.Length(m.between)
	pieces(text, separator, s.keep, func(piece string) bool {
		length := value.Length(piece)
		switch {
		case length < s.size:
			m.add(piece, length)
		case len(rest) == 0:
			m.flush()
			s.emit(piece)
		default:
			m.flush()
			s.split(piece, rest)
		}
		return !s.full
	})
	m.flush()
}

// pieces gives the parts of a text that are not empty, one after the other, until it is told to stop.
func pieces(text, separator string, keep bool, yield func(string) bool) {
	for text != "" {
		end, next := pieceEnd(text, separator, keep)
		if end > 0 && !yield(text[:end]) {
			return
		}
		text = text[next:]
	}
}

// pieceEnd tells where the first piece of a text ends, and where the next one begins. A separator that is kept begins the next.
func pieceEnd(text, separator string, keep bool) (end, next int) {
	if separator == "" {
		_, width := utf8.DecodeRuneInString(text)
		return width, width
	}
	from := 0
	if keep {
		_, from = utf8.DecodeRuneInString(text)
	}
	at := strings.Index(text[from:], separator)
	switch {
	case at < 0:
		return len(text), len(text)
	case keep:
		return from + at, from + at
	default:
		return at, at + len(separator)
	}
}

// emit keeps a chunk, unless there are too many.
func (s *splitter) emit(chunk string) {
	s.written += len(chunk)
	if s.full = s.full || len(s.chunks) >= maxChunks || s.written > maxResult; s.full {
		return
	}
	s.chunks = append(s.chunks, machine.Payload("content", chunk, "size", float64(value.Length(chunk))))
}

// merger puts short pieces together to chunks.
type merger struct {
	*splitter

	between string
	gap     int
	// held are the pieces of the chunk that is being made, total their length without what stands between them.
	held  []piece
	total int
}

type piece struct {
	text   string
	length int
}

func (m *merger) add(text string, length int) {
	if m.exceeds(length) && len(m.held) > 0 {
		m.emitHeld()
		for m.total > m.overlap || m.exceeds(length) && m.total > 0 { // the rest is what the next chunk shares with this one
			m.total -= m.held[0].length
			m.held = m.held[1:]
		}
	}
	m.held = append(m.held, piece{text, length})
	m.total += length
}

func (m *merger) exceeds(length int) bool { return m.total+length+len(m.held)*m.gap > m.size }

func (m *merger) emitHeld() {
	var joined strings.Builder
	for i, one := range m.held {
		if i > 0 {
			joined.WriteString(m.between)
		}
		joined.WriteString(one.text)
	}
	if chunk := value.Trim(joined.String()); chunk != "" {
		m.emit(chunk)
	}
}

// flush ends the chunk that is being made.
func (m *merger) flush() {
	m.emitHeld()
	m.held, m.total = nil, 0
}
