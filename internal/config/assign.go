package config

import (
	"reflect"
	"strings"
)

// assign reads text into the field of a setting. It returns what is wrong with the text, or nothing.
func (s setting) assign(field reflect.Value, text string, read fileReader) string {
	switch s.kind {
	case kindNumber, kindSize, kindDuration:
		return s.assignAmount(field, text)
	case kindSwitch:
		return s.assignSwitch(field, text)
	case kindList:
		return s.assignList(field, text, read)
	case kindText, kindSecret:
		problem := s.checkText(text, read)
		if problem == "" {
			field.SetString(text)
		}
		return problem
	case kindUnknown:
	}
	return "the type of its field cannot be read; this is a fault of the program"
}

func (s setting) assignAmount(field reflect.Value, text string) string {
	n, ok := s.amount(text)
	if !ok {
		return s.refuse(text, "is not "+s.amountName())
	}
	low, lowOK := s.amount(s.min)
	high, highOK := s.amount(s.max)
	if lowOK && n < low || highOK && n > high || field.OverflowInt(n) {
		return s.refuse(text, "is out of range")
	}
	field.SetInt(n)
	return ""
}

func (s setting) assignSwitch(field reflect.Value, text string) string {
	switch strings.ToLower(text) {
	case "yes", "true", "on", "1":
		field.SetBool(true)
	case "no", "false", "off", "0":
		field.SetBool(false)
	default:
		return s.refuse(text, "is not a switch")
	}
	return ""
}

func (s setting) assignList(field reflect.Value, text string, read fileReader) string {
	items := splitList(text)
	if len(items) == 0 {
		return s.refuse(text, "has no item")
	}
	for _, item := range items {
		if problem := s.checkText(item, read); problem != "" {
			return problem
		}
	}
	field.Set(reflect.ValueOf(items))
	return ""
}

// show writes the value of a field for the listing: in the form that assign reads, a secret hidden.
func (s setting) show(field reflect.Value) string {
	switch s.kind {
	case kindNumber, kindSize, kindDuration:
		return s.amountText(field.Int())
	case kindSwitch:
		if field.Bool() {
			return "yes"
		}
		return "no"
	case kindList:
		items := make([]string, field.Len())
		for i := range items {
			items[i] = field.Index(i).String()
		}
		return strings.Join(items, ",")
	case kindSecret:
		return Secret(field.String()).String()
	case kindText, kindUnknown:
	}
	return field.String()
}
