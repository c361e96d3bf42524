package gitserver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
)

const (
	// pktHead is the length of a line, in hexadecimal digits that count themselves.
	pktHead = 4
	// pktMost is the longest line.
	pktMost = 65520
	// flush ends a list of lines.
	flush = "0000"
)

// The bands of an answer: the report, and what the client shows on its terminal.
const (
	bandReport   = 1
	bandProgress = 2
)

var errPkt = errors.New("what was sent is not the git protocol")

// readPkt reads one line; nil is the end of a list.
func readPkt(in io.Reader) ([]byte, error) {
	var head [pktHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	length, err := strconv.ParseUint(string(head[:]), 16, 16)
	if err != nil {
		return nil, errPkt
	}
	if length == 0 {
		return nil, nil
	}
	if length <= pktHead || length > pktMost {
		return nil, errPkt
	}
	line := make([]byte, length-pktHead)
	if _, err := io.ReadFull(in, line); err != nil {
		return nil, broken(err)
	}
	return line, nil
}

// broken says that a line ended in its middle.
func broken(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func pkt(text string) string { return fmt.Sprintf("%04x%s", len(text)+pktHead, text) }

// banded writes a text into a band, in as many lines as it takes.
func banded(band byte, text string) string {
	const most = pktMost - pktHead - 1
	var out strings.Builder
	for len(text) > 0 {
		part := text[:min(len(text), most)]
		text = text[len(part):]
		out.WriteString(pkt(string(band) + part))
	}
	return out.String()
}

// oneLine is a text that does nothing to a terminal, on one line that is not too long.
func oneLine(text string) string {
	const most = 400
	clean := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	clean = strings.Join(strings.Fields(clean), " ")
	if runes := []rune(clean); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return clean
}

// packWatch looks at an answer that passes by, and calls begins before a pack does.
type packWatch struct {
	out    io.Writer
	begins func() error
	last   []byte
	seen   bool
}

// packStart is how a pack begins, behind the head of its line.
func packStart() []byte { return []byte("PACK\x00\x00\x00\x02") }

// Write implements io.Writer.
func (w *packWatch) Write(p []byte) (int, error) {
	if !w.seen {
		w.last = append(w.last, p...)
		if bytes.Contains(w.last, packStart()) {
			w.seen = true
			if err := w.begins(); err != nil {
				return 0, err
			}
		}
		if keep := len(packStart()) - 1; len(w.last) > keep {
			w.last = append(w.last[:0], w.last[len(w.last)-keep:]...)
		}
	}
	return w.out.Write(p)
}
