package restapi

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"atelier/internal/errs"
	"atelier/internal/strictjson"
)

// Form reads JSON that does not come as the body of a request, such as the messages of a socket, by the rules of bodies: the
// tags of T say what is allowed, and everything else is refused. The zero value works, and several goroutines may use it.
type Form[T any] struct {
	once     sync.Once
	registry huma.Registry
	schema   *huma.Schema
}

// Read gives the value. What is wrong is told as of a body.
func (f *Form[T]) Read(text []byte) (value T, err error) {
	f.once.Do(func() {
		f.registry = huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
		f.schema = f.registry.Schema(reflect.TypeFor[T](), true, "")
	})
	if err := strictjson.Check(text, strictjson.Default()); err != nil {
		return value, errs.New(errs.InvalidRequest, "This is not acceptable JSON: "+err.Error()+".")
	}
	var loose any
	if err := unmarshalAny(text, &loose); err != nil {
		return value, errs.New(errs.InvalidRequest, "This is not acceptable JSON.")
	}
	path := huma.NewPathBuffer(make([]byte, 0, usualPath), 0)
	path.Push("body")
	var found huma.ValidateResult
	huma.Validate(f.registry, f.schema, path, huma.ModeWriteToServer, loose, &found)
	if len(found.Errors) > 0 {
		return value, invalid(found.Errors)
	}
	if err := misfit(json.Unmarshal(text, &value)); err != nil {
		return value, invalid([]error{&huma.ErrorDetail{Location: "body", Message: err.Error()}})
	}
	return value, nil
}

// usualPath is longer than the way to most fields.
const usualPath = 128
