package apptest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Response is an answer, read whole.
type Response struct {
	Status int
	Header http.Header
	Body   []byte

	t    testing.TB
	what string
}

// Want fails the test unless the answer has the status.
func (r *Response) Want(status int) *Response {
	r.t.Helper()
	if r.Status != status {
		r.t.Fatalf("%s: status %d, want %d\n%s", r.what, r.Status, status, r.Body)
	}
	return r
}

// WantError fails the test unless the answer is an error with the status and code, in the flat shape, with a correlation id.
func (r *Response) WantError(status int, code string) *Response {
	r.t.Helper()
	r.Want(status)
	if got := r.Text("error"); got != code {
		r.t.Fatalf("%s: code %q, want %q\n%s", r.what, got, code, r.Body)
	}
	if r.Text("message") == "" || r.Header.Get("X-Correlation-Id") == "" || r.Header.Get("Content-Type") != "application/json" {
		r.t.Fatalf("%s: the error lacks a message, a correlation id or its content type: %v\n%s", r.what, r.Header, r.Body)
	}
	return r
}

// WantField fails the test unless details.errors names the field.
func (r *Response) WantField(field string) *Response {
	r.t.Helper()
	list, _ := r.At("details.errors").([]any)
	for _, item := range list {
		if entry, ok := item.(map[string]any); ok && entry["field"] == field {
			return r
		}
	}
	r.t.Fatalf("%s: details.errors does not name %q\n%s", r.what, field, r.Body)
	return r
}

// At gives the value at a dotted path; list items are numbered. Nil when there is none.
func (r *Response) At(path string) any {
	r.t.Helper()
	var value any
	if err := json.Unmarshal(r.Body, &value); err != nil {
		r.t.Fatalf("%s: the answer is not JSON: %v\n%s", r.what, err, r.Body)
	}
	if path == "" {
		return value
	}
	for part := range strings.SplitSeq(path, ".") {
		switch container := value.(type) {
		case map[string]any:
			value = container[part]
		case []any:
			index, err := strconv.Atoi(part)
			if err != nil || index >= len(container) {
				return nil
			}
			value = container[index]
		default:
			return nil
		}
	}
	return value
}

// Text gives the value at a dotted path as text; empty when there is none.
func (r *Response) Text(path string) string {
	r.t.Helper()
	if value := r.At(path); value != nil {
		return fmt.Sprint(value)
	}
	return ""
}

// Into decodes the answer.
func (r *Response) Into(v any) {
	r.t.Helper()
	if err := json.Unmarshal(r.Body, v); err != nil {
		r.t.Fatalf("%s: %v\n%s", r.what, err, r.Body)
	}
}

// Logs collects what a server logs.
type Logs struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (l *Logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

// String gives everything logged so far.
func (l *Logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
