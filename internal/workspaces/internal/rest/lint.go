package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/definitions"
)

// LintRequest says what to look at besides what is stored.
type LintRequest struct {
	Documents map[string]string `json:"documents,omitempty" doc:"Drafts: texts by path, such as automations/hello, that are looked at in the place of what is stored. An empty text stands for a deleted document."`
}

// LintResult is what a linter found.
type LintResult struct {
	Valid    bool           `json:"valid" doc:"Whether there is no error."`
	Errors   int            `json:"errors" doc:"How many errors there are."`
	Warnings int            `json:"warnings" doc:"How many warnings there are."`
	Problems []dsul.Problem `json:"problems" nullable:"false" doc:"What was found, by document and line."`
}

type lintInput struct {
	InWorkspace

	Body *LintRequest
}

type lintOutput struct{ Body LintResult }

// RegisterLint adds the operation that looks for mistakes.
func RegisterLint(api *restapi.API, d *definitions.Definitions) {
	restapi.Register(api, restapi.Operation{
		ID: "lintWorkspace", Method: http.MethodPost, Path: "/v2/workspaces/{workspaceId}/lint", Tag: "Workspaces", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "Look for mistakes", Description: "Checks every document and what they refer to: automations, apps, events, blocks and secrets. Nothing is stored.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}, MaxBody: maxDocument, Once: true,
	}, func(ctx context.Context, in *lintInput) (*lintOutput, error) {
		var drafts map[string]string
		if in.Body != nil {
			drafts = in.Body.Documents
		}
		for path := range drafts {
			if _, _, ok := dsul.SplitPath(path); !ok {
				return nil, errs.Invalid(errs.Field{Field: "documents." + shortened(path), Message: "use index, security, or a folder and a slug such as automations/hello"})
			}
		}
		problems, err := d.Lint(ctx, in.WorkspaceID, drafts)
		out := &lintOutput{Body: LintResult{Problems: problems, Errors: len(problems.Errors()), Warnings: len(problems.Warnings())}}
		out.Body.Valid = out.Body.Errors == 0
		if out.Body.Problems == nil {
			out.Body.Problems = []dsul.Problem{}
		}
		return out, err
	})
}
