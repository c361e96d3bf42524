package dsul

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// index checks the document of a workspace itself. What else an exported one holds is known, but nobody may write it here:
// it has routes and rights of its own. What its repositories mean is for their own package to check; here they have a shape.
func (c *checker) index(root *yaml.Node) {
	known := fields{
		"slug": workspaceSlug, "name?": workspaceName, "description": localized, "photo": address, "labels": labels(),
		"config": shape(fields{"schema": fieldsOf, "block": words, "value": free}),
		"blocks": blocks, "registerWorkspace": flag, "secrets": shape(fields{"schema": fieldsOf}),
		"events":       shape(fields{"types": eventTypes, "mapping": mapOf(free)}),
		"repositories": repositories,
		"checksum~":    nil,
		"createdAt~":   nil, "createdBy~": nil, "updatedAt~": nil, "updatedBy~": nil, "workspaceId~": nil, "workspaceSlug~": nil,
	}
	if c.mode == Lenient {
		for key := range strings.FieldsSeq("id writeLock platformRepositories customDomains automations pages imports permissions versions") {
			known[key] = free
		}
	}
	shape(known)(c, nil, root)
}

// blocks is the rule of the blocks that a workspace defines.
func blocks(c *checker, at *where, n *yaml.Node) {
	one := shape(fields{
		"slug": words, "name": localized, "description": localized, "photo": address, "url": words, "edit": free, "block": words, "config": free,
		"automation": automationSource(), "blocks": list(block), "css": words, "schema": fieldsOf, "onInit": eventSource(), "updateOn": eventOrList,
	})
	if !c.isMap(at, n) {
		return
	}
	for _, e := range entries(n) {
		inside := at.at(e.key)
		if strings.TrimSpace(e.key) == "" || strings.Contains(e.key, ".") {
			c.mind(inside, e.at, "bad_slug", "the slug of a block is not empty and has no dot: the dot separates an app's name from its block")
		}
		if !isNull(e.value) {
			one(c, inside, e.value)
		}
	}
}

// eventTypes is the rule of the events whose fields are indexed.
func eventTypes(c *checker, at *where, n *yaml.Node) {
	one := shape(fields{"schema": fieldsOf, "description": localized, "title": localized})
	if !c.isMap(at, n) {
		return
	}
	for _, e := range entries(n) {
		if !eventPattern.MatchString(e.key) {
			c.mind(at.at(e.key), e.at, "bad_event", "the name of an event has letters, digits, spaces and . _ -")
		}
		if !isNull(e.value) {
			one(c, at.at(e.key), e.value)
		}
	}
}
