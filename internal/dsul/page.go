package dsul

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// page checks a page. What a block shows is its own affair: only what every block has in common is checked.
func (c *checker) page(root *yaml.Node) {
	shape(fields{
		"slug": slugOf, "name?": title, "description": localized, "labels": labels(), "blocks": list(block), "styles": words,
		"onInit": eventSource(), "updateOn": eventOrList, "notifyOn": eventOrList, "automation": automationSource(),
		"colorScheme": oneOf("auto", "light", "dark"), "favicon": words, "customDomains": list(words),
		"accessControl": free, "language": free, "seoSettings": free, // written by older editors, without effect
		"id~": nil, "permissions~": nil, "events~": nil, "workspaceId~": nil, "workspaceSlug~": nil, "checksum~": nil,
		"createdAt~": nil, "createdBy~": nil, "updatedAt~": nil, "updatedBy~": nil,
	})(c, nil, root)
}

// block is the rule of a block of a page: a slug, what all blocks know, and fields of its own.
func block(c *checker, at *where, n *yaml.Node) {
	if !c.isMap(at, n) {
		return
	}
	slug := get(n, "slug")
	if scalarText(slug) == "" {
		c.mind(at.at("slug"), n, "missing_key", "a block needs its slug, such as RichText")
	}
	if c.block == nil {
		c.block = blockFields()
	}
	for _, e := range entries(n) {
		if check, ok := c.block[e.key]; ok && !isNull(e.value) {
			check(c, at.at(e.key), e.value)
		}
	}
}

func blockFields() fields {
	return fields{
		"slug": words, "onInit": eventSource(), "updateOn": eventOrList, "automation": automationSource(), "className": words,
		"css": words, "sectionId": words, "blocks": children, "if": condition, "repeat": repetition, "item": words,
		"template.if": condition, "template.repeat": repetition, "template": shape(fields{"if": condition, "repeat": repetition}),
	}
}

// children is the rule of blocks inside a block. Some blocks keep other things than blocks there.
func children(c *checker, at *where, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		return
	}
	for i, item := range n.Content {
		if child := through(item); get(child, "slug") != nil {
			block(c, at.item(i), child)
		}
	}
}

// eventSource is the rule of an event that a page sends: its name, or its name and what it carries.
func eventSource() rule {
	return either(pageEvent, shape(fields{"event!": pageEvent, "payload": free}))
}

// automationSource is the rule of the automation whose answer fills a page or a block.
func automationSource() rule { return either(words, shape(fields{"slug!": words, "payload": free})) }

func pageEvent(c *checker, at *where, n *yaml.Node) {
	if c.isWords(at, n) && n.Value != "" && !strings.Contains(n.Value, "{{") && !eventPattern.MatchString(n.Value) {
		c.mind(at, n, "bad_event", "the name of an event has letters, digits, spaces and . _ -")
	}
}

func eventOrList(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.SequenceNode {
		list(pageEvent)(c, at, n)
	} else {
		pageEvent(c, at, n)
	}
}

// condition is the rule of what shows or hides a block.
func condition(c *checker, at *where, n *yaml.Node) {
	if n.Kind != yaml.ScalarNode {
		c.mind(at, n, "wrong_type", "this must be a text such as \"{{visible}}\" or \"!{{hidden}}\"")
	}
}

// repetition is the rule of what a block is repeated for.
func repetition(c *checker, at *where, n *yaml.Node) {
	if n.Kind == yaml.MappingNode {
		shape(fields{"on!": free, "as": words})(c, at, n)
	} else if n.Kind != yaml.SequenceNode {
		words(c, at, n)
	}
}
