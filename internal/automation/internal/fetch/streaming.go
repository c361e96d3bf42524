package fetch

import (
	"math"
	"strings"
	"time"

	"atelier/internal/dsul/expr"
	"atelier/internal/dsul/expr/value"
)

// maxThrottle is how long chunks may be held back.
const maxThrottle = time.Minute

// streaming is what an instruction says of an answer that streams.
type streaming struct {
	// event is the type of the event that each chunk becomes; without one the automation reads the stream itself.
	event string
	// payload is added to each event, end is the chunk of one more event after the last.
	payload, end    any
	path            []expr.Step // where the texts or lists are that are put together; nil puts nothing together
	throttle        time.Duration
	target, options *value.Object
}

// readStreaming reads the parameter stream.
func readStreaming(v any) (*streaming, error) {
	given, ok := v.(*value.Object)
	if !ok {
		if on(v) {
			return &streaming{payload: value.Undefined{}, end: value.Undefined{}}, nil
		}
		return nil, nil //nolint:nilnil // nil is the documented way to say that nothing is said
	}
	s := &streaming{payload: given.Get("payload"), end: given.Get("endChunk")}
	s.event, _ = given.Get("event").(string)
	var err error
	if s.target, err = optional(given.Get("target"), "stream.target"); err != nil {
		return nil, err
	}
	if s.options, err = optional(given.Get("options"), "stream.options"); err != nil {
		return nil, err
	}
	return s, s.readConcatenate(given.Get("concatenate"))
}

func (s *streaming) readConcatenate(v any) error {
	if !value.Exists(v) {
		return nil
	}
	given, err := object(v, "stream.concatenate")
	if err != nil {
		return err
	}
	path, _ := given.Get("path").(string)
	if s.path, err = expr.ParsePath(strings.TrimSpace(path)); err != nil || len(s.path) == 0 {
		return invalid("Invalid fetch instruction: stream.concatenate.path is not a path such as choices[0].delta.content.")
	}
	if n := value.Number(given.Get("throttle")); n > 0 && !math.IsInf(n, 0) {
		s.throttle = min(time.Duration(min(n, float64(maxThrottle.Milliseconds())))*time.Millisecond, maxThrottle)
	}
	return nil
}

func optional(v any, name string) (*value.Object, error) {
	if !value.Exists(v) {
		return nil, nil //nolint:nilnil // nil is the documented way to say that nothing is said
	}
	return object(v, name)
}

// joined puts together what stands at a path of every chunk. Texts and lists grow in place: what was given out before is the
// beginning of what is there now, and is never written again.
type joined struct {
	path  []expr.Step
	limit int64
	size  int64
	text  strings.Builder
	list  []any
}

// add takes what a chunk has. The path leads into the data, or into the chunk when it says so.
func (j *joined) add(c *chunk) error {
	if j.path == nil {
		return nil
	}
	found := false
	for _, item := range c.data {
		if v := follow(item, j.path); value.Exists(v) {
			found = true
			j.append(v)
		}
	}
	if !found {
		whole := value.NewObject(1)
		whole.Set("chunk", c.value())
		for _, start := range []any{whole.Get("chunk"), whole} {
			if v := follow(start, j.path); value.Exists(v) {
				j.append(v)
				break
			}
		}
	}
	if j.size > j.limit {
		return badAnswerError("What the stream put together is larger than allowed; leave out concatenate.")
	}
	return nil
}

func (j *joined) append(v any) {
	switch v := v.(type) {
	case string:
		j.size += int64(len(v))
		j.text.WriteString(v)
	case []any:
		for _, item := range v {
			written, _ := value.JSON(item, "", int(j.limit))
			j.size += int64(len(written)) + containerWeight
		}
		j.list = append(j.list, v...)
	}
}

// value is what there is so far; undefined when the path led nowhere yet.
func (j *joined) value() any {
	switch {
	case j.list != nil:
		return j.list[:len(j.list):len(j.list)]
	case j.text.Len() > 0:
		return j.text.String()
	default:
		return value.Undefined{}
	}
}

func follow(v any, path []expr.Step) any {
	for _, step := range path {
		v = value.Get(v, step.Key)
	}
	return v
}

// item is a chunk with all that belongs to it, as events and loops see it.
func (s *streaming) item(index int, chunk, concatenated any) *value.Object {
	o := value.NewObject(4)
	o.Set("index", float64(index))
	o.Set("chunk", chunk)
	if (concatenated != value.Undefined{}) {
		whole := value.NewObject(1)
		whole.Set("value", concatenated)
		o.Set("concatenated", whole)
	}
	if s != nil && value.Exists(s.payload) {
		o.Set("additionalPayload", s.payload)
	}
	return o
}
