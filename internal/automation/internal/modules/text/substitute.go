package text

import (
	"strings"

	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
)

// Substitute is {content, pattern, replacement, literal, ignoreCase, global, multiline}: the text with what the pattern finds
// replaced, line by line. Without global it is only the first in each line. With multiline the text is searched as one, so that
// what is found may go over lines. In the replacement $1 is a group, $& the whole, and $$ a dollar; a literal one means itself.
func Substitute(w *Watch, parameters *value.Object) (any, error) {
	p := params.Read("text.substitute", parameters)
	content, compiled := p.Text("content", maxContent), readPattern(p)
	r := replacer{watch: w, pattern: compiled, by: p.OptionalText("replacement", "", maxContent)}
	r.literal, r.all = p.Bool("literal", false), p.Bool("global", true)
	whole := p.Bool("multiline", false)
	if strings.Count(content, "\n") >= maxLines {
		p.Refuse("content", "has more than %d lines", maxLines)
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if whole {
		err := r.replace(content)
		return r.out.String(), err
	}
	for line := range strings.Lines(content) {
		text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		if err := r.replace(text); err != nil {
			return nil, err
		}
		r.out.WriteString(line[len(text):])
	}
	return r.out.String(), nil
}

// replacer writes a text with what a pattern finds replaced.
type replacer struct {
	watch        *Watch
	pattern      *pattern
	by           string
	literal, all bool
	out          strings.Builder
}

func (r *replacer) replace(text string) error {
	at, from, more := 0, 0, true
	for more {
		found, err := r.pattern.find(r.watch, text, from)
		if err != nil {
			return err
		}
		if found == nil {
			break
		}
		r.out.WriteString(text[at:found[0]])
		if r.literal {
			r.out.WriteString(r.by)
		} else {
			r.expand(text, found)
		}
		if r.out.Len() > maxResult {
			return tooMuch("substitute")
		}
		at = found[1]
		from, more = after(text, found)
		more = more && r.all
	}
	r.out.WriteString(text[at:])
	return nil
}

// expand writes the replacement with groups where it asks for them.
func (r *replacer) expand(text string, found []int) {
	by := r.by
	for r.out.Len() <= maxResult { // beyond it, nobody will read the rest
		at := strings.IndexByte(by, '$')
		if at < 0 || at+1 == len(by) {
			r.out.WriteString(by)
			return
		}
		r.out.WriteString(by[:at])
		by = by[at+1:]
		switch by[0] {
		case '$':
			r.out.WriteByte('$')
			by = by[1:]
		case '&':
			r.out.WriteString(text[found[0]:found[1]])
			by = by[1:]
		default:
			group, length := groupOf(by, len(found)/2) // each has a beginning and an end
			if length == 0 {
				r.out.WriteByte('$')
			} else if found[2*group] >= 0 {
				r.out.WriteString(text[found[2*group]:found[2*group+1]])
			}
			by = by[length:]
		}
	}
}

// groupOf reads the number of a group, of at most two digits, and how long it is: 0 when there is no such group.
func groupOf(text string, count int) (group, length int) {
	for length < min(2, len(text)) && text[length] >= '0' && text[length] <= '9' {
		next := group*10 + int(text[length]-'0')
		if next >= count {
			break
		}
		group = next
		length++
	}
	if group == 0 {
		return 0, 0
	}
	return group, length
}
