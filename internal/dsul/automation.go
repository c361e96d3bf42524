package dsul

import "go.yaml.in/yaml/v3"

// automation checks an automation.
func (c *checker) automation(root *yaml.Node) {
	shape(fields{
		"slug": slugOf, "name?": title, "description": localized, "labels": labels(),
		"when": shape(fields{"events": list(eventName), "endpoint": endpoint, "schedules": list(schedule)}),
		"do!":  steps, "output": value,
		"arguments": mapOf(typed), "validateArguments": flag,
		"schemas": list(shape(fields{"conditions": mapOf(free), "payload": fieldsOf, "output": fieldsOf})),
		"private": flag, "disabled": flag, "authorizations": shape(fields{"action": words}),
		"events~": nil, "id~": nil, "workspaceId~": nil, "checksum~": nil, "createdAt~": nil, "createdBy~": nil, "updatedAt~": nil, "updatedBy~": nil,
	})(c, nil, root)
}
