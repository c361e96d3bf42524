package versioning

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"atelier/internal/access"
	"atelier/internal/workspaces/internal/archive"
)

// outgoing is what has to be written: only what differs from what both had.
func (v *Versioning) outgoing(ctx context.Context, p *pushing, other place, at time.Time) error {
	w := p.run.op.Workspace
	p.out = difference(p.known.base, p.local.side)
	if p.run.repository.Platform {
		text, err := v.Archives.Describe(ctx, w, p.local.tree, p.local.side.files(), p.Name, v.Platform.GroupsOf(w.Labels))
		if err != nil {
			return err
		}
		p.out.write[archive.ImportName] = text
	}
	if b, ok := other.(*branch); ok {
		if err := b.untouched(p.seen, p.known.base, p.out, p.run.repository); err != nil {
			return err
		}
	}
	p.out.author, p.out.when, p.out.tag = v.Person(ctx, access.From(ctx).UserID), at, p.Name
	words := message(p.Description, "")
	p.out.message, p.out.said = cmp.Or(words, "Version "+p.Name+" of "+w.Slug), words != ""
	var err error
	p.out.parents, err = parents(ctx, p.seen, other)
	return err
}

// parents are those of a commit that the target branch and the intermediate branch can both go forward to.
func parents(ctx context.Context, s sight, other place) ([]string, error) {
	b, ok := other.(*branch)
	if !ok {
		return nil, nil
	}
	var list []string
	if s.Head != "" {
		list = append(list, s.Head)
	}
	contained, err := b.contains(ctx, s.Head, s.Intermediate)
	if err != nil || contained {
		return list, err
	}
	return append(list, s.Intermediate), nil
}

// difference is what makes one side another.
func difference(from, to side) outgoing {
	o := outgoing{write: map[string][]byte{}}
	for _, path := range to.paths() {
		if !same(from, to, path) {
			o.write[path+to[path].ext] = to[path].text
		}
	}
	for _, path := range from.paths() {
		name := path + from[path].ext
		if _, there := to[path]; !there || to[path].ext != from[path].ext {
			o.remove = append(o.remove, name)
		}
	}
	return o
}

// message is what a commit says.
func message(description json.RawMessage, otherwise string) string {
	var text string
	if json.Unmarshal(description, &text) == nil && text != "" {
		return text
	}
	var byLanguage map[string]string
	if json.Unmarshal(description, &byLanguage) == nil {
		if text := byLanguage["en"]; text != "" {
			return text
		}
		for _, language := range slices.Sorted(maps.Keys(byLanguage)) {
			return byLanguage[language]
		}
	}
	return otherwise
}
