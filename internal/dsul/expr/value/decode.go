package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// MaxDepth is how deep JSON may be nested that an expression reads.
const MaxDepth = 100

// Decode reads a JSON text, all of it. The order of keys is kept; of equal keys the last one counts.
func Decode(text string) (any, error) {
	v, end, err := DecodePrefix(text)
	if err != nil {
		return nil, err
	}
	if rest := strings.TrimLeft(text[end:], " \t\r\n"); rest != "" {
		return nil, errors.New("something follows the JSON value")
	}
	return v, nil
}

// DecodePrefix reads the JSON value that a text starts with, and says where it ends.
func DecodePrefix(text string) (v any, end int, err error) {
	p := parser{text: text}
	if v, ok := p.value(0); ok {
		return v, p.at, nil
	}
	return explain(text)
}

// explain reads a text that is not as it should be by the means of the standard library, which says what is wrong.
func explain(text string) (v any, end int, err error) {
	whole := json.NewDecoder(strings.NewReader(text))
	var raw json.RawMessage
	if err := whole.Decode(&raw); err != nil { // tokens alone would let some mistakes through
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the JSON ends too early")
		}
		return nil, 0, err
	}
	tokens := json.NewDecoder(bytes.NewReader(raw))
	tokens.UseNumber()
	v, err = reader{tokens}.value(0)
	return v, int(whole.InputOffset()), err
}

type reader struct{ *json.Decoder }

func (r reader) value(depth int) (any, error) {
	token, err := r.Token()
	if err != nil {
		return nil, err
	}
	switch token := token.(type) {
	case json.Delim:
		if depth == MaxDepth {
			return nil, fmt.Errorf("JSON may be nested %d deep at most", MaxDepth)
		}
		if token == '[' {
			return r.list(depth)
		}
		return r.object(depth)
	case json.Number:
		return parseDecimal(string(token)), nil
	default:
		return token, nil
	}
}

func (r reader) list(depth int) (any, error) {
	list := []any{}
	for r.More() {
		item, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	_, err := r.Token()
	return list, err
}

func (r reader) object(depth int) (any, error) {
	object := NewObject(0)
	for r.More() {
		token, err := r.Token()
		if err != nil {
			return nil, err
		}
		key, ok := token.(string)
		if !ok {
			return nil, errors.New("the key of a JSON object is a text in quotes")
		}
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		object.Set(key, v)
	}
	_, err := r.Token()
	return object, err
}
