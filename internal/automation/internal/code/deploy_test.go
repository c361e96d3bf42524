package code_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/sqldbtest"
)

func TestDeploy(t *testing.T) {
	t.Parallel()
	sqldbtest.Each(t, func(t *testing.T, db *sqldb.DB) {
		forbidden := errors.New("not allowed")
		c := started(t, code.Deps{
			Log: slog.New(slog.DiscardHandler), Clock: clock.System{}, DB: db, Program: program(),
			Allow: func(_ context.Context, workspaceID, action string) error {
				if workspaceID == "closed" || (workspaceID == "readonly" && action == code.ActionDeploy) {
					return forbidden
				}
				return nil
			},
		})
		ctx := t.Context()
		if _, err := c.RunDeployed(ctx, "a", "f", nil); failureOf(t, err).Name != machine.ObjectNotFound {
			t.Errorf("%v", err)
		}
		for i := 1; i <= 2; i++ {
			defined := functions("f(x)", fmt.Sprintf("console.log('v%d'); return x + %d + await g()", i, i), "g()", "return 100 // \x00 é")
			if err := c.Deploy(ctx, "a", defined); err != nil {
				t.Fatal(err)
			}
			answer, err := c.RunDeployed(ctx, "a", "f", machine.Payload("x", 1.0))
			if err != nil || answer.Result != float64(101+i) || fmt.Sprint(answer.Logs) != fmt.Sprintf("[v%d]", i) || answer.Duration <= 0 {
				t.Errorf("%v %v", answer, err)
			}
		}
		if _, err := c.RunDeployed(ctx, "b", "f", nil); failureOf(t, err).Name != machine.ObjectNotFound {
			t.Errorf("another workspace has them: %v", err)
		}
		if _, err := c.RunDeployed(ctx, "a", "", nil); failureOf(t, err).Name != machine.InvalidArguments {
			t.Errorf("%v", err)
		}
		for _, workspace := range []string{"closed", "readonly"} {
			if err := c.Deploy(ctx, workspace, functions()); !errors.Is(err, forbidden) {
				t.Errorf("%s: %v", workspace, err)
			}
		}
		if _, err := c.RunDeployed(ctx, "closed", "f", nil); !errors.Is(err, forbidden) {
			t.Errorf("%v", err)
		}
		if err := db.Tx(ctx, func(tx *sqldb.Tx) error { return code.Undeploy(ctx, tx, "a") }); err != nil {
			t.Fatal(err)
		}
		if _, err := c.RunDeployed(ctx, "a", "f", nil); failureOf(t, err).Name != machine.ObjectNotFound {
			t.Errorf("%v", err)
		}
	}, code.Migrations())
}

// What is deployed is checked, and never run.
func TestDeployRefuses(t *testing.T) {
	t.Parallel()
	db := sqldbtest.SQLite(t, code.Migrations())
	c := code.New(code.Deps{Log: slog.New(slog.DiscardHandler), Clock: clock.System{}, DB: db, Limits: code.Limits{Request: 1 << 20}, Program: code.Program{Path: "/nonexistent"}})
	for text, want := range map[string]string{
		`{"f":{"code":"for(;;);"}}`: "",
		`{"f":{"code":"return ("}}`: "",
		`{}`:                        "",
		`{"f":{"code":"1","language":"nodejs","parameters":{}}}`: "",
		`{"f":1}`:                                             "functions.f",
		`{"":{"code":""}}`:                                    "functions.",
		`{"f":{}}`:                                            "functions.f.code",
		`{"f":{"code":1}}`:                                    "functions.f.code",
		`{"f":{"code":"","language":"python"}}`:               "functions.f.language",
		`{"f":{"code":"","language":1}}`:                      "functions.f.language",
		`{"f":{"code":"","parameters":[]}}`:                   "functions.f.parameters",
		`{"f":{"code":"","description":"x"}}`:                 "functions.f.description",
		`{"` + strings.Repeat("f", 201) + `":{"code":""}}`:    "functions.fff",
		`{"f":{"code":"` + strings.Repeat("x", 1<<20) + `"}}`: "too large",
	} {
		err := c.Deploy(t.Context(), "a", object(t, text))
		problem, ok := errors.AsType[*errs.Error](err)
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case want == "":
		case !ok:
			t.Errorf("%.80s: %v", text, err)
		case want == "too large":
			if problem.Code != errs.PayloadTooLarge {
				t.Errorf("%.80s: %v", text, problem.Code)
			}
		case len(problem.Fields) != 1 || !strings.HasPrefix(problem.Fields[0].Field, want):
			t.Errorf("%.80s: %v, want %s", text, problem.Fields, want)
		}
	}
	if err := c.Deploy(t.Context(), "a", nil); err == nil {
		t.Error("nothing was deployed")
	}
}
