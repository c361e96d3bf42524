package archive

import (
	"maps"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
)

// timeForm is how times are written.
const timeForm = "2006-01-02T15:04:05.000Z07:00"

// Render is the text of .import.yml: the same for the same info, and read back by ParseImport as it was.
func (i *ImportInfo) Render() []byte {
	root := &mapNode{}
	root.text("workspaceId", i.WorkspaceID)
	version := &mapNode{}
	version.text("type", i.Version.Type)
	version.text("name", i.Version.Name)
	version.time("exportedAt", i.Version.ExportedAt)
	version.time("importedAt", i.Version.ImportedAt)
	root.add("version", version.node())
	root.list("groups", i.Groups)
	root.list("dependsOn", i.DependsOn)
	if i.App != nil {
		app := &mapNode{}
		app.text("slug", i.App.Slug)
		app.text("name", i.App.Name)
		app.text("description", i.App.Description)
		root.add("app", app.node())
	}
	checksums := &mapNode{}
	for _, kind := range slices.Sorted(maps.Keys(i.Checksums)) {
		sums := &mapNode{}
		for _, slug := range slices.Sorted(maps.Keys(i.Checksums[kind])) {
			sums.text(slug, i.Checksums[kind][slug])
		}
		checksums.add(kind, sums.node())
	}
	root.add("checksums", checksums.node())
	if root.content == nil {
		return []byte("{}\n")
	}
	return dsul.Encode(root.node())
}

// mapNode is a YAML map being built. What is empty is left out.
type mapNode struct{ content []*yaml.Node }

func scalarNode(text string) *yaml.Node {
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text}
}

func (m *mapNode) add(key string, value *yaml.Node) {
	if value != nil {
		m.content = append(m.content, scalarNode(key), value)
	}
}

func (m *mapNode) text(key, text string) {
	if text != "" {
		m.add(key, scalarNode(text))
	}
}

func (m *mapNode) time(key string, at *time.Time) {
	if at != nil {
		m.text(key, at.UTC().Format(timeForm))
	}
}

func (m *mapNode) list(key string, items []string) {
	if len(items) == 0 {
		return
	}
	list := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
	for _, item := range items {
		list.Content = append(list.Content, scalarNode(item))
	}
	m.add(key, list)
}

func (m *mapNode) node() *yaml.Node {
	if len(m.content) == 0 {
		return nil
	}
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: m.content}
}
