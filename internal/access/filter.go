package access

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"atelier/internal/errs"
)

// Dialect is the SQL of an engine, by the name that sqldb gives it: Dialect(db.Driver()).
type Dialect string

// The dialects.
const (
	SQLite     Dialect = "sqlite"
	PostgreSQL Dialect = "postgresql"
)

// ColumnKind is what a column holds.
type ColumnKind uint8

// The kinds of columns. NULL is no value in every one of them; so is an empty text in a JSON column.
const (
	// Text is TEXT.
	Text ColumnKind = iota
	// Number is BIGINT or DOUBLE PRECISION.
	Number
	// Bool is BIGINT, zero or one.
	Bool
	// JSON is TEXT that package strictjson accepts; conditions look inside it with the rest of their path.
	JSON
)

// Column is where a list finds a field: an SQL expression over its table.
type Column struct {
	SQL  string
	Kind ColumnKind
}

// List describes the query that a filter becomes part of: its engine, the number of the first parameter that is free, and
// the columns of the fields that conditions may look at. A key may be a dotted path; the longest that fits is taken. Every
// one of ConditionFields must be found.
type List struct {
	Dialect Dialect
	First   int
	Columns map[string]Column
	// Known are fields that have the same value in every row of the query, such as workspaceId. They are not asked of the
	// database, and where nothing else matters the filter is Everything or Nothing.
	Known map[string]string
}

// Filter is a condition for a WHERE clause, in brackets where it needs them, with its parameters. The rows that fulfil it
// are exactly those that the caller may act on.
type Filter struct {
	SQL  string
	Args []any
	// Everything and Nothing tell that the condition is the same for every row.
	Everything, Nothing bool
}

// Filter turns the decision about an action into a condition on the rows of a list.
func (a *Ability) Filter(action, subject string, list List) (Filter, error) {
	w := &sqlWriter{list: list}
	sql, err := a.filter(w, action, subject)
	return w.filter(sql), err
}

const (
	sqlTrue  = "TRUE"
	sqlFalse = "FALSE"
)

// filter numbers the parameters that the condition uses in the end.
func (w *sqlWriter) filter(sql string) Filter {
	f := Filter{Everything: sql == sqlTrue, Nothing: sql == sqlFalse}
	numbers := map[string]string{}
	var b strings.Builder
	for i, piece := range strings.Split(sql, marker) {
		if i%2 == 0 {
			b.WriteString(piece)
			continue
		}
		if _, seen := numbers[piece]; !seen {
			index, _ := strconv.Atoi(piece) // it is ours
			f.Args = append(f.Args, w.args[index])
			numbers[piece] = "$" + strconv.Itoa(w.list.First+len(f.Args)-1)
		}
		b.WriteString(numbers[piece])
	}
	f.SQL = b.String()
	return f
}

// marker stands around the place of a parameter until it is numbered: many are written and left out again.
const marker = "\x00"

// filter writes the rules as CASE, the strongest first: the first that matches a row decides about it.
func (a *Ability) filter(w *sqlWriter, action, subject string) (string, error) {
	var b strings.Builder
	b.WriteString("(CASE")
	before, cases := sqlFalse, map[string]int{} // what holds when no rule matches
	for c := range a.candidates(subject, false) {
		own, ok := a.conditionsOf(c.rule)
		if !ok || !c.rule.covers(action) || !c.rule.speaksOf("") {
			continue
		}
		sql, err := w.all(c.rule.bounds, c.within, own)
		if err != nil {
			return sqlFalse, err
		}
		if sql == sqlFalse {
			continue
		}
		result := sqlTrue
		if c.rule.inverted {
			result = sqlFalse
		}
		if sql == sqlTrue { // nothing weaker is asked any more
			before = result
			break
		}
		cases[result]++
		fmt.Fprintf(&b, " WHEN %s THEN %s", sql, result)
	}
	if cases[not(before)] == 0 { // whichever rule matches, it is the same
		return before, nil
	}
	b.WriteString(" ELSE " + before + " END)")
	return b.String(), nil
}

// sqlWriter writes conditions as SQL. Each is true or false, never NULL, so that NOT means what it says.
type sqlWriter struct {
	list    List
	args    []any
	aliases int
}

func (w *sqlWriter) bind(v any) string {
	n := marker + strconv.Itoa(len(w.args)) + marker
	w.args = append(w.args, v)
	if w.list.Dialect != PostgreSQL {
		return n
	}
	switch v.(type) {
	case string:
		return n + "::text"
	case float64:
		return n + "::float8"
	default:
		return n + "::bigint"
	}
}

func (w *sqlWriter) alias() string {
	w.aliases++
	return fmt.Sprintf("e%d", w.aliases)
}

// all joins conditions that must all hold.
func (w *sqlWriter) all(groups ...conditions) (string, error) {
	var parts []string
	for _, group := range groups {
		for i := range group {
			if value, known := w.list.Known[group[i].path]; known {
				if !matchAll(group[i].tests, value) {
					return sqlFalse, nil
				}
				continue
			}
			place, err := w.column(group[i].path)
			if err != nil {
				return "", err
			}
			sql, err := w.tests(place, group[i].tests)
			if err != nil {
				return "", err
			}
			parts = append(parts, sql)
		}
	}
	return and(parts...), nil
}

func (w *sqlWriter) tests(p sqlPlace, tests []test) (string, error) {
	parts := make([]string, 0, len(tests))
	for i := range tests {
		sql, err := w.test(p, &tests[i])
		if err != nil {
			return "", err
		}
		parts = append(parts, sql)
	}
	return and(parts...), nil
}

// column finds the column of a path; the rest of the path leads into it.
func (w *sqlWriter) column(path string) (sqlPlace, error) {
	prefix, rest := path, ""
	for {
		if c, ok := w.list.Columns[prefix]; ok {
			return w.place(c, rest), nil
		}
		cut := strings.LastIndexByte(prefix, '.')
		if cut < 0 {
			return nil, errs.Wrap(fmt.Errorf("the list has no column for %s", path), "filter a list")
		}
		prefix, rest = path[:cut], path[cut+1:]
	}
}

func (w *sqlWriter) place(c Column, rest string) sqlPlace {
	var p sqlPlace
	switch {
	case c.Kind != JSON && rest != "":
		return nowhere{}
	case c.Kind != JSON:
		return plainColumn{w: w, sql: "(" + c.SQL + ")", kind: c.Kind}
	case w.list.Dialect == PostgreSQL:
		p = jsonbPlace{w: w, sql: "NULLIF(" + c.SQL + ", '')::jsonb"}
	default:
		p = jsonPlace{w: w, doc: "NULLIF(" + c.SQL + ", '')", path: "'$'"}
	}
	if rest == "" {
		return p
	}
	return p.field(rest)
}

// test writes one operator. Lists hold when one of their elements does, as in match.
func (w *sqlWriter) test(p sqlPlace, t *test) (string, error) {
	switch t.op {
	case opNe, opNin:
		sql, err := w.any(p, t)
		return not(sql), err
	case opAll:
		parts := make([]string, 0, len(t.list))
		for _, wanted := range t.list {
			sql, err := w.any(p, &test{op: opEq, value: wanted})
			if err != nil {
				return "", err
			}
			parts = append(parts, sql)
		}
		if len(parts) == 0 {
			return sqlFalse, nil
		}
		return and(parts...), nil
	case opSize:
		return p.size(t.size), nil
	case opExists:
		if t.exists {
			return not(p.null()), nil
		}
		return p.null(), nil
	case opElemMatch:
		return w.elements(p, t)
	default:
		return w.any(p, t)
	}
}

// any writes an operator that asks for one value, at the place itself or in the list that is there.
func (w *sqlWriter) any(p sqlPlace, t *test) (string, error) {
	switch t.op {
	case opEq, opNe:
		return w.among(p, []scalar{t.value}), nil
	case opIn, opNin:
		return w.among(p, t.list), nil
	case opRegex:
		return w.regex(p, t)
	default:
		sign := map[operator]string{opLt: "<", opLte: "<=", opGt: ">", opGte: ">="}[t.op]
		if t.value.kind == isText {
			return p.some(func(e sqlElement) string { return e.text(sign + " " + w.bind(t.value.text)) }), nil
		}
		return p.some(func(e sqlElement) string { return e.number(sign + " " + w.bind(t.value.number)) }), nil
	}
}

func (w *sqlWriter) regex(p sqlPlace, t *test) (string, error) {
	if w.list.Dialect != PostgreSQL {
		return p.some(func(e sqlElement) string { return e.matches(w.bind(t.regex.String())) }), nil
	}
	return p.some(func(e sqlElement) string { return e.matches(w.bind(t.regex.advanced())) }), nil
}

// among writes that a value, or an element of a list, is one of some values.
func (w *sqlWriter) among(p sqlPlace, values []scalar) string {
	var texts, numbers []scalar
	var null, yes, no bool
	for _, v := range values {
		switch v.kind {
		case isText:
			texts = append(texts, v)
		case isNumber:
			numbers = append(numbers, v)
		case isBool:
			yes, no = yes || v.truth, no || !v.truth
		default:
			null = true
		}
	}
	if len(values) == 0 {
		return sqlFalse
	}
	sql := sqlFalse
	if len(texts)+len(numbers) > 0 || yes || no {
		sql = p.some(func(e sqlElement) string {
			var parts []string
			if len(texts) > 0 {
				parts = append(parts, e.text(w.in(texts)))
			}
			if len(numbers) > 0 {
				parts = append(parts, e.number(w.in(numbers)))
			}
			if yes {
				parts = append(parts, e.truth(true))
			}
			if no {
				parts = append(parts, e.truth(false))
			}
			return or(parts...)
		})
	}
	if null {
		sql = or(sql, p.null(), p.someNull())
	}
	return sql
}

// in writes that what stands before it is one of some values, all of them texts or all of them numbers. A long list is one
// parameter.
func (w *sqlWriter) in(values []scalar) string {
	const several = 20
	if len(values) > several {
		return "IN (" + w.values(values) + ")"
	}
	names := make([]string, 0, len(values))
	for _, v := range values {
		if v.kind == isText {
			names = append(names, w.bind(v.text))
		} else {
			names = append(names, w.bind(v.number))
		}
	}
	if len(names) == 1 {
		return "= " + names[0]
	}
	return "IN (" + strings.Join(names, ", ") + ")"
}

// values writes the rows of a list.
func (w *sqlWriter) values(values []scalar) string {
	all := make([]any, 0, len(values))
	number := false
	for _, v := range values {
		if number = v.kind == isNumber; number {
			all = append(all, v.number)
		} else {
			all = append(all, v.text)
		}
	}
	list, _ := json.Marshal(all) // texts and finite numbers can always be written
	rows := w.list.Dialect.Elements(w.bind(string(list)))
	if number && w.list.Dialect == PostgreSQL {
		return rows + "::float8"
	}
	return rows
}

func (w *sqlWriter) elements(p sqlPlace, t *test) (string, error) {
	var failed error
	sql := p.element(func(e sqlPlace) string {
		if t.fields == nil {
			sql, err := w.tests(e, t.self)
			failed = err
			return sql
		}
		parts := []string{e.object()}
		for i := range t.fields {
			sql, err := w.tests(e.field(t.fields[i].path), t.fields[i].tests)
			if err != nil {
				failed = err
			}
			parts = append(parts, sql)
		}
		return and(parts...)
	})
	return sql, failed
}

func and(parts ...string) string { return join(parts, " AND ", sqlTrue, sqlFalse) }

func or(parts ...string) string { return join(parts, " OR ", sqlFalse, sqlTrue) }

// join leaves out the parts that change nothing, and is absorbing when one part decides alone.
func join(parts []string, word, neutral, absorbing string) string {
	kept := parts[:0:0]
	for _, part := range parts {
		switch part {
		case absorbing:
			return absorbing
		case neutral:
		default:
			kept = append(kept, part)
		}
	}
	switch len(kept) {
	case 0:
		return neutral
	case 1:
		return kept[0]
	default:
		return "(" + strings.Join(kept, word) + ")"
	}
}

func not(sql string) string {
	switch sql {
	case sqlTrue:
		return sqlFalse
	case sqlFalse:
		return sqlTrue
	default:
		return "NOT " + sql
	}
}
