package config

import (
	_ "embed"
	"strings"
)

// introduction is the part of the reference that is written by hand.
//
//go:embed introduction.md
var introduction string

// Reference is the text of docs/configuration.md, made from the table of settings. It is the same on every call.
func Reference() string {
	var page strings.Builder
	page.WriteString(introduction)
	group := ""
	for _, s := range readTable() {
		if s.group != group {
			group = s.group
			page.WriteString("\n## " + group + "\n\n| Name | Default | Allowed | Meaning |\n|---|---|---|---|\n")
		}
		page.WriteString(s.row())
	}
	return page.String()
}

func (s setting) row() string {
	preset := "none"
	if s.preset != "" {
		preset = "`" + s.preset + "`"
	}
	cells := []string{"`" + s.name + "`", preset, s.allowed(), s.meaning()}
	for i, cell := range cells {
		cells[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// meaning is the text of a setting, followed by the other ways to give it.
func (s setting) meaning() string {
	text := s.doc
	if s.secret() {
		text += " *Secret*; also `" + s.name + fileSuffix + "`."
	}
	if len(s.aliases) > 0 {
		text += " Older names: `" + strings.Join(s.aliases, "`, `") + "`."
	}
	if s.flag != "" {
		text += " Flag: `--" + s.flag + "`."
	}
	return text
}
