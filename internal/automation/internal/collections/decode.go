package collections

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// decode reads the text of a body. A query may look at very many of them, and all were written by this package, without a blank: they
// are read in one go. The text tells nothing that the general reader would not tell.
func decode(text string) (*value.Object, error) {
	d := decoder{text: text}
	v, ok := d.value(0)
	object, is := v.(*value.Object)
	if !ok || !is || d.at != len(text) {
		return nil, errors.New("the body is not one that was written here")
	}
	return object, nil
}

type decoder struct {
	text string
	at   int
}

// next takes a character if it is the next one.
func (d *decoder) next(b byte) bool {
	if d.at < len(d.text) && d.text[d.at] == b {
		d.at++
		return true
	}
	return false
}

func (d *decoder) value(depth int) (any, bool) {
	if d.at >= len(d.text) || depth > value.MaxDepth {
		return nil, false
	}
	switch d.text[d.at] {
	case '{':
		return d.object(depth)
	case '[':
		return d.list(depth)
	case '"':
		return d.string()
	case 'n':
		return nil, d.word("null")
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	default:
		return d.number()
	}
}

func (d *decoder) word(word string) bool {
	if !strings.HasPrefix(d.text[d.at:], word) {
		return false
	}
	d.at += len(word)
	return true
}

func (d *decoder) number() (any, bool) {
	from := d.at
	for d.at < len(d.text) && strings.IndexByte("+-.0123456789eE", d.text[d.at]) >= 0 {
		d.at++
	}
	n, err := strconv.ParseFloat(d.text[from:d.at], 64)
	return n, err == nil
}

func (d *decoder) string() (string, bool) {
	if !d.next('"') {
		return "", false
	}
	from, escaped := d.at, false
	for d.at < len(d.text) && d.text[d.at] != '"' {
		if d.text[d.at] == '\\' {
			escaped = true
			d.at++
		}
		d.at++
	}
	end := d.at
	if !d.next('"') {
		return "", false
	}
	if !escaped {
		return d.text[from:end], true
	}
	var text string
	err := json.Unmarshal([]byte(d.text[from-1:d.at]), &text)
	return text, err == nil
}

func (d *decoder) list(depth int) (any, bool) {
	d.at++
	list := []any{}
	if d.next(']') {
		return list, true
	}
	for {
		item, ok := d.value(depth + 1)
		if !ok {
			return nil, false
		}
		list = append(list, item)
		if d.next(']') {
			return list, true
		}
		if !d.next(',') {
			return nil, false
		}
	}
}

func (d *decoder) object(depth int) (any, bool) {
	d.at++
	object := value.NewObject(0)
	if d.next('}') {
		return object, true
	}
	for {
		key, ok := d.string()
		if !ok || !d.next(':') {
			return nil, false
		}
		v, ok := d.value(depth + 1)
		if !ok {
			return nil, false
		}
		object.Set(key, v)
		if d.next('}') {
			return object, true
		}
		if !d.next(',') {
			return nil, false
		}
	}
}
