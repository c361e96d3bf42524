package restapi_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
)

// Thing is a body of one service; its twin below has the same name and other fields.
type Thing struct {
	A string `json:"a"`
}

type thingInput struct{ Body Thing }

type thingOutput struct{ Body Thing }

func things(_ context.Context, in *thingInput) (*thingOutput, error) {
	return &thingOutput{Body: in.Body}, nil
}

// Two services cannot say different things about one path or one schema.
func TestDocumentConflicts(t *testing.T) {
	t.Parallel()
	one, same := newBench(nil), newBench(nil)
	restapi.Register(one.API, operation(http.MethodPost, "/things"), things)
	restapi.Register(same.API, operation(http.MethodPost, "/others"), things)
	if _, err := restapi.Document("1", "", one.API, same.API); err != nil {
		t.Errorf("the same schema twice: %v", err)
	}
	if _, err := restapi.Document("1", "", one.API, one.API); err == nil {
		t.Error("two services serve one method of a path")
	}
	type Thing struct {
		B int `json:"b"`
	}
	other := newBench(nil)
	restapi.Register(other.API, operation(http.MethodGet, "/things"), func(context.Context, *struct{}) (*struct{ Body Thing }, error) {
		return &struct{ Body Thing }{}, nil
	})
	if _, err := restapi.Document("1", "", one.API, other.API); err == nil || !strings.Contains(err.Error(), "Thing") {
		t.Errorf("two schemas of one name: %v", err)
	}
}

// The document lets answers grow; the service goes on to refuse what it does not know.
func TestDocumentDoesNotLoosenTheService(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	restapi.Register(b.API, operation(http.MethodPost, "/echo"), echo)
	restapi.Register(b.API, operation(http.MethodGet, "/answer"), func(context.Context, *struct{}) (*thingOutput, error) {
		return &thingOutput{}, nil
	})
	doc, err := restapi.Document("1", "", b.API)
	if err != nil {
		t.Fatal(err)
	}
	schemas := doc.Components.Schemas.Map()
	if schemas["Thing"].AdditionalProperties != nil || schemas["TextBody"].AdditionalProperties != false {
		t.Errorf("Thing %v, TextBody %v", schemas["Thing"].AdditionalProperties, schemas["TextBody"].AdditionalProperties)
	}
	b.serve(t, call{method: http.MethodPost, path: "/echo", body: `{"text":"a","more":1}`}).want(t, http.StatusUnprocessableEntity, "validation_failed")
}

// An operation that takes If-Match says that it may answer 412; one with a body of its own for an error status says so.
func TestDocumentedStatuses(t *testing.T) {
	t.Parallel()
	b := newBench(nil)
	type input struct {
		IfMatch string `header:"If-Match"`
		Body    Thing
	}
	op := operation(http.MethodPut, "/things")
	op.Errors, op.Also = []errs.Code{errs.Locked}, map[int]any{http.StatusBadRequest: Thing{}}
	op.Deprecated = &httpx.Deprecation{Notice: "x"}
	restapi.Register(b.API, op, func(context.Context, *input) (*thingOutput, error) { return &thingOutput{}, nil })
	doc, err := restapi.Document("1", "", b.API)
	if err != nil {
		t.Fatal(err)
	}
	put := doc.Paths["/things"].Put
	for _, status := range []string{"200", "400", "401", "403", "408", "412", "413", "415", "422", "423", "429", "500", "503", "504"} {
		if put.Responses[status] == nil {
			t.Errorf("%s is missing", status)
		}
	}
	if schema := put.Responses["400"].Content["application/json"].Schema; len(schema.AnyOf) != 2 {
		t.Errorf("400: %+v", schema)
	}
	if !put.Deprecated || put.Responses["409"] != nil {
		t.Errorf("%+v", put)
	}
}
