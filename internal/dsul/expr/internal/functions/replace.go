package functions

import (
	"strings"

	"atelier/internal/dsul/expr/internal/pattern"
	"atelier/internal/dsul/expr/value"
)

// replace(text, what, by) replaces the first occurrence of a text. Of a regular expression it replaces the first one too,
// or all of them with the flag g; $1 or $& in what comes instead are then a group or the whole that was found.
func runReplace(c *Call) (any, error) {
	text, err := c.text(0)
	if err != nil {
		return nil, err
	}
	by := value.String(c.arg(2)) // the third argument
	if err := c.Budget.Spend(len(text) + len(by)); err != nil {
		return nil, err
	}
	switch what := c.arg(1).(type) {
	case string:
		return strings.Replace(text, what, by, 1), nil
	case *pattern.Pattern:
		return c.replacePattern(text, what, by)
	default:
		return nil, c.wrong(1, "a text or regex(...)")
	}
}

func (c *Call) replacePattern(text string, what *pattern.Pattern, by string) (any, error) {
	if err := c.Budget.Search(what, text); err != nil {
		return nil, err
	}
	found, err := what.Find(text, c.Budget.Left/(itemCost+len(by))+1) // with more the budget is gone anyhow
	if err != nil {
		return nil, err
	}
	var out strings.Builder
	at := 0
	for _, match := range found {
		piece := expand(by, text, match)
		if err := c.Budget.Spend(len(piece) + itemCost); err != nil {
			return nil, err
		}
		out.WriteString(text[at:match[0]])
		out.WriteString(piece)
		at = match[1]
	}
	out.WriteString(text[at:])
	return out.String(), nil
}

// expand puts groups where the replacement asks for them: $1, $& and $$.
func expand(by, text string, match []int) string {
	if !strings.Contains(by, "$") {
		return by
	}
	var out strings.Builder
	for {
		at := strings.IndexByte(by, '$')
		if at < 0 || at+1 == len(by) {
			out.WriteString(by)
			return out.String()
		}
		out.WriteString(by[:at])
		group, length := groupOf(by[at+1:], len(match)/2) // a start and an end each
		switch {
		case length == 0:
			out.WriteByte('$')
		case group < 0:
			out.WriteByte('$')
			length = 1
		case match[2*group] >= 0:
			out.WriteString(text[match[2*group]:match[2*group+1]])
		}
		by = by[at+1+length:]
	}
}

// groupOf reads the number of a group behind a $, and how long it is: 0 when it is none, -1 for a second $.
func groupOf(text string, groups int) (group, length int) {
	switch text[0] {
	case '$':
		return -1, 1
	case '&':
		return 0, 1
	}
	n := 0
	for length < min(2, len(text)) && text[length] >= '0' && text[length] <= '9' {
		next := n*10 + int(text[length]-'0')
		if next >= groups {
			break
		}
		n = next
		length++
	}
	if n == 0 {
		return 0, 0
	}
	return n, length
}
