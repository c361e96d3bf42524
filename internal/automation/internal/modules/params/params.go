// Package params reads what a function of a module is called with. The first thing that is wrong is kept, so that a function reads
// all of its parameters and then asks once.
package params

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

// Reader reads the parameters of one call.
type Reader struct {
	function   string
	parameters *value.Object
	failure    *machine.Failure
}

// Read begins with the parameters of a function; nil ones are empty.
func Read(function string, parameters *value.Object) *Reader {
	if parameters == nil {
		parameters = value.NewObject(0)
	}
	return &Reader{function: function, parameters: parameters}
}

// Err is what was wrong first; nil when nothing was.
func (r *Reader) Err() error {
	if r.failure == nil {
		return nil
	}
	return r.failure
}

// Refuse notes that a parameter is wrong, and what it should be.
func (r *Reader) Refuse(key, format string, arguments ...any) {
	if r.failure == nil {
		message := fmt.Sprintf(format, arguments...)
		r.failure = machine.Fail(machine.InvalidArguments, fmt.Sprintf("%s: %s %s", r.function, key, message)).
			With(machine.Payload("function", r.function, "parameter", key))
	}
}

// Has tells whether a parameter was given.
func (r *Reader) Has(key string) bool { return value.Exists(r.parameters.Get(key)) }

// Text reads a text that must be given, of at most so many bytes. Numbers and truths are taken as they are written.
func (r *Reader) Text(key string, limit int) string {
	if !r.Has(key) {
		r.Refuse(key, "is missing; give a text")
		return ""
	}
	return r.text(key, limit)
}

// OptionalText reads a text, or takes another one when it is not given.
func (r *Reader) OptionalText(key, otherwise string, limit int) string {
	if !r.Has(key) {
		return otherwise
	}
	return r.text(key, limit)
}

func (r *Reader) text(key string, limit int) string {
	var text string
	switch v := r.parameters.Get(key).(type) {
	case string:
		text = v
	case float64, bool:
		text = value.String(v)
	default:
		r.Refuse(key, "must be a text")
		return ""
	}
	return r.within(key, text, limit)
}

func (r *Reader) within(key, text string, limit int) string {
	if len(text) > limit {
		r.Refuse(key, "is longer than %d bytes; give less", limit)
		return ""
	}
	return text
}

// Data reads a text that must be given; of a list or an object it is their JSON.
func (r *Reader) Data(key string, limit int) string {
	switch v := r.parameters.Get(key).(type) {
	case []any, *value.Object:
		text, short := value.JSON(v, "", limit)
		if !short {
			r.Refuse(key, "is longer than %d bytes; give less", limit)
			return ""
		}
		return text
	default:
		return r.Text(key, limit)
	}
}

// Int reads a whole number between two others, or takes another one when it is not given.
func (r *Reader) Int(key string, otherwise, least, most int) int {
	if !r.Has(key) {
		return otherwise
	}
	number := math.NaN()
	switch v := r.parameters.Get(key).(type) {
	case float64:
		number = v
	case string:
		number = value.ParseNumber(v)
	}
	if number != math.Trunc(number) || number < float64(least) || number > float64(most) { // also what is no number
		r.Refuse(key, "must be a whole number from %d to %d", least, most)
		return otherwise
	}
	return int(number)
}

// Bool reads a truth, or takes another one when it is not given.
func (r *Reader) Bool(key string, otherwise bool) bool {
	switch v := r.parameters.Get(key).(type) {
	case nil, value.Undefined:
		return otherwise
	case bool:
		return v
	case string:
		if v == "true" || v == "false" {
			return v == "true"
		}
	}
	r.Refuse(key, "must be true or false")
	return otherwise
}

// OneOf reads one of some texts; the first of them when it is not given.
func (r *Reader) OneOf(key string, options ...string) string {
	if !r.Has(key) {
		return options[0]
	}
	if text, ok := r.parameters.Get(key).(string); ok && slices.Contains(options, text) {
		return text
	}
	r.Refuse(key, "must be one of %s", strings.Join(options, ", "))
	return options[0]
}

// Texts reads a list of texts, or takes another one when it is not given.
func (r *Reader) Texts(key string, otherwise []string, most, limit int) []string {
	if !r.Has(key) {
		return otherwise
	}
	list, ok := r.parameters.Get(key).([]any)
	if !ok || len(list) == 0 || len(list) > most {
		r.Refuse(key, "must be a list of 1 to %d texts", most)
		return otherwise
	}
	texts := make([]string, len(list))
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			r.Refuse(key, "must be a list of texts; item %d is none", i)
			return otherwise
		}
		texts[i] = r.within(key, text, limit)
	}
	return texts
}
