package config

import "strings"

// allowed says what a setting accepts, for messages and for the reference.
func (s setting) allowed() string {
	switch s.kind {
	case kindNumber, kindSize, kindDuration:
		return s.allowedAmount()
	case kindSwitch:
		return "yes, no, true, false, on, off, 1, 0"
	case kindList:
		return "a comma list" + prefixed(", each ", s.allowedText())
	case kindSecret, kindText, kindUnknown:
	}
	if rule := s.allowedText(); rule != "" {
		return rule
	}
	return "text"
}

func (s setting) allowedAmount() string {
	low, lowOK := s.amount(s.min)
	high, highOK := s.amount(s.max)
	if !lowOK || !highOK {
		return s.amountName()
	}
	return s.amountText(low) + " to " + s.amountText(high)
}

// allowedText puts the rules of a text, or of one item of a list, side by side; without any it is empty.
func (s setting) allowedText() string {
	var rules []string
	rules = append(rules, s.oneOf...)
	if len(s.schemes) > 0 {
		rules = append(rules, "an address that begins with "+strings.Join(withSlashes(s.schemes), " or "))
		if !s.secret() {
			rules = append(rules, "without user, ? and #")
		}
	}
	if shape, shaped := findForm(s.form); shaped {
		rules = append(rules, shape.allowed)
	}
	if s.pattern != "" {
		rules = append(rules, "text that matches "+s.pattern)
	}
	if s.minLength != "" {
		rules = append(rules, "at least "+s.minLength+" characters")
	}
	if s.mustExist {
		rules = append(rules, "a file that can be read")
	}
	return strings.Join(rules, ", ")
}

func withSlashes(schemes []string) []string {
	addresses := make([]string, len(schemes))
	for i, scheme := range schemes {
		addresses[i] = scheme + "://"
	}
	return addresses
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}
