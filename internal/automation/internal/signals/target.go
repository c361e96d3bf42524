package signals

import (
	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
)

// fields reads the keys of an object that a parameter is.
type fields struct {
	name   string
	object *value.Object
}

// of gives the object of a parameter; nil when there is none.
func of(name string, v any) (*fields, error) {
	if !value.Exists(v) {
		return nil, nil //nolint:nilnil // none was given
	}
	object, ok := v.(*value.Object)
	if !ok {
		return nil, badEmit("The " + name + " of emit is an object.")
	}
	return &fields{name: name, object: object}, nil
}

func badEmit(message string) error {
	return machine.Fail(machine.InvalidInstruction, message).With(map[string]any{"instruction": "emit"})
}

// text reads a text; what is missing is empty.
func (f fields) text(key string, most int) (string, error) {
	v := f.object.Get(key)
	switch v.(type) {
	case string, float64:
		if text := value.String(v); len(text) <= most {
			return text, nil
		}
	default:
		if !value.Exists(v) {
			return "", nil
		}
	}
	return "", badEmit("The " + f.name + "." + key + " of emit is a text, and not a long one.")
}

// flag reads true or false; nil when it is missing.
func (f fields) flag(key string) (*bool, error) {
	switch v := f.object.Get(key).(type) {
	case bool:
		return &v, nil
	case string:
		if v == "true" || v == "false" {
			is := v == "true"
			return &is, nil
		}
	default:
		if !value.Exists(v) {
			return nil, nil //nolint:nilnil // it is missing
		}
	}
	return nil, badEmit("The " + f.name + "." + key + " of emit is true or false.")
}

// targetOf reads whom an event is meant for.
func targetOf(v any) (*envelope.Target, error) {
	const longID, longTopic = 100, 200
	f, err := of("target", v)
	if f == nil || err != nil {
		return nil, err
	}
	var t envelope.Target
	if t.UserID, err = f.text("userId", longID); err != nil {
		return nil, err
	}
	if t.SessionID, err = f.text("sessionId", longID); err != nil {
		return nil, err
	}
	if t.UserTopic, err = f.text("userTopic", longTopic); err != nil {
		return nil, err
	}
	if t.CurrentSocket, err = f.flag("currentSocket"); err != nil {
		return nil, err
	}
	if t == (envelope.Target{}) {
		return nil, nil //nolint:nilnil // it says nothing
	}
	return &t, nil
}

// optionsOf reads how an event is handled.
func optionsOf(v any) (*envelope.Options, error) {
	f, err := of("options", v)
	if f == nil || err != nil {
		return nil, err
	}
	var o envelope.Options
	if o.Persist, err = f.flag("persist"); err != nil {
		return nil, err
	}
	for key, to := range map[string]*bool{"aggPayload": &o.AggPayload, "async": &o.Async} {
		is, err := f.flag(key)
		if err != nil {
			return nil, err
		}
		*to = is != nil && *is
	}
	if o == (envelope.Options{}) {
		return nil, nil //nolint:nilnil // it says nothing
	}
	return &o, nil
}
