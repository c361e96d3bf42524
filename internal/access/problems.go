package access

import (
	"fmt"

	"atelier/internal/errs"
)

// problems collects what is wrong with a document, each with its place.
type problems struct{ fields []errs.Field }

// enough is how many problems are told at once; who has more begins with these.
const enough = 50

func (p *problems) add(path, format string, args ...any) {
	if len(p.fields) < enough {
		p.fields = append(p.fields, errs.Field{Field: path, Message: fmt.Sprintf(format, args...)})
	}
}

func (p *problems) err() error {
	if len(p.fields) == 0 {
		return nil
	}
	return errs.Invalid(p.fields...)
}

// under joins a path and a key.
func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

// at joins a path and an index.
func at(path string, index int) string { return fmt.Sprintf("%s[%d]", path, index) }
