package restapi

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Stream is an answer that is written by hand: it depends on the request whether it is one value or a stream of events. The
// operations that give one are Once, and say what they give.
type Stream struct{ Body Body }

// Body is the body of an answer that has headers of its own, and is written by hand.
type Body = func(huma.Context)

// Streaming is an answer that a function writes.
func Streaming(write func(w http.ResponseWriter, r *http.Request)) *Stream {
	return &Stream{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		write(w, r)
	}}
}

// Answer is an answer of one value.
func Answer(status int, value any) (*Stream, error) {
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return Streaming(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write(body.Bytes()) // a client that has left is told nothing
	}), nil
}
