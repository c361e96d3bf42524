package store

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
)

// fold is how a text is stored to be found, and how what is looked for is written: case does not matter, for any letter. It
// is done here because engines fold each in their own way.
func fold(text string) string { return strings.ToLower(line(text)) }

// line is a text on one line, without what a database cannot hold.
func line(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == 0 {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
}

// searchable puts texts together, each on a line, so that nothing is found across two of them.
func searchable(texts ...string) string {
	folded := make([]string, 0, len(texts))
	for _, text := range texts {
		if text != "" {
			folded = append(folded, fold(text))
		}
	}
	return strings.Join(folded, "\n")
}

// containing is the pattern of what has a text in it, for LIKE ... ESCAPE '!' on a folded column.
func containing(text string) string { return "%" + sqldb.EscapeLike(fold(text)) + "%" }

// textsIn gives what a JSON value says to people: a text, or texts by language.
func textsIn(value []byte) []string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return []string{text}
	}
	var byLanguage map[string]json.RawMessage
	if json.Unmarshal(value, &byLanguage) != nil {
		return nil
	}
	var texts []string
	for _, language := range slices.Sorted(maps.Keys(byLanguage)) {
		var text string
		if json.Unmarshal(byLanguage[language], &text) == nil {
			texts = append(texts, text)
		}
	}
	return texts
}

// searchOf is what a search for workspaces looks at besides the slug, which has no upper case.
func searchOf(w workspaces.Workspace) string {
	if !w.Localized {
		return searchable(w.Name, w.Description)
	}
	return searchable(append(textsIn([]byte(w.Description)), w.Name)...)
}

// asked is what lists ask of a document: the columns that its summary fills.
type asked struct{ search, labels, appSlug string }

func (d Document) asked() asked {
	var summary struct {
		Name        json.RawMessage `json:"name"`
		Slug        string          `json:"slug"`
		Description json.RawMessage `json:"description"`
		Labels      []string        `json:"labels"`
		AppSlug     string          `json:"appSlug"`
		AppName     string          `json:"appName"`
	}
	_, slug, _ := strings.Cut(d.Path, "/")
	if json.Unmarshal([]byte(d.Summary), &summary) != nil {
		return asked{search: searchable(slug)}
	}
	texts := []string{slug, summary.Slug, summary.AppSlug, summary.AppName}
	texts = append(texts, textsIn(summary.Name)...)
	texts = append(texts, textsIn(summary.Description)...)
	texts = append(texts, summary.Labels...)
	return asked{search: searchable(texts...), labels: onLines(summary.Labels), appSlug: summary.AppSlug}
}

// onLines writes labels each on a line of its own, with a line break on both sides, so that one is found by a whole line.
func onLines(labels []string) string {
	var b strings.Builder
	for _, label := range labels {
		b.WriteString("\n" + line(label) + "\n")
	}
	return b.String()
}
