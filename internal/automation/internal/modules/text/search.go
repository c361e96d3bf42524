package text

import (
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
)

const (
	usualFound = 1000
	maxFound   = 10_000
	maxContext = 50
)

// Search is {content, pattern, literal, ignoreCase, invert, before, after, limit}: the lines that a pattern occurs in, as a list of
// {line, content, match, groups, before, after}. Line is the number of the line, from 1; match what was found in it first, and groups
// what the groups of the pattern held; before and after are the lines around it, when they are asked for. With invert it is the
// lines that the pattern does not occur in. A limit ends the list early.
func Search(w *Watch, parameters *value.Object) (any, error) {
	p := params.Read("text.search", parameters)
	content, compiled := p.Text("content", maxContent), readPattern(p)
	invert, limit := p.Bool("invert", false), p.Int("limit", usualFound, 1, maxFound)
	before, behind := p.Int("before", 0, 0, maxContext), p.Int("after", 0, 0, maxContext)
	lines := readLines(p, "content", content)
	if err := p.Err(); err != nil {
		return nil, err
	}
	results, written := []any{}, 0
	for i, line := range lines {
		found, err := compiled.find(w, line, 0)
		if err != nil {
			return nil, err
		}
		if (found == nil) != invert {
			continue
		}
		result := machine.Payload("line", float64(i+1), "content", line)
		if found != nil {
			result.Set("match", line[found[0]:found[1]])
			result.Set("groups", groups(line, found))
		}
		if before > 0 {
			result.Set("before", value.From(lines[max(i-before, 0):i]))
		}
		if behind > 0 {
			result.Set("after", value.From(lines[i+1:min(i+1+behind, len(lines))]))
		}
		for _, shown := range lines[max(i-before, 0):min(i+1+behind, len(lines))] {
			written += len(shown)
		}
		if written > maxResult {
			return nil, tooMuch("search")
		}
		if results = append(results, result); len(results) == limit {
			break
		}
	}
	return results, nil
}

// groups gives what the groups of a pattern held; null for those that took no part.
func groups(text string, found []int) []any {
	held := make([]any, 0, len(found)/2-1) // the first two places are the whole
	for i := 2; i+1 < len(found); i += 2 {
		if found[i] < 0 {
			held = append(held, nil)
			continue
		}
		held = append(held, text[found[i]:found[i+1]])
	}
	return held
}

// readLines cuts a text into its lines, without what ends them. The end of the last line begins no other.
func readLines(p *params.Reader, key, text string) []string {
	if strings.Count(text, "\n") >= maxLines {
		p.Refuse(key, "has more than %d lines", maxLines)
		return nil
	}
	if text == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSuffix(line, "\r")
	}
	return lines
}
