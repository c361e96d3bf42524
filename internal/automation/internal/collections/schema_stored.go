package collections

import (
	"fmt"
	"slices"

	"atelier/internal/dsul/expr/value"
)

// Properties are the fields as they were declared.
func (s *Schema) Properties() *value.Object {
	out := value.NewObject(len(s.properties))
	for _, p := range s.properties {
		o := value.NewObject(4)
		o.Set("type", p.kind)
		o.Set("nullable", p.nullable)
		if len(p.items) > 0 {
			o.Set("items", p.items)
		}
		if p.description != "" {
			o.Set("description", p.description)
		}
		out.Set(p.name, o)
	}
	return out
}

// Indexes are the indexes as they were declared, Uniques the uniques.
func (s *Schema) Indexes() []any { return declared(s.indexes) }

// Uniques are what no two records may have in common.
func (s *Schema) Uniques() []any { return declared(s.unique) }

func declared(indexes []index) []any {
	out := make([]any, 0, len(indexes))
	for _, one := range indexes {
		o := value.NewObject(2)
		if one.name != "" {
			o.Set("name", one.name)
		}
		o.Set("properties", value.From(one.fields))
		out = append(out, o)
	}
	return out
}

// Definition is the whole as it was declared.
func (s *Schema) Definition() *value.Object {
	o := value.NewObject(3)
	o.Set("properties", s.Properties())
	o.Set("indexes", s.Indexes())
	o.Set("uniques", s.Uniques())
	return o
}

// text is the definition as it is stored, with the slots of indexes.
func (s *Schema) text() string {
	o := s.Definition()
	o.Set("slots", slots(s.indexes))
	o.Set("uniqueSlots", slots(s.unique))
	o.Set("nextSlot", float64(s.nextSlot))
	retired := []any{}
	for name := range s.retired {
		retired = append(retired, name)
	}
	slices.SortFunc(retired, func(a, b any) int { return slices.Compare([]byte(value.String(a)), []byte(value.String(b))) })
	o.Set("retired", retired)
	return jsonText(o)
}

func slots(indexes []index) []any {
	out := make([]any, len(indexes))
	for i, one := range indexes {
		out[i] = float64(one.slot)
	}
	return out
}

// loadSchema reads a definition as text wrote it.
func loadSchema(text string) (*Schema, error) {
	v, err := value.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("the definition of a collection: %w", err)
	}
	s, err := ParseSchema(value.Get(v, "properties"), value.Get(v, "indexes"), value.Get(v, "uniques"))
	if err != nil {
		return nil, err
	}
	loadSlots(s.indexes, value.Get(v, "slots"))
	loadSlots(s.unique, value.Get(v, "uniqueSlots"))
	s.nextSlot = int64(value.Number(value.Get(v, "nextSlot")))
	retired, _ := value.Get(v, "retired").([]any)
	for _, name := range retired {
		s.retired[value.String(name)] = true
	}
	return s, nil
}

func loadSlots(indexes []index, v any) {
	list, _ := v.([]any)
	for i := range indexes {
		indexes[i].slot = int64(value.Number(value.Get(list, value.FormatNumber(float64(i)))))
	}
}

// changes are what must be done to records when a definition follows another one.
type changes struct {
	// indexes and uniques are new; dropped are the slots of old ones.
	indexes, uniques []index
	dropped          []int64
	// check are the fields whose values must be looked at.
	check []string
}

// follow gives the definition the slots of the one before it, and tells what is new.
func (s *Schema) follow(old *Schema) changes {
	c := changes{check: s.retire(old)}
	s.nextSlot = old.nextSlot
	c.indexes = s.inherit(s.indexes, old.indexes, c.check)
	c.uniques = s.inherit(s.unique, old.unique, c.check)
	now := slices.Concat(s.indexes, s.unique)
	for _, one := range slices.Concat(old.indexes, old.unique) {
		if !slices.ContainsFunc(now, func(kept index) bool { return kept.slot == one.slot }) {
			c.dropped = append(c.dropped, one.slot)
		}
	}
	return c
}

// retire notes which properties are gone, and gives those whose values may not fit: their type has changed, or they were gone.
func (s *Schema) retire(old *Schema) (check []string) {
	for name := range old.retired {
		s.retired[name] = true
	}
	for _, p := range old.properties {
		if _, ok := s.byName[p.name]; !ok {
			s.retired[p.name] = true
		}
	}
	for _, p := range s.properties {
		before, was := old.byName[p.name]
		if was && (before.kind != p.kind || !sameItems(before.items, p.items)) || s.retired[p.name] {
			check = append(check, p.name)
		}
		delete(s.retired, p.name)
	}
	return check
}

func sameItems(a, b []any) bool { return value.DeepEqual(a, b) }

// inherit gives indexes on the same fields the same slots, and the others new ones; these it returns. Those on fields whose values may
// change are made anew.
func (s *Schema) inherit(indexes, old []index, check []string) (made []index) {
	for i, one := range indexes {
		at := slices.IndexFunc(old, func(before index) bool { return slices.Equal(before.fields, one.fields) })
		touched := slices.ContainsFunc(one.fields, func(field string) bool { return slices.Contains(check, field) })
		if at >= 0 && !touched {
			indexes[i].slot = old[at].slot
			continue
		}
		indexes[i].slot = s.nextSlot
		s.nextSlot++
		made = append(made, indexes[i])
	}
	return made
}

func jsonText(v any) string {
	const whole = 1 << 30
	text, _ := value.JSON(v, "", whole)
	return text
}
