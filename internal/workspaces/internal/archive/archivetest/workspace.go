package archivetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"atelier/internal/workspaces/internal/archive"
)

// Workspace is a workspace as people write them, the same for the same seed: comments, odd but valid YAML, line ends of
// Windows, several languages, anchors, slugs in folders, JSON here and there. Its files are sorted by path; every document
// is valid.
func Workspace(seed uint64) []archive.File {
	return Sized(seed, 1+int(seed*7%15))
}

// Sized is a workspace with this many automations, and a third as many pages and app instances.
func Sized(seed uint64, automations int) []archive.File {
	p := &pen{Rand: rand.New(rand.NewPCG(seed, 2026))} //nolint:gosec // the same every time, on purpose
	p.slugs("automations", automations)
	p.slugs("pages", automations/3)
	p.slugs("imports", automations/3)
	p.keep("index", p.index(seed))
	if p.chance(2) {
		p.keep("security", p.security())
	}
	for _, path := range p.paths {
		switch kind, _, _ := strings.Cut(path, "/"); kind {
		case "automations":
			p.keep(path, p.automation(path))
		case "pages":
			p.keep(path, p.page())
		default:
			p.keep(path, p.instance())
		}
	}
	slices.SortFunc(p.files, func(a, b archive.File) int { return strings.Compare(a.Path, b.Path) })
	return p.files
}

// pen writes the files of one workspace.
type pen struct {
	*rand.Rand
	paths []string // of documents that have a slug
	files []archive.File
}

func (p *pen) chance(oneIn int) bool { return p.IntN(oneIn) == 0 }

// pick is one of the texts.
func (p *pen) pick(texts ...string) string { return texts[p.IntN(len(texts))] }

// slugs makes up the slugs of one kind: no two of them differ only by case.
func (p *pen) slugs(kind string, n int) {
	for i := range n {
		slug := p.pick("order", "Send Mail", "billing/invoices/create", "_private", "a-b_c", "x", "Onboarding/Step 1", "9lives", strings.Repeat("long-", 15)+"slug")
		p.paths = append(p.paths, fmt.Sprintf("%s/%s%d", kind, slug, i))
	}
}

// keep adds a file: mostly YAML as it stands, sometimes with the habits of other editors.
func (p *pen) keep(path, text string) {
	ext := p.pick(".yml", ".yml", ".yml", ".yaml")
	switch habit := p.IntN(20); {
	case strings.HasPrefix(text, "{"):
		ext = ".json"
	case habit < 3:
		text = strings.ReplaceAll(text, "\n", "\r\n")
	case habit < 5:
		text = strings.TrimRight(text, "\n")
	case habit < 7:
		text += "\n\n# the end\n"
	case habit < 9:
		text = "---\n" + text
	}
	p.files = append(p.files, archive.File{Path: path, Ext: ext, Text: []byte(text)})
}

// comment is a comment or nothing.
func (p *pen) comment() string {
	return p.pick("", "", "", "# ask Zoë about this\n", "# -----\n#  注意: keep in order\n", "\n", "#\n", "# 100% {{not}} a template\n")
}

// name is a display name, as it is written in YAML.
func (p *pen) name() string {
	return p.pick("Order", "'Étape n° 1 : début'", `"Tab\tand \u00e9"`, "注文を処理する", "no quotes needed", "'it''s fine'", `"🙂 ok"`, "'007'", "{en: Order, fr: Commande}")
}

// value is any value, as it is written in YAML.
func (p *pen) value() string {
	return p.pick("'{{payload.amount}}'", "12", "1.50", "true", "null", "~", "'yes'", "2026-01-31", "[1, two, {three: 3}]", "{a: 1, b: [x, y]}", "'{% {{total}} + 1 %}'",
		`"line\nbreak"`, "plain text", "0o17", "1e3", "'# no comment'", "Ünïcödé", "''")
}

func (p *pen) variable() string {
	return p.pick("total", "user.cart", "session.step", "items[0].price", "run.note", "global.counter")
}

// called is the slug of an automation of the workspace, in quotes.
func (p *pen) called() string {
	for _, path := range p.paths {
		if slug, ok := strings.CutPrefix(path, "automations/"); ok && p.chance(3) {
			return "'" + slug + "'"
		}
	}
	slug, _ := strings.CutPrefix(p.paths[0], "automations/")
	return "'" + slug + "'"
}
