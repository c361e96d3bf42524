package definitions

import (
	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
	"atelier/internal/errs"
)

// withSection is the index with another value at a path, or none.
func withSection(index *dsul.Document, value []byte, path []string) (*dsul.Document, error) {
	text := index.Text
	if value == nil {
		if index.Get(path...) == nil {
			return nil, errs.Missing(path[0], path[len(path)-1])
		}
		without, err := splice.Delete(text, path)
		if err != nil {
			return nil, misplaced(err, path...)
		}
		text = without
	} else {
		given, problems := dsul.FromJSON(dsul.Index, "", append(append([]byte(`{"value":`), value...), '}'))
		if err := problems.Err(); err != nil {
			return nil, err
		}
		with, err := splice.Set(text, path, given.Get("value"))
		if err != nil {
			return nil, misplaced(err, path...)
		}
		text = with
	}
	return checkedIndex(text, path[0])
}

// checkedIndex parses a changed index and checks the field that was changed.
func checkedIndex(text []byte, field string) (*dsul.Document, error) {
	doc, problems := dsul.Parse(dsul.Index, "", text)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return doc, checked(doc, Write{Kind: dsul.Index}, []string{field})
}

// withConfig is the index with other parts of its configuration.
func withConfig(index *dsul.Document, body []byte) (*dsul.Document, error) {
	given, problems := dsul.FromJSON(dsul.Index, "", body)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	text := index.Text
	for i := 0; i+1 < len(given.Root.Content); i += 2 {
		path, value := []string{"config", given.Root.Content[i].Value}, given.Root.Content[i+1]
		var err error
		switch {
		case value.Tag != "!!null":
			text, err = splice.Set(text, path, value)
		case index.Get(path...) != nil:
			text, err = splice.Delete(text, path)
		}
		if err != nil {
			return nil, misplaced(err, path...)
		}
	}
	return checkedIndex(text, "config")
}
