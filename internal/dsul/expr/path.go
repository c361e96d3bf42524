package expr

import (
	"fmt"
	"strconv"
	"strings"
)

// maxPath bounds the path of one variable, in bytes.
const maxPath = 4 << 10

// ParsePath reads the path of a variable as it stands in texts and in the instructions that set one: a, a.b, a[0],
// a["x.y"], a[word]. Its errors are *PathError.
func ParsePath(path string) ([]Step, error) {
	return readPath([]piece{{text: path}}, path, 0)
}

// ParseTarget reads the path of a variable that is set: as ParsePath does, and a[] to append to a list.
func ParseTarget(path string) (steps []Step, push bool, err error) {
	trimmed, push := strings.CutSuffix(path, "[]")
	steps, err = readPath([]piece{{text: trimmed}}, path, 0)
	return steps, push, err
}

// piece is a part of a path: text, or a value that is known only when it runs.
type piece struct {
	text string
	node Node
}

// plainStep is a key without quotes: digits are a number.
func plainStep(key string) Step {
	for i := range len(key) {
		if !isDigit(key[i]) {
			return Step{Key: key, Index: -1}
		}
	}
	if key = strings.TrimLeft(key, "0"); key == "" {
		key = "0"
	}
	index, err := strconv.Atoi(key)
	if err != nil {
		index = -1 // more than any list has
	}
	return Step{Key: key, Index: index}
}

func quotedStep(key string) Step {
	step := Step{Key: key, Index: -1}
	if plain := plainStep(key); key != "" && plain.Key == key {
		step.Index = plain.Index
	}
	return step
}

// pathReader reads a path that may have holes, from left to right.
type pathReader struct {
	pieces []piece
	path   string
	start  int
	steps  []Step
}

func readPath(pieces []piece, path string, start int) ([]Step, error) {
	r := &pathReader{pieces: pieces, path: path, start: start}
	if len(path) > maxPath {
		return nil, r.fail("it has more than %d bytes", maxPath)
	}
	if path == "" {
		return nil, r.fail("it is empty; write a name, as in {{name}}")
	}
	if err := r.name(); err != nil {
		return nil, err
	}
	for !r.done() {
		var err error
		switch r.next() {
		case '.':
			r.skip()
			err = r.name()
		case '[':
			r.skip()
			err = r.bracket()
		default:
			err = r.fail("behind ] stands a dot, a [ or the end")
		}
		if err != nil {
			return nil, err
		}
	}
	return r.steps, nil
}

func (r *pathReader) fail(format string, values ...any) error {
	return &PathError{Path: r.path, Start: r.start, Message: fmt.Sprintf(format, values...)}
}

func (r *pathReader) done() bool {
	for len(r.pieces) > 0 && r.pieces[0].node == nil && r.pieces[0].text == "" {
		r.pieces = r.pieces[1:]
	}
	return len(r.pieces) == 0
}

// next is the character that follows, 0 for a hole and at the end.
func (r *pathReader) next() byte {
	if r.done() || r.pieces[0].node != nil {
		return 0
	}
	return r.pieces[0].text[0]
}

func (r *pathReader) skip() { r.pieces[0].text = r.pieces[0].text[1:] }

// until takes text and holes up to one of some characters, which it leaves.
func (r *pathReader) until(stops string) []piece {
	var taken []piece
	for !r.done() {
		head := r.pieces[0]
		if head.node != nil {
			taken = append(taken, head)
			r.pieces = r.pieces[1:]
			continue
		}
		end := strings.IndexAny(head.text, stops)
		if end < 0 {
			end = len(head.text)
		}
		if end > 0 {
			taken = append(taken, piece{text: head.text[:end]})
		}
		r.pieces[0].text = head.text[end:]
		if end < len(head.text) {
			break
		}
	}
	return taken
}

// name reads a key between dots. Every character but . [ and ] is part of it.
func (r *pathReader) name() error {
	key := r.until(".[]")
	if len(key) == 0 {
		return r.badName()
	}
	if r.next() == ']' {
		return r.fail("it has a ] without a [")
	}
	r.add(key, false, true)
	return nil
}

func (r *pathReader) badName() error {
	switch {
	case len(r.steps) == 0:
		return r.fail("it must start with a name")
	case r.done():
		return r.fail("nothing follows the last dot")
	default:
		return r.fail("a name must stand behind every dot")
	}
}

// bracket reads what stands in brackets: a key in quotes, or any text up to the ].
func (r *pathReader) bracket() error {
	quote := r.next()
	quoted := quote == '"' || quote == '\''
	stops := "[]"
	if quoted {
		r.skip()
		stops = string(quote)
	}
	key := r.until(stops)
	if quoted {
		if r.next() != quote {
			return r.fail("the key in brackets has no closing %c", quote)
		}
		r.skip()
	} else if len(key) == 0 {
		return r.fail("a key must stand in the brackets; only the name of a variable that is set may end with []")
	}
	if r.next() != ']' {
		return r.fail("a [ has no ]")
	}
	r.skip()
	r.add(key, quoted, false)
	return nil
}

// add makes a step of a key.
func (r *pathReader) add(key []piece, quoted, split bool) {
	var text strings.Builder
	dynamic := false
	for _, part := range key {
		text.WriteString(part.text)
		dynamic = dynamic || part.node != nil
	}
	step := plainStep(text.String())
	switch {
	case dynamic:
		step = Step{Index: -1, Parts: r.nodes(key), Split: split}
	case quoted:
		step = quotedStep(text.String())
	}
	r.steps = append(r.steps, step)
}

func (r *pathReader) nodes(key []piece) []Node {
	nodes := make([]Node, len(key))
	for i, part := range key {
		if nodes[i] = part.node; part.node == nil {
			nodes[i] = &Literal{At: r.start, Value: part.text}
		}
	}
	return nodes
}
