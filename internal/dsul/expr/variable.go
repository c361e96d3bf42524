package expr

import "strings"

// variable reads {{path}} inside an expression, where paths are stricter than in texts: words, and quotes around
// everything else.
func (p *parser) variable() (Node, error) {
	if err := p.enter(); err != nil {
		return nil, err
	}
	defer p.leave()
	v := &Variable{At: p.pos(p.at)}
	p.at += len("{{")
	key, err := p.key()
	if err != nil {
		return nil, err
	}
	for v.Steps = []Step{key}; !p.sees("}}"); {
		switch {
		case p.sees("."):
			p.at++
			key, err = p.key()
		case p.sees("["):
			p.at++
			key, err = p.bracket()
		default:
			err = p.badVariable()
		}
		if err != nil {
			return nil, err
		}
		v.Steps = append(v.Steps, key)
	}
	p.at += len("}}")
	return v, nil
}

// key reads letters, digits, _ and $.
func (p *parser) key() (Step, error) {
	end := p.at
	for end < len(p.source) && (isWord(p.source[end]) || p.source[end] == '$') {
		end++
	}
	if end == p.at {
		return Step{}, p.badVariable()
	}
	key := p.source[p.at:end]
	p.at = end
	return plainStep(key), nil
}

// bracket reads what stands in brackets: a word, a text in quotes, or another variable.
func (p *parser) bracket() (step Step, err error) {
	switch {
	case p.sees("{{"):
		var inner Node
		inner, err = p.variable()
		step = Step{Index: -1, Parts: []Node{inner}}
	case p.sees(`"`), p.sees("'"):
		end := strings.IndexByte(p.rest()[1:], p.source[p.at])
		if end < 0 {
			return step, p.fail(p.at, "the key has no closing %c", p.source[p.at])
		}
		step = quotedStep(p.rest()[1 : end+1])
		p.at += end + 2 // both quotes
	default:
		step, err = p.key()
	}
	if err != nil {
		return step, err
	}
	if !p.sees("]") {
		return step, p.expected("]")
	}
	p.at++
	return step, nil
}

func (p *parser) badVariable() error {
	if p.at == len(p.source) {
		return p.expected("}}")
	}
	return p.fail(p.at, `found %s in a variable: inside an expression it is made of letters, digits, _ and $, with . or [] `+
		`between keys; put other keys into quotes, as in {{a["b c"]}}`, p.found(p.at))
}
