package expr

import (
	"strings"

	"atelier/internal/dsul/expr/value"
)

// CompileTemplate makes a program of a template. A template that is one variable or expression has its value; any other
// one is a text, in which null and undefined are empty and lists and objects are JSON. Data is put in as it is: what looks
// like a variable in it stays what it is.
func CompileTemplate(t *Template) (Program, error) {
	return compileTemplate(t, textKeys)
}

// CompileKnown makes a program of a template that leaves variables alone that do not exist: they stay as they are written.
func CompileKnown(t *Template) (Program, error) {
	return compileTemplate(t, leaveKeys)
}

func compileTemplate(t *Template, missing keys) (Program, error) {
	parts := make([]step, len(t.Parts))
	for i, part := range t.Parts {
		var err error
		if parts[i], err = compileTemplatePart(t, part, missing); err != nil {
			return Program{}, err
		}
	}
	if _, ok := t.Whole(); ok {
		return Program{parts[0]}, nil
	}
	at := &Text{}
	return Program{func(s *state) (any, error) {
		var some [8]string // most templates have no more
		texts := some[:0]
		for _, part := range parts {
			v, err := part(s)
			if err != nil {
				return nil, err
			}
			text, err := s.text(at, v)
			if err != nil {
				return nil, err
			}
			texts = append(texts, text)
		}
		return s.concat(texts), nil
	}}, nil
}

// concat puts texts together. A large one is announced first and made bit by bit: a copy of megabytes in one piece keeps the whole
// process from doing anything that all threads take part in.
func (s *state) concat(texts []string) string {
	const large, bit = 1 << 20, 256 << 10
	total := 0
	for _, text := range texts {
		total += len(text)
	}
	if total >= large && s.env.Large != nil {
		s.env.Large(total)
	}
	var out strings.Builder
	out.Grow(total)
	for _, text := range texts {
		for len(text) > bit {
			out.WriteString(text[:bit])
			text = text[bit:]
			s.worked()
		}
		out.WriteString(text)
	}
	return out.String()
}

// worked tells that a bit of something large is done.
func (s *state) worked() {
	if s.env.Large != nil {
		s.env.Large(0)
	}
}

func compileTemplatePart(t *Template, part Part, missing keys) (step, error) {
	if part.Node == nil {
		text := any(part.Text) // boxed once
		return func(*state) (any, error) { return text, nil }, nil
	}
	variable, ok := part.Node.(*Variable)
	if !ok || t.isExpression(part) {
		return compile(part.Node)
	}
	run, err := compileVariable(variable, missing)
	if missing != leaveKeys || err != nil {
		return run, err
	}
	source := t.Source[part.Start:part.End]
	return func(s *state) (any, error) {
		v, err := run(s)
		if err == nil && v == any(value.Undefined{}) {
			return source, nil
		}
		return v, err
	}, nil
}

// isExpression says that a part stands in {% %}.
func (t *Template) isExpression(part Part) bool {
	return strings.HasPrefix(t.Source[part.Start:], "{%")
}
