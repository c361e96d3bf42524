package gitcmd

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxFolder     = 500
	maxFolderPart = 100
	maxPath       = 4096
)

const (
	errBranchForm = refusedError("A branch is written with letters, digits and . _ - /, begins with a letter or digit, and has at most 200 characters.")
	errBranchGit  = refusedError("Git does not allow this name: no part may begin or end with a dot or end with .lock, and .. and // must not occur.")
	errBranchRef  = refusedError("This name means something else to Git; write the branch alone, such as main.")
	errBranchOurs = refusedError("Branches that begin with svc/ are kept for the workspaces themselves; choose another one.")
	errTagForm    = refusedError("A tag is written with letters, digits and . _ - /, begins with a letter or digit, and has at most 200 characters.")
	errFolder     = refusedError("The folder is written like a/b: letters, digits, spaces and . _ - + @, no slash at the beginning or end, at most 500 characters.")
	errFolderUp   = refusedError("The folder must lie inside of the repository: . and .. are not allowed in it.")
	errFolderGit  = refusedError("The folder must not be named like Git's own, .git.")
)

//nolint:gochecknoglobals // compiled once, never changed
var (
	nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._/-]{0,199}$`)
	hexForm  = regexp.MustCompile(`^[0-9a-f]{40}$`)
	refForm  = regexp.MustCompile(`^refs/[!-~]{1,240}$`)
)

// CheckBranch tells whether a branch may be named so. The error is a sentence for the user.
func CheckBranch(name string) error {
	if !nameForm.MatchString(name) {
		return errBranchForm
	}
	lower := strings.ToLower(name)
	if lower == "svc" || strings.HasPrefix(lower, "svc/") { // a branch svc would leave no room for svc/x
		return errBranchOurs
	}
	return checkName(name)
}

// CheckTag tells whether a tag may be named so. The error is a sentence for the user.
func CheckTag(name string) error {
	if !nameForm.MatchString(name) {
		return errTagForm
	}
	return checkName(name)
}

func checkName(name string) error {
	switch {
	case strings.HasPrefix(name, "refs/"), strings.HasSuffix(name, "HEAD"), hexForm.MatchString(name):
		return errBranchRef
	case !gitAllows(name):
		return errBranchGit
	}
	return nil
}

// gitAllows are the rules of git check-ref-format.
func gitAllows(name string) bool {
	if strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, ".") || strings.ContainsAny(name, " ~^:?*[\\\x7f") {
		return false
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(name, unicode.IsControl)
}

// checkRef lets the full name of a ref pass.
func checkRef(ref string) error {
	if !refForm.MatchString(ref) || !gitAllows(ref) {
		return refusedError("This is not the full name of a ref.")
	}
	return nil
}

func isObject(text string) bool { return hexForm.MatchString(text) }

func checkObjects(objects ...string) error {
	for _, object := range objects {
		if !isObject(object) {
			return refusedError("This is not the name of an object.")
		}
	}
	return nil
}

// CheckFolder tells whether a folder of a repository may be named so; the empty name is its root. The error is a sentence
// for the user.
func CheckFolder(path string) error {
	if path == "" {
		return nil
	}
	if len(path) > maxFolder || !utf8.ValidString(path) {
		return errFolder
	}
	for part := range strings.SplitSeq(path, "/") {
		if err := checkFolderPart(part); err != nil {
			return err
		}
	}
	return nil
}

func checkFolderPart(part string) error {
	switch {
	case part == "." || part == "..":
		return errFolderUp
	case likeDotGit(part):
		return errFolderGit
	case part == "" || len(part) > maxFolderPart || part != strings.TrimSpace(part) || strings.HasSuffix(part, "."):
		return errFolder
	case strings.ContainsFunc(part, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && !strings.ContainsRune(" ._-+@", r)
	}):
		return errFolder
	}
	return nil
}

// likeDotGit tells whether some file system would take the name for .git.
func likeDotGit(part string) bool {
	visible := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, part)
	name, _, _ := strings.Cut(strings.TrimRight(visible, " ."), ":")
	return name == ".git" || name == "git~1"
}

// checkPath lets the path of a file of a commit pass.
func checkFilePath(path string) error {
	if path == "" || len(path) > maxPath || strings.ContainsRune(path, 0) {
		return refusedError("This is not the path of a file.")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || likeDotGit(part) {
			return refusedError("This is not the path of a file of a repository.")
		}
	}
	return nil
}
