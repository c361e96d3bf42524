package access

// Outline is what everything that the caller may act on fulfils, as far as exact texts tell: one of some alternatives, each
// of which names texts by path, one of which must be the value there or an element of it. What else rules ask is left out, so
// more may fulfil it than Decide allows. It is false when nothing of the kind is asked. Known are fields with the same value in
// all objects, as in List.
func (a *Ability) Outline(action, subject string, known map[string]string) (alternatives []map[string][]string, ok bool) {
	for c := range a.candidates(subject, false) {
		own, applies := a.conditionsOf(c.rule)
		if !applies || c.rule.inverted || !c.rule.covers(action) || !c.rule.speaksOf("") {
			continue
		}
		texts, possible := outline(known, c.rule.bounds, c.within, own)
		switch {
		case !possible:
		case len(texts) == 0:
			return nil, false
		default:
			alternatives = append(alternatives, texts)
		}
	}
	return alternatives, true
}

// outline gives the texts that some conditions ask for; false when what is known contradicts them.
func outline(known map[string]string, groups ...conditions) (map[string][]string, bool) {
	asked := map[string][]string{}
	for _, group := range groups {
		for i := range group {
			if value, ok := known[group[i].path]; ok {
				if !matchAll(group[i].tests, value) {
					return nil, false
				}
				continue
			}
			for j := range group[i].tests {
				if texts := group[i].tests[j].texts(); texts != nil {
					asked[group[i].path] = texts
				}
			}
		}
	}
	return asked, true
}

// texts are the only values that fulfil the test, when all of them are texts; nil otherwise.
func (t *test) texts() []string {
	var values []scalar
	switch t.op {
	case opEq:
		values = []scalar{t.value}
	case opIn:
		values = t.list
	default:
		return nil
	}
	var texts []string
	for _, value := range values {
		if value.kind != isText || value.text == "" {
			return nil
		}
		texts = append(texts, value.text)
	}
	return texts
}
