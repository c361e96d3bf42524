package dsul

import (
	"fmt"
	"strings"

	"atelier/internal/errs"
)

// The two severities of a problem: what stops a write, and what is only reported.
const (
	SeverityError   = "error"
	SeverityWarning = "warning"
)

// maxShown bounds how many problems an API error names.
const maxShown = 100

// Problem is one finding in a document, the same for API errors, lint and imports.
type Problem struct {
	Document string `json:"document,omitempty" doc:"The document, such as automations/hello."`
	Path     string `json:"path" doc:"Where inside the document, such as do[0].set.name."`
	Line     int    `json:"line,omitempty" doc:"The line in the text, from 1."`
	Column   int    `json:"column,omitempty" doc:"The column in the line, from 1."`
	Severity string `json:"severity" enum:"error,warning" doc:"An error stops a write; a warning does not."`
	Code     string `json:"code" doc:"A short stable name of what is wrong, such as unknown_key."`
	Message  string `json:"message" doc:"What is wrong and what is allowed."`
}

// Problems is a list of findings, in the order of the text.
type Problems []Problem

// Errors gives the problems that stop a write.
func (p Problems) Errors() Problems { return p.of(SeverityError) }

// Warnings gives the problems that are only reported.
func (p Problems) Warnings() Problems { return p.of(SeverityWarning) }

func (p Problems) of(severity string) Problems {
	var some Problems
	for _, problem := range p {
		if problem.Severity == severity {
			some = append(some, problem)
		}
	}
	return some
}

// Err is the API error for the problems, nil when there is no error among them.
func (p Problems) Err() error {
	wrong := p.Errors()
	if len(wrong) == 0 {
		return nil
	}
	fields := make([]errs.Field, 0, min(len(wrong), maxShown))
	for _, problem := range wrong[:min(len(wrong), maxShown)] {
		message := problem.Message
		if problem.Line > 0 {
			message = fmt.Sprintf("line %d: %s", problem.Line, message)
		}
		fields = append(fields, errs.Field{Field: shortened(problem.Path), Message: message})
	}
	failure := errs.Invalid(fields...)
	if len(wrong) > maxShown {
		failure = failure.With("more", len(wrong)-maxShown)
	}
	return failure
}

// shortened keeps a name that the client chose from making the answer as large as the request.
func shortened(name string) string {
	const longest = 200
	if len(name) <= longest {
		return name
	}
	return strings.ToValidUTF8(name[:longest], "") + "…"
}

// Refused are the problems that somebody else found in the document, such as the keeper of roles and rules, by the code:
// one for each field that the error names, where it stands in the text. None when there is no error.
func (d *Document) Refused(code string, err error) (problems Problems) {
	if err == nil {
		return nil
	}
	fields := errs.From(err).Fields
	if len(fields) == 0 {
		fields = []errs.Field{{Message: errs.From(err).Message}}
	}
	for _, field := range fields {
		problem := Problem{Document: d.Path(), Path: field.Field, Severity: SeverityError, Code: code, Message: field.Message}
		problem.Line, problem.Column = d.place(field.Field)
		problems = append(problems, problem)
	}
	return problems
}

// place finds the line of a path such as authorizations.rules[0].action, or of the nearest value around it.
func (d *Document) place(field string) (line, column int) {
	steps := strings.FieldsFunc(field, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
	for ; len(steps) > 0; steps = steps[:len(steps)-1] {
		if n := d.Get(steps...); n != nil {
			return n.Line, n.Column
		}
	}
	return 0, 0
}
