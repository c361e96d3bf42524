package webhook

import (
	"context"
	"errors"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/shown"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
)

// Finish ends the response with the output of the automation: as JSON, or as the last event of a stream unless it is {}. A text is
// sent as it is when the automation says that it is no JSON.
func (s *Stream) Finish(output any) {
	const usual = 256
	text, short := value.AppendJSON(make([]byte, 0, usual), output, maxOutput)
	if !short {
		s.Fail(machine.Fail(machine.InvalidOutput, "The output is too large; give back less, or send it bit by bit with $http.").
			With(machine.Payload("limit", float64(maxOutput))))
		return
	}
	if len(text) == 0 {
		text = append(text, "{}"...) // undefined
	}
	s.end(func() {
		if s.events != nil {
			if string(text) != "{}" {
				_ = s.send(text)
			}
			return
		}
		kind := s.headers.Get("Content-Type")
		if plain, ok := output.(string); ok && kind != "" && !isJSON(kind) {
			text = []byte(plain)
		}
		s.write(s.statusOr(http.StatusOK), kind, text)
	})
}

// Fail ends the response with an error: {error, message, details}, with the status that goes with it, or as the last event of a stream.
// What the automation set the status and the headers to does not count.
func (s *Stream) Fail(err error) {
	failure := shown.Failure(err)
	text, short := value.JSON(shown.Object(failure), "", maxChunk)
	if !short {
		text, _ = value.JSON(machine.Payload("error", failure.Name, "message", failure.Message), "", maxOutput)
	}
	s.end(func() {
		if s.events != nil {
			_ = s.send([]byte(text))
			return
		}
		s.headers = nil
		s.write(Status(err), "", []byte(text))
	})
}

// end does the last thing that is done to a response, once.
func (s *Stream) end(last func()) {
	_ = s.take(context.Background()) // whoever has the turn gives it back: writes end by themselves
	defer s.give()
	s.stopBeats()
	if s.ended || s.gone {
		return
	}
	last()
	s.ended = true
}

// write writes a whole response. The turn is held.
func (s *Stream) write(status int, kind string, text []byte) {
	h := s.w.Header()
	put(h, s.headers)
	if kind == "" {
		h.Set("Content-Type", "application/json")
	} else if !harmless(kind) {
		// It is shown on the address of the platform: nothing in it may act there for whoever looks at it.
		h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'; sandbox")
	}
	if status == http.StatusNoContent || status == http.StatusNotModified || status == http.StatusResetContent {
		h.Del("Content-Type")
		s.w.WriteHeader(status)
		return
	}
	h.Set("Content-Length", strconv.Itoa(len(text)))
	s.w.WriteHeader(status)
	_, _ = s.w.Write(text)
}

func mediaType(kind string) string {
	name, _, err := mime.ParseMediaType(kind)
	if err != nil {
		return ""
	}
	return name
}

func isJSON(kind string) bool {
	name := mediaType(kind)
	return name == "application/json" || strings.HasSuffix(name, "+json")
}

// harmless tells that a browser shows a type as text, or saves it.
func harmless(kind string) bool {
	name := mediaType(kind)
	return isJSON(kind) || name == "text/plain" || name == "text/csv" || name == "text/event-stream" || name == "application/x-ndjson"
}

// Status is the HTTP status of an error of a run.
func Status(err error) int {
	failure, ok := errors.AsType[*machine.Failure](err)
	if !ok {
		return foreignStatus(err)
	}
	switch failure.Name {
	case machine.ObjectNotFound:
		return http.StatusNotFound
	case machine.Forbidden:
		return http.StatusForbidden
	case machine.InvalidUpload:
		return http.StatusRequestEntityTooLarge
	case machine.QuotaExceeded:
		return http.StatusTooManyRequests
	case machine.Timeout:
		return http.StatusGatewayTimeout
	case machine.Broke:
		return http.StatusInternalServerError
	case InvalidRequest:
		if errors.Is(failure.Cause, os.ErrDeadlineExceeded) {
			return http.StatusRequestTimeout
		}
	}
	return http.StatusBadRequest
}

// foreignStatus is that of an error that is none of the language.
func foreignStatus(err error) int {
	if refusal, ok := errors.AsType[*errs.Error](err); ok {
		return refusal.Status()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	case errors.Is(err, context.Canceled): // the server stops: the client has left otherwise, and sees nothing
		return http.StatusServiceUnavailable
	default:
		return http.StatusInternalServerError
	}
}
