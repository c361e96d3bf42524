package definitions

import (
	"strings"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
	"atelier/internal/workspaces"
)

// takeOver makes the fields of the workspace what its index says. The slug is not among them: it belongs to the
// environment, and is changed by whoever may choose it. Labels that an import added stay until somebody sets others.
func (e *Edit) takeOver(c *change) {
	same := c.beforeText != nil && !changed(c.beforeText, c.after, "labels")
	TakeOver(&e.Workspace, c.after, e.purpose.KeepLabels || same)
}

// TakeOver makes the fields of a workspace what its index says; what the index does not say, or says wrongly, stays.
func TakeOver(w *workspaces.Workspace, index *dsul.Document, keepLabels bool) {
	if name := []rune(textOf(index.Get("name"))); len(name) > 0 {
		w.Name = string(name[:min(len(name), longestName)])
	}
	w.Photo = textOf(index.Get("photo"))
	w.Description, w.Localized = localized(index)
	if keepLabels {
		return
	}
	w.Labels = Labels(index)
}

// Labels are those that an index gives its workspace, without what is not one.
func Labels(index *dsul.Document) []string {
	labels := []string{}
	list := index.Get("labels")
	if list == nil || list.Kind != yaml.SequenceNode {
		return labels
	}
	for _, item := range list.Content {
		if text := textOf(item); text != "" && workspaces.CheckLabels([]string{text}) == nil {
			labels = append(labels, text)
		}
	}
	return labels
}

// registers tells that a document is the index of a workspace that lets others find it.
func registers(doc *dsul.Document) bool {
	said := doc.Get("registerWorkspace")
	return doc.Kind == dsul.Index && said != nil && dsul.Tag(said) == "!!bool" && strings.EqualFold(said.Value, "true")
}

func textOf(n *yaml.Node) string {
	if n == nil || n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		return ""
	}
	return n.Value
}

// localized gives a description: a text, or the JSON of texts by language.
func localized(index *dsul.Document) (text string, several bool) {
	n := index.Get("description")
	if n == nil || n.Kind != yaml.MappingNode {
		return textOf(n), false
	}
	return string(dsul.JSON(n)), true
}
