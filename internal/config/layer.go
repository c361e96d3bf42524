package config

import "strings"

// fileSuffix marks the variable that names the file of a secret.
const fileSuffix = "_FILE"

// originDefault is the origin of a value that nobody gave.
const originDefault = "default"

// entry is one value that was given.
type entry struct {
	name   string // as the operator wrote it
	text   string
	origin string // for the listing
	where  string // for messages: like origin, with the line where there is one; empty for a default
}

// layer is what one source gives, by the name that the operator wrote. A name without text is not in it.
type layer map[string]entry

// put adds a value; an empty one means that the setting is not set.
func (given layer) put(e entry) {
	if e.text != "" {
		given[e.name] = e
	}
}

// defaults is the lowest layer. A setting without a default keeps the zero value of its field.
func (l *loader) defaults() layer {
	given := layer{}
	for _, s := range l.table {
		preset := entry{name: s.name, text: s.preset, origin: originDefault}
		given.put(preset)
		l.origins[s.name] = preset
	}
	return given
}

// fromFlags is the highest layer.
func (l *loader) fromFlags() layer {
	given := layer{}
	known := map[string]string{}
	for _, s := range l.table {
		known[s.flag] = s.name
	}
	for flag, text := range l.src.Flags {
		origin := "flag --" + flag
		name, found := known[flag]
		switch {
		case flag == configFlag:
		case flag == "" || !found:
			l.problems.add("--"+oneLine(flag), "not a setting", "")
		default:
			given.put(entry{name: name, text: text, origin: origin, where: origin})
		}
	}
	return given
}

// choose finds the value that a layer gives to a setting under any of its names.
func (l *loader) choose(s setting, given layer) (entry, bool) {
	var chosen entry
	for _, name := range s.names() {
		candidate, found := l.direct(s, given, name)
		if !found {
			continue
		}
		if chosen.name != "" && chosen.text != candidate.text {
			l.fail(s, chosen.name+" and "+candidate.name+" are two names of one setting and differ; set one of them", candidate.where)
			return entry{}, false
		}
		if chosen.name == "" {
			chosen = candidate
		}
	}
	return chosen, chosen.name != ""
}

// direct finds the value that a layer gives under one name, or in the file that NAME_FILE names.
func (l *loader) direct(s setting, given layer, name string) (entry, bool) {
	value, found := given[name]
	if !s.secret() {
		return value, found
	}
	pointer, pointed := given[name+fileSuffix]
	if found && pointed {
		l.fail(s, name+" and "+pointer.name+" are both set; set one of them", pointer.where)
		return entry{}, false
	}
	if pointed {
		return l.readSecret(s, pointer)
	}
	return value, found
}

// readSecret reads the file that holds a secret. The newline that editors leave at its end is not part of it.
func (l *loader) readSecret(s setting, pointer entry) (entry, bool) {
	content, err := l.src.ReadFile(pointer.text)
	if err != nil {
		l.fail(s, unreadable(pointer.text, err), pointer.where)
		return entry{}, false
	}
	path := pointer.text
	pointer.text = strings.TrimRight(string(content), "\r\n")
	if pointer.text == "" {
		l.fail(s, "the file "+quote(path)+" is empty", pointer.where)
		return entry{}, false
	}
	return pointer, true
}
