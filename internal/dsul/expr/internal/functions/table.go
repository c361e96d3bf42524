// Package functions holds the functions of the expression language: one file each, and one line each in the table.
package functions

// Function is one of them.
type Function struct {
	Name  string
	Run   func(*Call) (any, error)
	Regex bool // an argument may be regex(...)
	Named bool // a text that is written as an argument is the path of a variable
}

// table is in alphabetical order.
func table() []Function {
	return []Function{
		{Name: "URL", Run: runURL},
		{Name: "URLSearchParams", Run: runURLSearchParams},
		{Name: "base64", Run: runBase64},
		{Name: "ceil", Run: runCeil},
		{Name: "date", Run: runDate},
		{Name: "deepmerge", Run: runDeepmerge},
		{Name: "elapsed", Run: runElapsed},
		{Name: "floor", Run: runFloor},
		{Name: "isArray", Run: runIsArray, Named: true},
		{Name: "isNumber", Run: runIsNumber},
		{Name: "isObject", Run: runIsObject, Named: true},
		{Name: "isString", Run: runIsString},
		{Name: "join", Run: runJoin},
		{Name: "json", Run: runJSON},
		{Name: "jsonmatch", Run: runJSONMatch},
		{Name: "lower", Run: runLower},
		{Name: "max", Run: runMax},
		{Name: "min", Run: runMin},
		{Name: "number", Run: runNumber},
		{Name: "rand", Run: runRand},
		{Name: "replace", Run: runReplace, Regex: true},
		{Name: "round", Run: runRound},
		{Name: "sanitize", Run: runSanitize},
		{Name: "slice", Run: runSlice},
		{Name: "split", Run: runSplit},
		{Name: "truncate", Run: runTruncate},
		{Name: "unsafejson", Run: runUnsafeJSON},
		{Name: "upper", Run: runUpper},
		{Name: "uuid", Run: runUUID},
	}
}

// Find returns a function by its name.
func Find(name string) (Function, bool) {
	for _, f := range table() {
		if f.Name == name {
			return f, true
		}
	}
	return Function{}, false
}

// Names lists all of them, in alphabetical order.
func Names() []string {
	all := table()
	names := make([]string, len(all))
	for i, f := range all {
		names[i] = f.Name
	}
	return names
}
