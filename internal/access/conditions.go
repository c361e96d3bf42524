package access

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
)

// The bounds of a document's conditions. They keep a decision fast and a filter within what the SQL engines take.
const (
	maxConditionKeys  = 50
	maxConditionDepth = 3
	maxListLength     = 1_000
	maxPathSegments   = 8
	maxPattern        = 1_024
)

// conditions are compiled tests, all of which must hold.
type conditions []fieldTest

// fieldTest is what must hold for the value at one path. Slot is where a decision remembers the value; zero is nowhere.
type fieldTest struct {
	path  string
	slot  int
	tests []test
}

// operator is one of the operators of conditions.
type operator uint8

const (
	opEq operator = iota
	opNe
	opIn
	opNin
	opLt
	opLte
	opGt
	opGte
	opAll
	opSize
	opRegex
	opElemMatch
	opExists
)

const regexOperator = "$regex"

// operators lists the names, each at the place of its number.
func operators() []string {
	return []string{
		"$eq", "$ne", "$in", "$nin", "$lt", "$lte", "$gt", "$gte", "$all", "$size", regexOperator, "$elemMatch", "$exists",
	}
}

// test is one operator with its operand.
type test struct {
	op     operator
	value  scalar
	list   []scalar
	size   int
	exists bool
	regex  *pattern
	// elemMatch: what must hold for one element, itself or its fields.
	self   []test
	fields conditions
}

// compiler turns written conditions into tests. Without resolve it only checks what can be checked before the caller is
// known; with it, a failure means that the rule does not apply to this caller.
type compiler struct {
	resolve  lookup
	parts    int // how often the rule is compiled for a caller, once for each part
	problems problems
	dynamic  bool
	spent    spent
}

// spent is what conditions cost, which is bounded for a document.
type spent struct {
	operands     int
	instructions int // of the programs of regular expressions
	translated   int // bytes of regular expressions for PostgreSQL
	patterns     int // regular expressions with placeholders
}

// excess says which bound is passed; empty when none is.
func (s spent) excess() string {
	switch {
	case s.operands > maxOperands:
		return fmt.Sprintf("the conditions of the document compare with more than %d values", maxOperands)
	case s.instructions > maxProgram || s.translated > maxTranslation:
		return "the regular expressions of the document are too large together"
	case s.patterns > maxPatterns:
		return fmt.Sprintf("at most %d regular expressions may contain placeholders, counted for each subject", maxPatterns)
	default:
		return ""
	}
}

// pay adds to what is spent, and tells when that is too much.
func (c *compiler) pay(more spent, where string) bool {
	c.spent.operands += more.operands
	c.spent.instructions += more.instructions
	c.spent.translated += more.translated
	c.spent.patterns += more.patterns
	if why := c.spent.excess(); why != "" {
		c.problems.add(where, "%s", why)
		return false
	}
	return true
}

// pending stands for an operand that is known only when there is a caller.
type pending struct{}

func (c *compiler) compile(written map[string]any, path string, depth int) conditions {
	if len(written) > maxConditionKeys {
		c.problems.add(path, "at most %d fields may be tested in one rule", maxConditionKeys)
		return nil
	}
	out := make(conditions, 0, len(written))
	for _, key := range sortedKeys(written) {
		where := under(path, shorten(key))
		field, ok := c.path(key, where)
		if !ok {
			continue
		}
		out = append(out, fieldTest{path: field, tests: c.tests(written[key], where, depth)})
	}
	return out
}

// path checks the name of a field, and puts the values of placeholders in: each must be a name without dots.
func (c *compiler) path(key, where string) (string, bool) {
	if strings.HasPrefix(key, "$") && !hasPlaceholder(key) {
		c.problems.add(where, "the name of a field is expected; several fields must all match, and there are no $and, $or and $not")
		return "", false
	}
	plain := key
	if hasPlaceholder(key) {
		c.dynamic = true
		c.names(key, where)
		if c.resolve == nil {
			plain = placeholder.ReplaceAllString(key, "x")
		} else {
			safe := true
			expanded, ok := c.resolve.expand(key, func(s string) string {
				safe = safe && validSegment(s)
				return s
			})
			if !ok || !safe {
				c.problems.add(where, "a placeholder has no value that can be part of a path")
				return "", false
			}
			plain = expanded
		}
	}
	segments := strings.Split(plain, ".")
	if len(segments) > maxPathSegments || slices.ContainsFunc(segments, func(s string) bool { return !validSegment(s) }) {
		c.problems.add(where, "a field is a dotted path of at most %d names made of letters, digits and _ : @ / -", maxPathSegments)
		return "", false
	}
	return plain, true
}

func validSegment(s string) bool {
	const most = 64
	if s == "" || len(s) > most {
		return false
	}
	for _, r := range s {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		if !letter && !strings.ContainsRune("_:@/-", r) {
			return false
		}
	}
	return true
}

// names checks that the placeholders of a text can have a value.
func (c *compiler) names(text, where string) {
	for _, name := range placeholders(text) {
		if !knownPlaceholder(name) {
			c.problems.add(where, "unknown placeholder %s; there are user.id, user.sessionId, user.role, user.topics, user.authData.…, subject.id and session.id", shorten(name))
		}
	}
}

// tests compiles what is written for one field: a value, or an object of operators.
func (c *compiler) tests(written any, where string, depth int) []test {
	ops, ok := written.(map[string]any)
	if !ok {
		if t, ok := c.test(opEq, written, where, depth); ok {
			return []test{t}
		}
		return nil
	}
	if len(ops) == 0 {
		c.problems.add(where, "a value, or an object of operators is expected")
	}
	var out []test
	for _, name := range sortedKeys(ops) {
		at := under(where, shorten(name))
		op := slices.Index(operators(), name)
		if op < 0 {
			c.problems.add(at, "unknown operator; allowed are %s. To look into an object, write a dotted path", strings.Join(operators(), ", "))
			continue
		}
		if t, ok := c.test(operator(op), ops[name], at, depth); ok { //nolint:gosec // a place in a short list
			out = append(out, t)
		}
	}
	return out
}

func (c *compiler) test(op operator, written any, where string, depth int) (t test, ok bool) {
	t.op = op
	switch op {
	case opEq, opNe:
		t.value, ok = c.scalar(written, where)
	case opLt, opLte, opGt, opGte:
		if t.value, ok = c.scalar(written, where); ok && t.value.kind != isNumber && t.value.kind != isText && !c.waits(written) {
			c.problems.add(where, "a number or a text is expected")
			ok = false
		}
	case opIn, opNin, opAll:
		t.list, ok = c.list(written, where)
	case opSize:
		t.size, ok = c.size(written, where)
	case opExists:
		if t.exists, ok = written.(bool); !ok {
			c.problems.add(where, "true or false is expected")
		}
	case opRegex:
		t.regex, ok = c.regex(written, where)
	case opElemMatch:
		ok = c.elements(&t, written, where, depth)
	}
	return t, ok
}

// waits tells that the operand is only known when there is a caller.
func (c *compiler) waits(written any) bool {
	s, ok := written.(string)
	return ok && c.resolve == nil && hasPlaceholder(s)
}

// operand puts the values of placeholders into a written operand.
func (c *compiler) operand(written any, where string) (any, bool) {
	if !c.pay(spent{operands: 1}, where) {
		return nil, false
	}
	s, ok := written.(string)
	if !ok || !hasPlaceholder(s) {
		return written, true
	}
	c.dynamic = true
	c.names(s, where)
	if c.resolve == nil {
		return pending{}, true
	}
	v, ok := c.resolve.value(s)
	if !ok || v == nil {
		c.problems.add(where, "a placeholder has no value")
		return nil, false
	}
	return v, true
}

func (c *compiler) scalar(written any, where string) (scalar, bool) {
	v, ok := c.operand(written, where)
	if !ok {
		return scalar{}, false
	}
	if _, waits := v.(pending); waits {
		return scalar{}, true
	}
	s, ok := scalarOf(v)
	if !ok {
		c.problems.add(where, "a text, a number, true, false or null is expected; for lists use $in, $all or $elemMatch")
		return s, false
	}
	const huge = 1e308
	if s.kind == isNumber && (math.IsNaN(s.number) || math.Abs(s.number) >= huge) {
		c.problems.add(where, "the number is too large")
		return s, false
	}
	if s.kind == isText && strings.ContainsRune(s.text, 0) {
		c.problems.add(where, "the text contains a zero character")
		return s, false
	}
	return s, true
}

// list compiles a list of values. It may be one placeholder whose value is a list.
func (c *compiler) list(written any, where string) ([]scalar, bool) {
	if _, ok := written.(string); ok {
		v, ok := c.operand(written, where)
		if !ok {
			return nil, false
		}
		if _, waits := v.(pending); waits {
			return nil, true
		}
		written = v
	}
	items, ok := anyList(written)
	if !ok {
		c.problems.add(where, "a list is expected")
		return nil, false
	}
	if len(items) > maxListLength {
		c.problems.add(where, "a list may have at most %d values", maxListLength)
		return nil, false
	}
	out := make([]scalar, 0, len(items))
	for i, item := range items {
		s, ok := c.scalar(item, at(where, i))
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func anyList(v any) ([]any, bool) {
	switch x := v.(type) {
	case []any:
		return x, true
	case []string:
		out := make([]any, len(x))
		for i := range x {
			out[i] = x[i]
		}
		return out, true
	default:
		return nil, false
	}
}

func (c *compiler) size(written any, where string) (int, bool) {
	n, ok := numberOf(written)
	if !ok || n != math.Trunc(n) || n < 0 || n > math.MaxInt32 {
		c.problems.add(where, "a whole number is expected")
		return 0, false
	}
	return int(n), true
}

// regex compiles a pattern. The values of placeholders stand for themselves in it, whatever characters they have.
func (c *compiler) regex(written any, where string) (*pattern, bool) {
	text, ok := written.(string)
	if !ok {
		c.problems.add(where, "a regular expression is expected")
		return nil, false
	}
	cost := spent{operands: 1}
	if hasPlaceholder(text) {
		c.dynamic = true
		cost.patterns = c.parts
		c.names(text, where)
		resolve := c.resolve
		if resolve == nil {
			resolve = func(string) (any, bool) { return "x", true }
		}
		if text, ok = resolve.expand(text, regexp.QuoteMeta); !ok {
			c.problems.add(where, "a placeholder has no value")
			return nil, false
		}
	}
	re, why := parsePattern(text)
	if why != "" {
		c.problems.add(where, "%s", why)
		return nil, false
	}
	if c.resolve == nil && !re.translate() { // for a caller it is translated when it is needed
		c.problems.add(where, "the regular expression names too many characters")
		return nil, false
	}
	cost.instructions, cost.translated = re.instructions, len(re.translated)
	return re, c.pay(cost, where)
}

// elements compiles $elemMatch: operators for the element itself, or conditions for its fields.
func (c *compiler) elements(t *test, written any, where string, depth int) bool {
	inner, ok := written.(map[string]any)
	if !ok || len(inner) == 0 {
		c.problems.add(where, "an object of conditions on the elements is expected")
		return false
	}
	if depth >= maxConditionDepth {
		c.problems.add(where, "conditions nest at most %d deep", maxConditionDepth)
		return false
	}
	before := len(c.problems.fields)
	own := true
	for key := range inner {
		own = own && slices.Contains(operators(), key)
	}
	if own {
		t.self = c.tests(inner, where, depth+1)
	} else {
		t.fields = c.compile(inner, where, depth+1)
	}
	return len(c.problems.fields) == before
}
