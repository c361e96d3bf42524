package fetch

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// answer is what a server said.
type answer struct {
	status int
	header http.Header
	// kind is the type of the content, as MIME writes it, charset what its texts are written in.
	kind, charset string
	raw           []byte
	body          any
	// live is an answer that streams; raw and body are then empty.
	live *attempt
}

// badAnswerError is an answer that is not what it says to be.
type badAnswerError string

// Error says what is wrong with it.
func (e badAnswerError) Error() string { return string(e) }

// receive reads the answer of an attempt, or leaves it open when it streams.
func (c *Client) receive(a *attempt, r *request) (*answer, error) {
	response := a.response
	got := &answer{status: response.StatusCode, header: response.Header}
	kind, parameters, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err == nil || errors.Is(err, mime.ErrInvalidMediaParameter) {
		got.kind, got.charset = kind, parameters["charset"]
	}
	if streams(got, r) {
		a.unlimited()
		got.live = a
		return got, nil
	}
	defer a.end()
	release := func() {}
	defer func() { release() }()
	if got.raw, release, err = c.readAll(a, r); err != nil {
		if bad := badAnswerError(""); errors.As(err, &bad) {
			return got, err
		}
		return got, a.explain(err)
	}
	got.body, err = decode(got)
	return got, err
}

// streams tells that an answer is read bit by bit: a server says so, or the instruction does. An error is not a stream.
func streams(got *answer, r *request) bool {
	if r.method == http.MethodHead || got.status == http.StatusNoContent {
		return false
	}
	return got.kind == "text/event-stream" || r.stream != nil && got.status < http.StatusBadRequest
}

// readAll reads an answer that has an end, counted as it unfolds. What is large waits for one of the few places for large
// answers, and keeps it until it is released: many of them at once, and the values made of them, would take all memory.
func (c *Client) readAll(a *attempt, r *request) (data []byte, release func(), err error) {
	release = func() {}
	body := io.LimitReader(a.response.Body, c.deps.MaxBody+1)
	if data, err = io.ReadAll(io.LimitReader(body, small)); err != nil {
		return nil, release, err
	}
	if len(data) == small {
		if release, err = c.big.take(a.ctx, r.workspaceID); err != nil {
			return nil, func() {}, err
		}
		whole := bytes.NewBuffer(data)
		if _, err := whole.ReadFrom(body); err != nil {
			return nil, release, err
		}
		data = whole.Bytes()
	}
	if int64(len(data)) > c.deps.MaxBody {
		return nil, release, badAnswerError("The answer is larger than allowed; ask for less at a time.")
	}
	return data, release, nil
}

// output is what the instruction gives back.
func (got *answer) output(r *request) any {
	body := got.body
	switch r.mode {
	case modeBase64:
		body = base64.StdEncoding.EncodeToString(got.raw)
	case modeDataURL:
		body = "data:" + got.mediaType() + ";base64," + base64.StdEncoding.EncodeToString(got.raw)
	}
	if r.mode == modeDetailed || r.stream != nil {
		return got.detailed(body, false)
	}
	return body
}

func (got *answer) mediaType() string {
	if got.kind == "" {
		return "application/octet-stream"
	}
	if got.charset != "" && strings.HasPrefix(got.kind, "text/") {
		return strings.ReplaceAll(mime.FormatMediaType(got.kind, map[string]string{"charset": got.charset}), " ", "")
	}
	return got.kind
}

// detailed is the answer with all that belongs to it.
func (got *answer) detailed(body, stream any) *value.Object {
	o := value.NewObject(4)
	o.Set("status", float64(got.status))
	o.Set("headers", got.headers())
	o.Set("body", body)
	o.Set("stream", stream)
	return o
}

// headers are the headers of the answer by their names in small letters.
func (got *answer) headers() *value.Object {
	return headersOf(got.header)
}

func headersOf(header http.Header) *value.Object {
	texts := make(map[string]any, len(header))
	for name, values := range header {
		texts[strings.ToLower(name)] = strings.ToValidUTF8(strings.Join(values, ", "), "\uFFFD")
	}
	o, _ := value.From(texts).(*value.Object)
	return o
}
