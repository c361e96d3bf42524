package restapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"atelier/internal/strictjson"
)

// strictFormat reads and writes JSON bodies. The library decodes a body twice, first into an any to validate it: that is
// where the document is checked, once.
func strictFormat() huma.Format {
	return huma.Format{
		Marshal: func(w io.Writer, v any) error {
			var text bytes.Buffer
			encoder := json.NewEncoder(&text)
			encoder.SetEscapeHTML(false)
			if err := encoder.Encode(v); err != nil {
				return err
			}
			_, _ = w.Write(text.Bytes()) // a client that has left is no fault of ours
			return nil
		},
		Unmarshal: func(data []byte, v any) error {
			loose, ok := v.(*any)
			if !ok {
				return misfit(json.Unmarshal(data, v))
			}
			if err := strictjson.Check(data, strictjson.Default()); err != nil {
				return err
			}
			return unmarshalAny(data, loose)
		},
	}
}

// unmarshalAny decodes for validation. A number beyond float64, such as 1e400, becomes infinite: it breaks the rules of a
// numeric field, and in a free-form field the original text is kept anyway.
func unmarshalAny(data []byte, v *any) error {
	err := json.Unmarshal(data, v)
	if _, overflow := errors.AsType[*json.UnmarshalTypeError](err); !overflow {
		return err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	if err := decoder.Decode(v); err != nil {
		return err
	}
	*v = plainNumbers(*v)
	return nil
}

func plainNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := v.Float64() // infinite, with its sign, when it is too large
		return f
	case map[string]any:
		for k, item := range v {
			v[k] = plainNumbers(item)
		}
	case []any:
		for i, item := range v {
			v[i] = plainNumbers(item)
		}
	}
	return v
}

// misfitAt begins the text of an error that the schema did not find; the field and what is wrong follow.
const misfitAt = "misfit at "

// misfit describes, without naming Go types, a value that passed its schema and still cannot be held, such as 1.0 or a
// number of thirty digits where a whole number is expected.
func misfit(err error) error {
	if err == nil {
		return nil
	}
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && strings.HasPrefix(wrong.Value, "number") {
		return errors.New(misfitAt + wrong.Field + ": expected a whole number, without a point or exponent, that is not too large")
	}
	return errors.New(misfitAt + ": a value cannot be read")
}
