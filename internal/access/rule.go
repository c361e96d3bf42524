package access

import (
	"slices"
	"strings"
)

// decoder reads a security document from its tree and tells every place where it has another shape.
type decoder struct{ problems problems }

func (d *decoder) security(tree any) (sec Security) {
	root := d.object(tree, "", "authorizations", "authentication")
	if v, ok := root["authorizations"]; ok && v != nil {
		sec.Authorizations = d.authorizations(v, "authorizations")
	}
	if v, ok := root["authentication"]; ok && v != nil {
		o := d.object(v, "authentication", "clientId")
		sec.Authentication = &Authentication{ClientID: d.text(o, "authentication", "clientId")}
	}
	return sec
}

func (d *decoder) authorizations(tree any, path string) *Authorizations {
	o := d.object(tree, path, "roles", "rules")
	auth := &Authorizations{}
	roles := d.object(o["roles"], under(path, "roles"))
	if len(roles) > 0 {
		auth.Roles = make(map[string]RoleSpec, len(roles))
	}
	for _, name := range sortedKeys(roles) {
		auth.Roles[name] = d.role(roles[name], under(under(path, "roles"), name))
	}
	for i, v := range d.list(o["rules"], under(path, "rules")) {
		auth.Rules = append(auth.Rules, d.rule(v, at(under(path, "rules"), i)))
	}
	return auth
}

func (d *decoder) role(tree any, path string) RoleSpec {
	o := d.object(tree, path, "description", "auth")
	role := RoleSpec{Description: d.text(o, path, "description")}
	providers := d.object(o["auth"], under(path, "auth"))
	if len(providers) > 0 {
		role.Auth = make(map[string]Assignment, len(providers))
	}
	for _, name := range sortedKeys(providers) {
		where := under(under(path, "auth"), name)
		if name == apiKeyProvider { // a value that somebody wrote here is not wanted: the key is made by the service
			role.Auth[name] = Assignment{}
			continue
		}
		if name == "basic" {
			d.problems.add(where, "basic authentication is not supported; use the name of a sign-in provider, or apiKey")
			continue
		}
		entry := d.object(providers[name], where, "conditions")
		role.Auth[name] = Assignment{Conditions: d.object(entry["conditions"], under(where, "conditions"))}
	}
	return role
}

func (d *decoder) rule(tree any, path string) Rule {
	o := d.object(tree, path, "role", "action", "subject", "conditions", "inverted", "reason", "fields", "priority")
	r := Rule{
		Role: d.names(o, path, "role"), Action: d.names(o, path, "action"), Subject: d.names(o, path, "subject"),
		Conditions: d.object(o["conditions"], under(path, "conditions")), Reason: d.text(o, path, "reason"),
	}
	if v, ok := o["inverted"]; ok && v != nil {
		inverted, ok := v.(bool)
		if !ok {
			d.problems.add(under(path, "inverted"), "true or false is expected")
		}
		r.Inverted = inverted
	}
	for i, v := range d.list(o["fields"], under(path, "fields")) {
		name, ok := v.(string)
		if !ok {
			d.problems.add(at(under(path, "fields"), i), "the name of a field is expected")
		}
		r.Fields = append(r.Fields, name)
	}
	if v, ok := o["priority"]; ok && v != nil {
		number, ok := numberOf(v)
		if !ok {
			d.problems.add(under(path, "priority"), "a number is expected; the order of the rules decides, not the priority")
		}
		r.Priority = &number
	}
	return r
}

// object gives the tree as an object; nothing at all is an empty one. Without known keys, any key may be there.
func (d *decoder) object(tree any, path string, known ...string) map[string]any {
	if tree == nil {
		return nil
	}
	o, ok := tree.(map[string]any)
	if !ok {
		d.problems.add(place(path), "an object is expected")
		return nil
	}
	for _, key := range sortedKeys(o) {
		if len(known) > 0 && !slices.Contains(known, key) {
			d.problems.add(under(path, shorten(key)), "unknown key; allowed are %s", strings.Join(known, ", "))
		}
	}
	return o
}

func (d *decoder) list(tree any, path string) []any {
	if tree == nil {
		return nil
	}
	list, ok := tree.([]any)
	if !ok {
		d.problems.add(path, "a list is expected")
	}
	return list
}

func (d *decoder) text(o map[string]any, path, key string) string {
	v, ok := o[key]
	if !ok || v == nil {
		return ""
	}
	s, ok := v.(string)
	if !ok {
		d.problems.add(under(path, key), "text is expected")
	}
	return s
}

func (d *decoder) names(o map[string]any, path, key string) Names {
	v, ok := o[key]
	if !ok || v == nil {
		return Names{}
	}
	if s, ok := v.(string); ok {
		return Names{All: []string{s}}
	}
	list, ok := v.([]any)
	if !ok {
		d.problems.add(under(path, key), "a name or a list of names is expected")
		return Names{}
	}
	n := Names{List: true}
	for i, item := range list {
		s, ok := item.(string)
		if !ok {
			d.problems.add(at(under(path, key), i), "a name is expected")
		}
		n.All = append(n.All, s)
	}
	return n
}

func place(path string) string {
	if path == "" {
		return "security"
	}
	return path
}

// shorten keeps what a message repeats of the input short.
func shorten(text string) string {
	const most = 60
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
