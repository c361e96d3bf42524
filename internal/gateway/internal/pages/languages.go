package pages

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/language"
)

// Language is a language that the pages speak. To add one, add its file to the messages.
type Language struct {
	Code string
	// Name is what its speakers call it.
	Name string
}

// fallback is the language of those who ask for none that the pages speak; its catalogue is the one that is complete.
const fallback = "en"

// nameKey is the text with the language's own name.
const nameKey = "language.name"

func readCatalogues() (map[string]catalogue, []Language, error) {
	entries, err := fs.ReadDir(files, "messages")
	if err != nil {
		return nil, nil, err
	}
	words, languages := map[string]catalogue{}, []Language(nil)
	for _, entry := range entries {
		text, err := fs.ReadFile(files, path.Join("messages", entry.Name()))
		if err != nil {
			return nil, nil, err
		}
		c := catalogue{}
		if err := json.Unmarshal(text, &c); err != nil {
			return nil, nil, fmt.Errorf("read %s: %w", entry.Name(), err)
		}
		code := strings.TrimSuffix(entry.Name(), ".json")
		words[code] = c
		languages = append(languages, Language{Code: code, Name: c[nameKey]})
	}
	for _, c := range words {
		for key, text := range words[fallback] {
			if c[key] == "" {
				c[key] = text // better in English than not at all
			}
		}
	}
	slices.SortFunc(languages, func(a, b Language) int { return strings.Compare(a.Code, b.Code) })
	return words, languages, nil
}

// known is the code of a language that the pages speak, given one in any form, such as fr-CA; empty when they do not.
func (s *Site) known(wanted string) string {
	base, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(wanted)), "-")
	if _, ok := s.words[base]; ok {
		return base
	}
	return ""
}

// choose takes the language that was clicked, then the one that the client asked for, then the one of the browser.
func (s *Site) choose(query url.Values, accepted string) string {
	if lang := s.known(query.Get("lang")); lang != "" {
		return lang
	}
	for wanted := range strings.FieldsSeq(query.Get("ui_locales")) {
		if lang := s.known(wanted); lang != "" {
			return lang
		}
	}
	tags, _, err := language.ParseAcceptLanguage(accepted)
	if err != nil {
		return fallback
	}
	for _, tag := range tags {
		if lang := s.known(tag.String()); lang != "" {
			return lang
		}
	}
	return fallback
}
