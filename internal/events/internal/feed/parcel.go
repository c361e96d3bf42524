package feed

import (
	"bytes"
	"encoding/json"

	"atelier/internal/bus"
	"atelier/internal/events/internal/query"
)

// parcel is an event on its way to readers. It is decoded once, and written once when somebody wants it. One goroutine at a
// time uses it.
type parcel struct {
	*query.Document
	position bus.Position
	text     []byte
	broken   bool
}

func newParcel(e bus.Event) *parcel { return &parcel{Document: query.Read(e), position: e.Position} }

// json is the event as clients see it; false when it cannot be read.
func (p *parcel) json() ([]byte, bool) {
	if p.text == nil && !p.broken {
		event, err := p.Event()
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err == nil {
			err = encoder.Encode(event)
		}
		p.text, p.broken = bytes.TrimSuffix(text.Bytes(), []byte("\n")), err != nil
	}
	return p.text, !p.broken
}
