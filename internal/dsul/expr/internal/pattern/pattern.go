// Package pattern compiles the regular expressions of the expression language. They run in linear time, and how much one
// may cost is known before it runs.
package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const (
	// MaxSource is the longest pattern, in bytes.
	MaxSource = 1 << 10
	// MaxSize is the largest pattern once its repetitions are written out.
	MaxSize = 5_000
	// MaxSubject is the longest text that is searched, in bytes.
	MaxSubject = 1 << 20
	// maxWork bounds the steps of one search: those of a pattern times the length of the text. It is a quarter of a
	// second at the worst.
	maxWork = 1 << 24
)

// Pattern is a compiled regular expression. It is safe for concurrent use.
type Pattern struct {
	re     *regexp.Regexp
	size   int
	weight int
	all    bool
}

// Literal compiles what stands in regex(...): a pattern, a pattern in quotes, or /pattern/flags.
func Literal(raw string) (*Pattern, error) {
	source, flags := unwrap(raw)
	return Compile(source, flags)
}

// unwrap takes matching outer quotes away, then splits /source/flags.
func unwrap(raw string) (source, flags string) {
	if n := len(raw); n >= 2 && (raw[0] == '"' || raw[0] == '\'') && raw[n-1] == raw[0] {
		raw = raw[1 : n-1]
	}
	if len(raw) < 2 || raw[0] != '/' {
		return raw, ""
	}
	end := strings.LastIndexByte(raw, '/')
	if end == 0 || strings.Trim(raw[end+1:], "gimsuy") != "" {
		return raw, "" // the slashes of a path
	}
	return raw[1:end], raw[end+1:]
}

// Compile compiles a pattern with the flags that stand behind /pattern/.
func Compile(source, flags string) (*Pattern, error) {
	if len(source) > MaxSource {
		return nil, fmt.Errorf("a regular expression has at most %d bytes", MaxSource)
	}
	p := &Pattern{}
	prefix, anchored, err := p.flags(flags)
	if err != nil {
		return nil, err
	}
	text := prefix + translate(source)
	if anchored {
		text = `\A(?:` + text + `)`
	}
	if p.weight, err = weigh(text); err != nil {
		return nil, err
	}
	if p.size, err = measure(text); err != nil {
		return nil, err
	}
	if p.re, err = regexp.Compile(text); err != nil {
		return nil, explain(err)
	}
	return p, nil
}

// flags reads i, m and s, which RE2 has too; g replaces every occurrence; y ties the match to the start; u says nothing.
func (p *Pattern) flags(flags string) (prefix string, anchored bool, err error) {
	for _, flag := range flags {
		switch flag {
		case 'i', 'm', 's':
			prefix += string(flag)
		case 'g':
			p.all = true
		case 'y':
			anchored = true
		case 'u':
		default:
			return "", false, fmt.Errorf("%q is not a flag of a regular expression: use g, i, m, s, u or y", string(flag))
		}
	}
	if prefix != "" {
		prefix = "(?" + prefix + ")"
	}
	return prefix, anchored, nil
}

// Size bounds the steps that one character of a text may cost.
func (p *Pattern) Size() int { return p.size }

// Weight is what the compilation costs, in instructions.
func (p *Pattern) Weight() int { return p.size + p.weight }

// Work bounds the steps of a search in a text.
func (p *Pattern) Work(text string) int { return p.size * (len(text) + 1) }

// String is the pattern as it is compiled.
func (p *Pattern) String() string { return p.re.String() }

// Match says whether the pattern occurs in the text.
func (p *Pattern) Match(text string) (bool, error) {
	if err := p.affordable(text); err != nil {
		return false, err
	}
	return p.re.MatchString(text), nil
}

// Find returns where the pattern and its groups occur in the text, as package regexp does: the first occurrence, or all
// of them up to a limit.
func (p *Pattern) Find(text string, limit int) ([][]int, error) {
	if err := p.affordable(text); err != nil {
		return nil, err
	}
	if !p.all {
		limit = 1
	}
	return p.re.FindAllStringSubmatchIndex(text, limit), nil
}

func (p *Pattern) affordable(text string) error {
	switch {
	case len(text) > MaxSubject:
		return fmt.Errorf("a regular expression searches at most %d bytes of text", MaxSubject)
	case p.Work(text) > maxWork:
		return errors.New("this regular expression costs too much on a text this long: shorten one of them")
	}
	return nil
}
