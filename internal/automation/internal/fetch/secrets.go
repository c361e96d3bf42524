package fetch

import (
	"context"
	"net/url"
	"strings"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
)

const (
	referencePrefix = "$secret:"
	// deepest bounds the walk through parameters, as everywhere in the language.
	deepest = 1000
)

// opener puts secrets in the place of their references.
type opener struct {
	ctx         context.Context //nolint:containedctx // it lives for one instruction
	secrets     Secrets
	workspaceID string
	hide        func(string)
	known       map[string]string
}

// parameters gives the parameters with their secrets, where they are sent: a stream's event would show them.
func (o *opener) parameters(given *value.Object) (*value.Object, error) {
	opened := value.NewObject(given.Len())
	for name, v := range given.All() {
		switch name {
		case "url", "headers", "query", "body", "multipart", "auth":
			var err error
			if v, err = o.value(v, 0); err != nil {
				return nil, err
			}
		}
		opened.Set(name, v)
	}
	return opened, nil
}

func (o *opener) value(v any, depth int) (any, error) {
	if depth > deepest {
		return v, nil
	}
	switch v := v.(type) {
	case string:
		if !strings.Contains(v, referencePrefix) {
			return v, nil
		}
		return o.text(v)
	case []any:
		return o.list(v, depth)
	case *value.Object:
		return o.object(v, depth)
	default:
		return v, nil
	}
}

func (o *opener) list(list []any, depth int) (any, error) {
	var changed []any
	for i, item := range list {
		opened, err := o.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		if changed == nil && same(item, opened) {
			continue
		}
		if changed == nil {
			changed = append(make([]any, 0, len(list)), list...)
		}
		changed[i] = opened
	}
	if changed == nil {
		return list, nil
	}
	return changed, nil
}

func (o *opener) object(given *value.Object, depth int) (any, error) {
	var changed *value.Object
	for key, item := range given.All() {
		opened, err := o.value(item, depth+1)
		if err != nil {
			return nil, err
		}
		if changed == nil && same(item, opened) {
			continue
		}
		if changed == nil {
			changed = value.NewObject(given.Len())
			for k, v := range given.All() {
				changed.Set(k, v)
			}
		}
		changed.Set(key, opened)
	}
	if changed == nil {
		return given, nil
	}
	return changed, nil
}

// same tells that opening left a value as it was: bodies can be large, and most of them hold no secret.
func same(before, after any) bool {
	list, ok := before.([]any)
	if !ok {
		return before == after
	}
	other, ok := after.([]any)
	return ok && len(list) == len(other) && (len(list) == 0 || &list[0] == &other[0])
}

// text replaces each reference in a text.
func (o *opener) text(text string) (string, error) {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, referencePrefix)
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		end := strings.IndexFunc(after, func(r rune) bool { return !inReference(r) })
		if end < 0 {
			end = len(after)
		}
		secret, err := o.reveal(referencePrefix + after[:end])
		if err != nil {
			return "", err
		}
		out.WriteString(secret)
		text = after[end:]
	}
}

func inReference(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_'
}

func (o *opener) reveal(reference string) (string, error) {
	if secret, ok := o.known[reference]; ok {
		return secret, nil
	}
	secret, ok := "", false
	if o.secrets != nil {
		var err error
		if secret, ok, err = o.secrets.Reveal(o.ctx, reference, o.workspaceID); err != nil {
			return "", err
		}
	}
	if !ok {
		return "", machine.Fail(machine.InvalidInstruction, "Invalid fetch instruction: a reference to a secret is not known or has expired; get the secret just before the fetch.")
	}
	if o.known == nil {
		o.known = make(map[string]string, 1)
	}
	o.known[reference] = secret
	for _, written := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
		o.hide(written)
	}
	return secret, nil
}
