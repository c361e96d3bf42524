// Package dsul reads the definition documents of a workspace: index, security, automations, pages and app instances. It
// decodes hostile texts safely, says in plain words what is wrong and where, and resolves references between documents.
// It does no I/O and keeps every text byte for byte.
package dsul

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Kind tells what a document defines. Kinds of which a workspace has many are named as their folder.
type Kind string

// The kinds of documents.
const (
	Index      Kind = "index"
	Security   Kind = "security"
	Automation Kind = "automations"
	Page       Kind = "pages"
	Import     Kind = "imports"
)

// The limits of a slug: what one may have, and where a generated one is cut.
const (
	maxSlug       = 100
	generatedSlug = 20
)

var slugPattern = regexp.MustCompile(`^[/a-zA-Z0-9 _-]+$`) //nolint:gochecknoglobals // compiled once

// Single tells whether a workspace has exactly one document of this kind.
func (k Kind) Single() bool { return k == Index || k == Security }

// Known tells whether the kind is one of the five.
func (k Kind) Known() bool {
	return k.Single() || k == Automation || k == Page || k == Import
}

// Path is where a document stands in its workspace, without an extension: "index", "automations/hello".
func Path(kind Kind, slug string) string {
	if kind.Single() {
		return string(kind)
	}
	return string(kind) + "/" + slug
}

// SplitPath is the reverse of Path. It refuses unknown kinds and slugs that are not valid.
func SplitPath(path string) (kind Kind, slug string, ok bool) {
	folder, slug, nested := strings.Cut(path, "/")
	kind = Kind(folder)
	switch {
	case !kind.Known(), kind.Single() == nested:
		return "", "", false
	case kind.Single():
		return kind, "", true
	case !ValidSlug(slug):
		return "", "", false
	}
	return kind, slug, true
}

// ValidSlug tells whether an automation, a page or an app instance may have this slug: letters, digits, spaces, _ and -, in
// segments separated by /. No segment is empty, begins or ends with a space, or is the name of a folder's index.
func ValidSlug(slug string) bool {
	if len(slug) > maxSlug || !slugPattern.MatchString(slug) {
		return false
	}
	for segment := range strings.SplitSeq(slug, "/") {
		if segment == "" || strings.TrimSpace(segment) != segment || segment == "__index__" {
			return false
		}
	}
	return true
}

// Slug makes a slug from a name: without diacritics and special characters, at most 20 long, and with the first counter
// that makes it free when it is taken.
func Slug(name string, taken func(string) bool) string {
	var kept strings.Builder
	for _, r := range norm.NFD.String(name) {
		if r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" _-", r)) {
			kept.WriteRune(r)
		}
	}
	base := strings.TrimSpace(kept.String())
	base = strings.TrimSpace(base[:min(len(base), generatedSlug)])
	if !ValidSlug(base) {
		base = "untitled"
	}
	slug := base
	for n := 1; taken(slug); n++ {
		slug = base + "-" + strconv.Itoa(n)
	}
	return slug
}
