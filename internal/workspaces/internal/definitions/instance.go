package definitions

import (
	"bytes"
	"context"
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"atelier/internal/catalogue"
	"atelier/internal/dsul"
	"atelier/internal/dsul/splice"
)

// UpdateInstance replaces the keys of the configuration of an app instance that the body has, and removes those that are
// null. When it is the same afterwards, nothing was edited.
func (d *Definitions) UpdateInstance(ctx context.Context, ref string, write Write) (Stored, error) {
	write.Kind = dsul.Import
	path := dsul.Path(write.Kind, write.Slug)
	var edit *Edit
	var was *Stored
	_, err := d.Edit(ctx, ref, Purpose{}, func(ctx context.Context, e *Edit) error {
		before, err := e.standing(ctx, path, write.IfMatch)
		if err != nil {
			return err
		}
		edit, was = e, before
		doc, err := configured(before.Parsed, write)
		if err != nil || bytes.Equal(part(before.Parsed, "config"), part(doc, "config")) {
			return err
		}
		return e.Put(ctx, doc, before.Ext)
	})
	if err != nil {
		return Stored{}, err
	}
	return edit.result(path, was), nil
}

// configured is an app instance with other keys of its configuration.
func configured(instance *dsul.Document, write Write) (*dsul.Document, error) {
	given, problems := dsul.FromJSON(write.Kind, write.Slug, write.Body)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	text := instance.Text
	config := instance.Get("config")
	var err error
	if config == nil || config.Kind != yaml.MappingNode {
		if text, err = splice.Set(text, []string{"config"}, withoutNulls(given.Root)); err != nil {
			return nil, err
		}
	} else {
		for i := 0; i+1 < len(given.Root.Content) && err == nil; i += 2 {
			path, value := []string{"config", given.Root.Content[i].Value}, given.Root.Content[i+1]
			switch {
			case value.Tag != "!!null":
				text, err = splice.Set(text, path, value)
			case instance.Get(path...) != nil:
				text, err = splice.Delete(text, path)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	doc, _, err := reparsed(write, text, nil)
	if err != nil {
		return nil, err
	}
	return doc, checked(doc, write, []string{"config"})
}

// withoutNulls is a mapping without the keys that say that there is nothing.
func withoutNulls(mapping *yaml.Node) *yaml.Node {
	kept := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i+1].Tag != "!!null" {
			kept.Content = append(kept.Content, mapping.Content[i], mapping.Content[i+1])
		}
	}
	return kept
}

// importFacts are the events of an app instance. There is none when it means the same as before, however it is written.
func (e *Edit) importFacts(ctx context.Context, c *change, slug, oldSlug string) ([]fact, error) {
	before := e.formerText(c)
	if c.after == nil {
		return []fact{&catalogue.AppUninstalled{Slug: slug, AppSlug: textOf(before.Get("appSlug"))}}, nil
	}
	if before != nil && oldSlug == "" && bytes.Equal(whole(before), whole(c.after)) {
		return nil, nil
	}
	shape, err := e.shape(ctx, c.after)
	if err != nil {
		return nil, err
	}
	instance := instanceFacts(c.after)
	payload := &catalogue.AppInstance{Verb: catalogue.Installed, Slug: slug, OldSlug: oldSlug, AppSlug: textOf(c.after.Get("appSlug")), AppInstance: instance}
	if shape != nil {
		payload.Events = shape.Events
	}
	if before == nil {
		instance.Config = toldConfig(c.after, shape, shape)
		return []fact{payload}, nil
	}
	formerly, err := e.shape(ctx, before)
	if err != nil {
		return nil, err
	}
	instance.Config = toldConfig(c.after, shape, formerly)
	if changed(before, c.after, "config") {
		instance.OldConfig = toldConfig(before, formerly, shape)
	}
	payload.Verb = catalogue.Configured
	return []fact{payload}, nil
}

// formerText is the document that a change goes on with, also under another path; nil for a new one.
func (e *Edit) formerText(c *change) *dsul.Document {
	if c.beforeText != nil || c.renamed == "" {
		return c.beforeText
	}
	for _, other := range e.changes {
		if other.path == c.renamed {
			return other.beforeText
		}
	}
	return nil
}

// shape asks for the app of an instance; nil when it is not known.
func (e *Edit) shape(ctx context.Context, instance *dsul.Document) (*AppShape, error) {
	if e.d.References == nil {
		return nil, nil //nolint:nilnil // no app is known
	}
	return e.d.References.AppShape(ctx, e.Tx, textOf(instance.Get("appSlug")), textOf(instance.Get("appVersion")))
}

// toldConfig is the configuration of an instance as events say it, without what its app calls secret; another version of the
// app may call more of it so. Of an app that is not known nobody can tell, so nothing is said.
func toldConfig(doc *dsul.Document, own, other *AppShape) any {
	if own == nil || doc.Get("config") == nil {
		return nil
	}
	value := withoutSecrets(decoded(own.Config), decoded(part(doc, "config")))
	if other != nil {
		value = withoutSecrets(decoded(other.Config), value)
	}
	return value
}

// instanceFacts is what events say of an app instance besides its configuration.
func instanceFacts(doc *dsul.Document) *catalogue.InstalledApp {
	said := &catalogue.InstalledApp{Slug: doc.Slug}
	for key, place := range map[string]*json.RawMessage{
		"appSlug": &said.AppSlug, "appName": &said.AppName, "appVersion": &said.AppVersion, "disabled": &said.Disabled, "labels": &said.Labels,
	} {
		if doc.Get(key) != nil {
			*place = part(doc, key)
		}
	}
	return said
}
