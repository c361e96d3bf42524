package access

import (
	"fmt"
	"strings"
)

// sqlPlace is where a value stands in a row: a column, or somewhere in a JSON document.
type sqlPlace interface {
	// field is a place inside an object.
	field(path string) sqlPlace
	// some writes that the value, or an element of the list that is there, fulfils a condition.
	some(condition func(sqlElement) string) string
	// someNull writes that the list that is there has a null.
	someNull() string
	// element writes that the value is a list and one of its elements fulfils a condition.
	element(condition func(sqlPlace) string) string
	// null writes that there is no value.
	null() string
	// object writes that the value is an object.
	object() string
	// size writes that the value is a list of a length.
	size(n int) string
}

// sqlElement is a single value. Each condition is false for values of another type.
type sqlElement interface {
	text(comparison string) string
	number(comparison string) string
	truth(wanted bool) string
	matches(pattern string) string
}

// nowhere is a place inside something that has no inside: there is never a value.
type nowhere struct{}

func (nowhere) field(string) sqlPlace                { return nowhere{} }
func (nowhere) some(func(sqlElement) string) string  { return sqlFalse }
func (nowhere) someNull() string                     { return sqlFalse }
func (nowhere) element(func(sqlPlace) string) string { return sqlFalse }
func (nowhere) null() string                         { return sqlTrue }
func (nowhere) object() string                       { return sqlFalse }
func (nowhere) size(int) string                      { return sqlFalse }

// plainColumn is a column with one value of one type.
type plainColumn struct {
	w    *sqlWriter
	sql  string
	kind ColumnKind
}

func (c plainColumn) field(string) sqlPlace                         { return nowhere{} }
func (c plainColumn) some(condition func(sqlElement) string) string { return condition(c) }
func (c plainColumn) someNull() string                              { return sqlFalse }
func (c plainColumn) element(func(sqlPlace) string) string          { return sqlFalse }
func (c plainColumn) null() string                                  { return "(" + c.sql + " IS NULL)" }
func (c plainColumn) object() string                                { return sqlFalse }
func (c plainColumn) size(int) string                               { return sqlFalse }

func (c plainColumn) text(comparison string) string {
	if c.kind != Text {
		return sqlFalse
	}
	return fmt.Sprintf("COALESCE(%s%s %s, FALSE)", c.sql, c.w.bytewise(), comparison)
}

func (c plainColumn) number(comparison string) string {
	if c.kind != Number {
		return sqlFalse
	}
	return fmt.Sprintf("COALESCE(CAST(%s AS %s) %s, FALSE)", c.sql, c.w.float(), comparison)
}

func (c plainColumn) truth(wanted bool) string {
	if c.kind != Bool {
		return sqlFalse
	}
	return fmt.Sprintf("COALESCE(%s %s 0, FALSE)", c.sql, map[bool]string{true: "<>", false: "="}[wanted])
}

func (c plainColumn) matches(pattern string) string {
	switch {
	case c.kind != Text:
		return sqlFalse
	case c.w.list.Dialect == PostgreSQL:
		return fmt.Sprintf("COALESCE(%s COLLATE \"C\" ~ %s, FALSE)", c.sql, pattern)
	default:
		return fmt.Sprintf("COALESCE(re2(%s, %s), FALSE)", pattern, c.sql)
	}
}

// bytewise makes texts compare by their bytes, as they do in Go and in SQLite.
func (w *sqlWriter) bytewise() string {
	if w.list.Dialect == PostgreSQL {
		return ` COLLATE "C"`
	}
	return ""
}

func (w *sqlWriter) float() string {
	if w.list.Dialect == PostgreSQL {
		return "DOUBLE PRECISION"
	}
	return "REAL"
}

// jsonPlace is a place in a JSON document on SQLite: the document and an SQL expression for the path.
type jsonPlace struct {
	w         *sqlWriter
	doc, path string
}

func (p jsonPlace) field(path string) sqlPlace {
	steps := `'."` + strings.ReplaceAll(path, ".", `"."`) + `"'` // paths have no quotes: see validSegment
	if inner, ok := strings.CutSuffix(p.path, "'"); ok {
		return jsonPlace{w: p.w, doc: p.doc, path: inner + steps[1:]}
	}
	return jsonPlace{w: p.w, doc: p.doc, path: p.path + " || " + steps}
}

func (p jsonPlace) kind() string {
	return fmt.Sprintf("COALESCE(json_type(%s, %s), 'null')", p.doc, p.path)
}

func (p jsonPlace) each(guard string, condition string, alias string) string {
	if condition == sqlFalse {
		return sqlFalse
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM json_each(%s, %s) AS %s WHERE %s %s AND %s)", p.doc, p.path, alias, p.kind(), guard, condition)
}

func (p jsonPlace) some(condition func(sqlElement) string) string {
	alias := p.w.alias()
	return p.each("<> 'object'", condition(jsonElement(alias)), alias) // of a plain value there is one row, itself
}

func (p jsonPlace) someNull() string {
	alias := p.w.alias()
	return p.each("= 'array'", alias+".type = 'null'", alias)
}

func (p jsonPlace) element(condition func(sqlPlace) string) string {
	alias := p.w.alias()
	return p.each("= 'array'", condition(jsonPlace{w: p.w, doc: p.doc, path: alias + ".fullkey"}), alias)
}

func (p jsonPlace) null() string   { return "(" + p.kind() + " = 'null')" }
func (p jsonPlace) object() string { return "(" + p.kind() + " = 'object')" }

func (p jsonPlace) size(n int) string {
	return fmt.Sprintf("(%s = 'array' AND COALESCE(json_array_length(%s, %s), -1) = %d)", p.kind(), p.doc, p.path, n)
}

// jsonElement is a row of json_each.
type jsonElement string

func (e jsonElement) text(comparison string) string {
	return fmt.Sprintf("(%s.type = 'text' AND %s.value %s)", e, e, comparison)
}

func (e jsonElement) number(comparison string) string {
	return fmt.Sprintf("(%s.type IN ('integer', 'real') AND CAST(%s.value AS REAL) %s)", e, e, comparison)
}

func (e jsonElement) truth(wanted bool) string { return fmt.Sprintf("%s.type = '%t'", e, wanted) }

func (e jsonElement) matches(pattern string) string {
	return fmt.Sprintf("(%s.type = 'text' AND re2(%s, %s.value))", e, pattern, e)
}

// jsonbPlace is a place in a JSON document on PostgreSQL: an expression of the type jsonb.
type jsonbPlace struct {
	w   *sqlWriter
	sql string
}

func (p jsonbPlace) field(path string) sqlPlace {
	sql := p.sql
	for name := range strings.SplitSeq(path, ".") {
		sql = fmt.Sprintf("(%s -> '%s'::text)", sql, name) // paths have no quotes: see validSegment
	}
	return jsonbPlace{w: p.w, sql: sql}
}

func (p jsonbPlace) kind() string { return "COALESCE(jsonb_typeof(" + p.sql + "), 'null')" }

func (p jsonbPlace) each(otherwise, condition, alias string) string {
	if condition == sqlFalse {
		return sqlFalse
	}
	return fmt.Sprintf("EXISTS (SELECT 1 FROM jsonb_array_elements(CASE WHEN jsonb_typeof(%s) = 'array' THEN %s ELSE %s END) AS %s(v) WHERE %s)",
		p.sql, p.sql, otherwise, alias, condition)
}

func (p jsonbPlace) some(condition func(sqlElement) string) string {
	alias := p.w.alias()
	return p.each("jsonb_build_array("+p.sql+")", condition(jsonbElement(alias+".v")), alias)
}

const emptyList = "'[]'::jsonb"

func (p jsonbPlace) someNull() string {
	alias := p.w.alias()
	return p.each(emptyList, "jsonb_typeof("+alias+".v) = 'null'", alias)
}

func (p jsonbPlace) element(condition func(sqlPlace) string) string {
	alias := p.w.alias()
	return p.each(emptyList, condition(jsonbPlace{w: p.w, sql: alias + ".v"}), alias)
}

func (p jsonbPlace) null() string   { return "(" + p.kind() + " = 'null')" }
func (p jsonbPlace) object() string { return "(" + p.kind() + " = 'object')" }

func (p jsonbPlace) size(n int) string {
	return fmt.Sprintf("(CASE WHEN jsonb_typeof(%s) = 'array' THEN jsonb_array_length(%s) = %d ELSE FALSE END)", p.sql, p.sql, n)
}

// jsonbElement is an expression of the type jsonb that is not NULL.
type jsonbElement string

func (e jsonbElement) text(comparison string) string {
	return fmt.Sprintf(`(jsonb_typeof(%s) = 'string' AND (%s #>> '{}') COLLATE "C" %s)`, e, e, comparison)
}

// number compares as Go does, in double precision. A number beyond its range stands at its end.
func (e jsonbElement) number(comparison string) string {
	value := fmt.Sprintf("(%s #>> '{}')::numeric", e)
	return fmt.Sprintf(`(CASE WHEN jsonb_typeof(%s) <> 'number' THEN FALSE
		WHEN abs(%s) > 1e308 THEN (sign(%s) * 1e308)::float8 %s
		WHEN abs(%s) < 1e-307 THEN 0::float8 %s
		ELSE (%s)::float8 %s END)`, e, value, value, comparison, value, comparison, value, comparison)
}

func (e jsonbElement) truth(wanted bool) string { return fmt.Sprintf("%s = '%t'::jsonb", e, wanted) }

func (e jsonbElement) matches(pattern string) string {
	return fmt.Sprintf(`(jsonb_typeof(%s) = 'string' AND (%s #>> '{}') COLLATE "C" ~ %s)`, e, e, pattern)
}
