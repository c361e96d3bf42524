package dsul

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
)

var yamlLine = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?((?s).*)$`) //nolint:gochecknoglobals // compiled once

// syntaxProblem turns the library's error into a problem: where it is, and what to do about it in plain words.
func syntaxProblem(text []byte, err error) *Problem {
	parts := yamlLine.FindStringSubmatch(err.Error())
	problem := &Problem{Code: "bad_yaml", Message: plainWords(parts[2])}
	if strings.Contains(parts[2], "exceeded max depth") {
		problem.Code = "too_deep"
	}
	line, _ := strconv.Atoi(parts[1])
	if line == 0 {
		line = 1
	}
	problem.Line, problem.Column = line, indentOf(text, line)
	return problem
}

// indentOf is the column where a line's content begins. The library says no more than the line.
func indentOf(text []byte, line int) int {
	for ; line > 1; line-- {
		end := bytes.IndexByte(text, '\n')
		if end < 0 {
			return 1
		}
		text = text[end+1:]
	}
	if end := bytes.IndexByte(text, '\n'); end >= 0 {
		text = text[:end]
	}
	return len(text) - len(bytes.TrimLeft(text, " \t")) + 1
}

// plainWords explains the messages people meet most.
func plainWords(message string) string {
	for _, known := range [...]struct{ theirs, ours string }{
		{"mapping values are not allowed", "a key with \": \" cannot stand here; check the indentation, or put a text that contains \": \" in quotes"},
		{"cannot start any token", "no value can begin with this character; indent with spaces instead of tabs, and put texts that begin with @, ` or % in quotes"},
		{"found a tab character", "lines are indented with spaces, not with tabs"},
		{"could not find expected ':'", "a \": \" is missing after a key, or a quote is not closed"},
		{"did not find expected key", "a key is expected here; check the indentation, and put texts that contain quotes or begin with { or [ in quotes"},
		{"did not find expected '-' indicator", "an item of the list, beginning with \"- \", is expected here; check the indentation"},
		{"did not find expected ',' or '}'", "a , or a } is expected here; put texts that begin with { in quotes"},
		{"did not find expected ',' or ']'", "a , or a ] is expected here; put texts that begin with [ in quotes"},
		{"did not find expected alphabetic", "a name of letters, digits, _ and - is expected after & or *; put texts that begin with & or * in quotes"},
		{"block sequence entries are not allowed", "an item of a list cannot stand here; put it on a line of its own"},
		{"block mapping entries are not allowed", "a key cannot stand here; put it on a line of its own"},
		{"block collections are not allowed", "a list or map in block style cannot stand here; put it on a line of its own"},
		{"unexpected end of stream", "the text ends inside a quoted text"},
		{"unexpected document indicator", "a document ends (--- or ...) inside a quoted text"},
		{"unknown escape character", "this escape does not exist; write \\\\ for a backslash, or use single quotes"},
		{"invalid Unicode character", "this escape is not a character"},
		{"did not find expected hexdecimal number", "hexadecimal digits are expected in this escape"},
		{"exceeded max depth", "maps and lists nest deeper than 100 here"},
		{"undefined tag handle", "this tag is not allowed; leave it out"},
		{"found extra document start", "a second document begins here; a text holds one"},
		{"did not find expected <document start>", "the document is over here, but something follows it; check the indentation"},
	} {
		if strings.Contains(message, known.theirs) {
			return known.ours
		}
	}
	if name, ok := strings.CutPrefix(message, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		return "*" + shorten(name) + " refers to &" + shorten(name) + ", which is not defined before it"
	}
	return shorten(message)
}
