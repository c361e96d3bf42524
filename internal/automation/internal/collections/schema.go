package collections

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"atelier/internal/dsul/expr/value"
)

// Schema is the definition of a collection.
type Schema struct {
	properties      []property
	byName          map[string]property
	indexes, unique []index
	// retired are properties that were taken away: records may still hold values of them.
	retired map[string]bool
	// nextSlot is the number of the next index or unique.
	nextSlot int64
}

// property is a declared field.
type property struct {
	name, kind, description string
	nullable                bool
	// items are the values of an enum; none allows all.
	items []any
}

// index is an index or a unique. Slot is what its terms are stored under.
type index struct {
	name   string
	fields []string
	slot   int64
}

const (
	maxProperties = 200
	maxIndexes    = 32
	maxFields     = 8 // of one index
	maxItems      = 1000
)

// The fields that every record has.
const (
	fieldID        = "_id"
	fieldCreatedAt = "createdAt"
	fieldUpdatedAt = "updatedAt"
	fieldCreatedBy = "createdBy"
	fieldUpdatedBy = "updatedBy"
)

func isSystem(field string) bool {
	switch field {
	case fieldID, fieldCreatedAt, fieldUpdatedAt, fieldCreatedBy, fieldUpdatedBy:
		return true
	}
	return false
}

// isFieldName tells that a text may be the name of a field: an id that begins with a letter or _.
func isFieldName(name string) bool {
	return isID(name) && name[0] != '-' && (name[0] < '0' || name[0] > '9')
}

// ParseSchema reads the properties, indexes and uniques of a collection.
func ParseSchema(properties, indexes, uniques any) (*Schema, error) {
	object, ok := properties.(*value.Object)
	if !ok || object.Len() == 0 || object.Len() > maxProperties {
		return nil, misconfigured("properties is an object of one to %d fields, such as {name: {type: string}}.", maxProperties)
	}
	s := &Schema{byName: make(map[string]property, object.Len()), retired: map[string]bool{}, nextSlot: 1}
	for name, v := range object.All() {
		p, err := parseProperty(name, v)
		if err != nil {
			return nil, err
		}
		s.properties, s.byName[name] = append(s.properties, p), p
	}
	var err error
	if s.indexes, err = s.parseIndexes("indexes", indexes); err != nil {
		return nil, err
	}
	if s.unique, err = s.parseIndexes("uniques", uniques); err != nil {
		return nil, err
	}
	return s, nil
}

func parseProperty(name string, v any) (property, error) {
	p := property{name: name, nullable: true}
	if !isFieldName(name) || isSystem(name) {
		return p, misconfigured("%q cannot be the name of a field: use at most 64 letters, digits, - and _, and none of _id, createdAt, updatedAt, createdBy and updatedBy.", shorten(name))
	}
	if kind, ok := v.(string); ok {
		o := value.NewObject(1)
		o.Set("type", kind)
		v = o
	}
	o, ok := v.(*value.Object)
	if !ok {
		return p, misconfigured("The field %q needs a type: {type: string}.", name)
	}
	for key, setting := range o.All() {
		if err := p.set(key, setting); err != nil {
			return p, err
		}
	}
	if p.kind == "" {
		return p, misconfigured("The field %q needs a type: %s.", name, strings.Join(typeNames(), ", "))
	}
	return p, nil
}

// set takes one setting of a property.
func (p *property) set(key string, v any) error {
	ok := !value.Exists(v)
	switch key {
	case "type":
		p.kind, _ = v.(string)
		if typeOf(p.kind) == classNone {
			return misconfigured("The type of %q is not known. There are %s.", p.name, strings.Join(typeNames(), ", "))
		}
		return nil
	case "nullable":
		if b, is := v.(bool); is {
			p.nullable, ok = b, true
		}
	case "items", "enum", "values":
		if list, is := v.([]any); is && len(list) <= maxItems {
			p.items, ok = list, true
		}
	case "description", "title":
		if text, is := v.(string); is && key == "description" {
			p.description = text
		}
		ok = true
	default:
		return misconfigured("%q of the field %q is not known. A field has type, nullable, items (of an enum) and description.", shorten(key), p.name)
	}
	if !ok {
		return misconfigured("%s of the field %q has the wrong form.", key, p.name)
	}
	return nil
}

// parseIndexes reads [{name, properties: field or list of fields}]. One that is there already is left out.
func (s *Schema) parseIndexes(what string, v any) ([]index, error) {
	if !value.Exists(v) {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok || len(list) > maxIndexes {
		return nil, misconfigured("%s is a list of at most %d items such as {properties: [name]}.", what, maxIndexes)
	}
	var out []index
	for _, item := range list {
		made, err := s.parseIndex(what, item)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(other index) bool { return slices.Equal(other.fields, made.fields) }) {
			continue
		}
		out = append(out, made)
	}
	return out, nil
}

func (s *Schema) parseIndex(what string, v any) (index, error) {
	var made index
	fields := v
	if o, ok := v.(*value.Object); ok {
		made.name, _ = o.Get("name").(string)
		fields = o.Get("properties")
	}
	switch fields := fields.(type) {
	case string:
		made.fields = []string{fields}
	case []any:
		for _, field := range fields {
			name, _ := field.(string)
			made.fields = append(made.fields, name)
		}
	}
	if len(made.fields) == 0 || len(made.fields) > maxFields {
		return made, misconfigured("An item of %s names one to %d fields: {properties: [name]}.", what, maxFields)
	}
	for i, field := range made.fields {
		if _, ok := s.byName[field]; !ok && !isSystem(field) || slices.Contains(made.fields[:i], field) {
			return made, misconfigured("%s names %q, which is not a field of the collection or stands there twice.", what, shorten(field))
		}
	}
	return made, nil
}

// Check implements query.Schema.
func (s *Schema) Check(field string) error {
	if _, ok := s.byName[field]; ok || isSystem(field) {
		return nil
	}
	names := make([]string, 0, len(s.properties))
	for _, p := range s.properties {
		names = append(names, p.name)
	}
	return invalid("The collection has no field %q. It has %s, and _id, createdAt, updatedAt, createdBy and updatedBy.", shorten(field), shorten(strings.Join(names, ", ")))
}

// class is how a field holds its values.
func (s *Schema) class(field string) class {
	switch field {
	case fieldCreatedAt, fieldUpdatedAt:
		return classMoment
	case fieldID, fieldCreatedBy, fieldUpdatedBy:
		return classText
	}
	return typeOf(s.byName[field].kind)
}

// Operand implements query.Schema: dates and times are compared in the one form in which they are stored.
func (s *Schema) Operand(field string, v any) any {
	switch s.class(field) {
	case classMoment:
		if at, ok := moment(v); ok {
			return at
		}
	case classClock:
		if at, ok := clockTime(v); ok {
			return at
		}
	default:
	}
	return v
}

// digest tells definitions apart.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// shorten makes a text of the user fit to be shown.
func shorten(text string) string {
	const most = 200
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}
