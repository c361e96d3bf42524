package archive

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxName is the longest name of an entry in bytes.
const maxName = 255

// nameProblem says what is wrong with the name of an entry by itself.
func nameProblem(name string) string {
	switch {
	case name == "":
		return "it has no name"
	case len(name) > maxName:
		return "its name is longer than 255 bytes"
	case !utf8.ValidString(name):
		return "its name is not UTF-8"
	case strings.Contains(name, `\`):
		return `its name has a \; folders are separated by /`
	case strings.ContainsFunc(name, unseen):
		return "its name has a control character"
	case strings.HasPrefix(name, "/"):
		return "its name begins with /"
	}
	for segment := range strings.SplitSeq(strings.TrimSuffix(name, "/"), "/") {
		if problem := segmentProblem(segment); problem != "" {
			return problem
		}
	}
	return ""
}

func segmentProblem(segment string) string {
	switch {
	case segment == "":
		return "its name has an empty part"
	case segment == ".", segment == "..":
		return "its name has a part that is . or .."
	case len(segment) > 1 && segment[1] == ':' && unicode.IsLetter(rune(segment[0])):
		return "its name has the letter of a drive"
	}
	return ""
}

// unseen tells whether a rune acts on a terminal, or on the direction of the text around it.
func unseen(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// distinct checks that no two entries have names that some file system takes for the same, and that no file is used as a
// folder.
func (z *container) distinct(entries []entry) error {
	fold := cases.Fold()
	folders := make(map[string]bool, len(entries)) // by folded name, whether it is a folder
	for _, e := range entries {
		key := folded(fold, strings.TrimSuffix(e.name, "/"))
		if _, taken := folders[key]; taken {
			return z.refuse(e.name, "another entry has the same name, or one that differs only by case")
		}
		folders[key] = e.dir
	}
	for _, e := range entries {
		key := folded(fold, strings.TrimSuffix(e.name, "/"))
		for i, b := range []byte(key) {
			if b != '/' {
				continue
			}
			if folder, known := folders[key[:i]]; known && !folder {
				return z.refuse(e.name, "it is inside a file")
			}
		}
	}
	return z.budget.inTime()
}

// Fold is the same for two paths that some file system takes for the same: they differ only by case, or by how Unicode
// writes a letter. Two such documents cannot travel in one archive.
func Fold(path string) string { return folded(cases.Fold(), path) }

func folded(fold cases.Caser, path string) string {
	if !strings.ContainsFunc(path, func(r rune) bool { return r > unicode.MaxASCII }) {
		return strings.ToLower(path)
	}
	return norm.NFKC.String(fold.String(norm.NFKC.String(path)))
}
