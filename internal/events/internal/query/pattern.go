package query

import (
	"regexp"
	"strings"
)

// maxPattern is the longest pattern, in bytes.
const maxPattern = 500

// pattern is a text with wildcards. Matching takes time in proportion to the text, whatever the pattern is.
type pattern struct {
	pieces []string
	// general matches what pieces cannot: single unknown characters.
	general *regexp.Regexp
	fold    bool
}

// starred makes a pattern in which * is any text.
func starred(text string) pattern { return pattern{pieces: strings.Split(text, "*")} }

// globbed makes a pattern in which * is any text, ? is any character, and \ takes the meaning from what follows.
func globbed(text string, fold bool) pattern {
	if !strings.ContainsAny(text, `?\`) && !fold {
		return starred(text)
	}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '*':
			b.WriteString(`.*`)
		case c == '?':
			b.WriteString(`.`)
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteString(quoted(text, &i))
		default:
			b.WriteString(quoted(text, &i))
		}
	}
	b.WriteString(`$`)
	options := ""
	if fold {
		options = `(?i)`
	}
	general, err := regexp.Compile(options + b.String())
	if err != nil { // cannot be: everything in it is quoted
		return starred(text)
	}
	return pattern{general: general, fold: fold}
}

// quoted takes the literal text from i up to the next character with a meaning, and leaves i at its last byte.
func quoted(text string, i *int) string {
	end := *i + 1
	for end < len(text) && !strings.ContainsRune(`*?\`, rune(text[end])) {
		end++
	}
	literal := text[*i:end]
	*i = end - 1
	return regexp.QuoteMeta(literal)
}

func (p pattern) match(text string) bool {
	if p.general != nil {
		return p.general.MatchString(text)
	}
	first, last := p.pieces[0], p.pieces[len(p.pieces)-1]
	if len(p.pieces) == 1 {
		return text == first
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, piece := range p.pieces[1 : len(p.pieces)-1] {
		found := strings.Index(text, piece)
		if found < 0 {
			return false
		}
		text = text[found+len(piece):]
	}
	return true
}

// Starred tells which texts fit a pattern in which * is any text.
func Starred(text string) func(text string) bool { return starred(text).match }
