package splice

import (
	"strings"

	"atelier/internal/dsul/internal/value"
)

// Document is a text that has been read, for one goroutine.
type Document struct {
	opened *document
	some   bool // there is a document in the text
}

// Read reads a text of one document. It fails as the edits do.
func Read(raw []byte) (*Document, error) {
	opened, found, err := open(raw)
	if err != nil {
		return nil, err
	}
	return &Document{opened: opened, some: opened.root != nil || !found}, nil
}

// Raw is the text.
func (d *Document) Raw() []byte { return d.opened.raw }

// Value is what the text means, nil when there is no document in it.
func (d *Document) Value() *value.Value {
	if !d.some {
		return nil
	}
	return d.opened.value
}

// Means tells whether a text can be read and means a value, and is JSON if the document is: what is JSON stays so. A text
// without a document means null.
func (d *Document) Means(raw []byte, want *value.Value) bool {
	_, got, err := parse(raw)
	return err == nil && got.Equal(orNull(want)) && (!isJSON(d.opened.raw) || isJSON(raw))
}

func orNull(v *value.Value) *value.Value {
	if v == nil {
		v = (&value.Value{}).Without(nil)
	}
	return v
}

// Merge gives the text that means what is wanted, as Replace does. What is wanted may be made of parts of the value of
// another document, and of this one: these are written as they stand there, with their comments. Keys that come are put
// behind those they follow in what is wanted. Comments that base has too may get lost where the other document has none.
func (d *Document) Merge(want *value.Value, from, base *Document) ([]byte, error) {
	want = orNull(want)
	if d.opened.value.Equal(want) {
		return d.opened.raw, nil
	}
	lender := newLender(string(base.opened.raw), d.opened, from.opened)
	fine, ok := d.borrowing(want, lender)
	lost := lender.missed(fine, d, from)
	if ok && lost == 0 {
		return fine, nil
	}
	lender.whole = true
	coarse, better := d.borrowing(want, lender)
	switch {
	case better && (!ok || lender.missed(coarse, d, from) < lost):
		return coarse, nil
	case ok:
		return fine, nil
	}
	return edited(d.opened.raw, func(*value.Value) (*value.Value, error) { return want, nil })
}

// missed counts the comments of documents that a text does not have.
func (l *lender) missed(text []byte, documents ...*Document) int {
	all := string(text)
	count := 0
	for _, d := range documents {
		comments := d.opened.comments(0, len(d.opened.raw))
		count += l.lost(comments, func(comment string) bool { return strings.Contains(all, comment) })
	}
	return count
}

// borrowing makes one attempt with a lender.
func (d *Document) borrowing(want *value.Value, from *lender) (out []byte, ok bool) {
	again, found, err := open(d.opened.raw)
	if err != nil || !found {
		return nil, false
	}
	again.style.lender = from
	return again.attempt(want)
}
