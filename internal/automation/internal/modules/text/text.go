// Package text is the module text: addresses taken apart, texts cut into chunks, searched, changed and compared. Texts come from
// anywhere, so that every function is bounded in what it takes, in how long it works and in what it gives.
package text

import (
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

const (
	// maxContent is the longest text that a function takes, in bytes.
	maxContent = 10 << 20
	// maxResult is the longest text, or list of texts, that a function gives, in bytes.
	maxResult = 32 << 20
	// maxLines is how many lines a text may have that is searched, changed or compared line by line.
	maxLines = 500_000
)

// Functions are the functions of the module.
func Functions() map[string]func(f *machine.Frame, parameters *value.Object) (any, error) {
	return map[string]func(f *machine.Frame, parameters *value.Object) (any, error){
		"parseUrl":   plain(ParseURL),
		"splitText":  plain(Split),
		"search":     timed(Search),
		"substitute": timed(Substitute),
		"diff":       plain(Diff),
		"applyPatch": plain(ApplyPatch),
	}
}

func plain(do func(parameters *value.Object) (any, error)) func(*machine.Frame, *value.Object) (any, error) {
	return func(_ *machine.Frame, parameters *value.Object) (any, error) { return do(parameters) }
}

// timed is a function that stops with the run, and when it has worked for too long.
func timed(do func(w *Watch, parameters *value.Object) (any, error)) func(*machine.Frame, *value.Object) (any, error) {
	return func(f *machine.Frame, parameters *value.Object) (any, error) {
		return do(NewWatch(f.Context(), f.Machine().Clock), parameters)
	}
}

// tooMuch is a result that is too large.
func tooMuch(function string) error {
	return machine.Fail(machine.QuotaExceeded, "text."+function+": the result is too large; give less text, or smaller numbers.").
		With(machine.Payload("limit", float64(maxResult)))
}
