package errs_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"strconv"
	"testing"
	"time"

	"atelier/internal/errs"
)

// specification is the table of section 7.3, and the one code that was added to it.
var specification = map[errs.Code]int{
	"invalid_token": 401, "missing_token": 401, "invalid_credentials": 401, "token_expired": 401, "permission_denied": 403,
	"insufficient_scope": 403, "workspace_access_denied": 403, "organization_access_denied": 403, "resource_not_found": 404,
	"resource_already_exists": 409, "resource_conflict": 409, "resource_locked": 423, "invalid_request": 400, "invalid_parameter": 400,
	"missing_parameter": 400, "validation_failed": 422, "rate_limit_exceeded": 429, "quota_exceeded": 429, "concurrent_request_limit": 429,
	"internal_error": 500, "service_unavailable": 503, "gateway_timeout": 504, "database_error": 500,
	"payload_too_large": 413,
}

func TestTableIsTheSpecifications(t *testing.T) {
	t.Parallel()
	if !maps.Equal(errs.Statuses(), specification) {
		t.Errorf("%v\nwant %v", errs.Statuses(), specification)
	}
	for code, status := range specification {
		if errs.StatusOf(code) != status || errs.New(code, "x").Status() != status {
			t.Errorf("%s: %d", code, errs.StatusOf(code))
		}
	}
	if errs.StatusOf("made_up") != http.StatusInternalServerError {
		t.Error("an unknown code is our fault")
	}
}

// Every constant of type Code is in the table.
func TestEveryCodeHasAStatus(t *testing.T) {
	t.Parallel()
	file, err := parser.ParseFile(token.NewFileSet(), "codes.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			code, _ := strconv.Unquote(literal.Value)
			if _, known := errs.Statuses()[errs.Code(code)]; !known {
				t.Errorf("%s has no status", code)
			}
			found++
		}
		return true
	})
	if found != len(errs.Statuses()) {
		t.Errorf("%d codes are declared, %d have a status", found, len(errs.Statuses()))
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	own := errs.New(errs.Locked, "Locked.")
	cause := errors.New("the cause")
	for name, c := range map[string]struct {
		err  error
		code errs.Code
	}{
		"ours":             {own, errs.Locked},
		"wrapped":          {fmt.Errorf("doing: %w", own), errs.Locked},
		"wrapped by us":    {errs.Wrap(own, "doing"), errs.Locked},
		"joined":           {errors.Join(cause, own), errs.Locked},
		"foreign":          {cause, errs.Internal},
		"deadline":         {fmt.Errorf("doing: %w", context.DeadlineExceeded), errs.GatewayTimeout},
		"cancelled":        {context.Canceled, errs.Unavailable},
		"ours by deadline": {errs.New(errs.Database, "x").Because(context.DeadlineExceeded), errs.Database},
		"none":             {nil, ""},
	} {
		if got := errs.CodeOf(c.err); got != c.code {
			t.Errorf("%s: %s, want %s", name, got, c.code)
		}
	}
	if errs.From(nil) != nil || errs.Wrap(nil, "doing") != nil {
		t.Error("nothing became something")
	}
	hidden := errs.From(cause)
	if hidden.Message == "" || !errors.Is(hidden, cause) || hidden.Error() == hidden.Message {
		t.Errorf("%v", hidden)
	}
}

func TestDetails(t *testing.T) {
	t.Parallel()
	e := errs.Missing("workspaces", "w")
	if e.Code != errs.NotFound || e.Details["subjectType"] != "workspaces" || e.Details["id"] != "w" {
		t.Errorf("%+v", e)
	}
	p := errs.Parameter("limit", "use a number")
	if p.Code != errs.InvalidParameter || len(p.Fields) != 1 || p.Fields[0].Field != "limit" || p.Message != "limit: use a number" {
		t.Errorf("%+v", p)
	}
	precise := errs.New(errs.InvalidRequest, "x").WithStatus(http.StatusGone).WithRetryAfter(time.Second)
	if precise.Status() != http.StatusGone || precise.RetryAfter != time.Second {
		t.Errorf("%+v", precise)
	}
}
