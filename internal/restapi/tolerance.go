package restapi

import (
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// openResponses lets answers grow: within a version fields may be added to them, so a schema that only answers use must not
// forbid further properties, or clients generated from it would refuse the next release. What requests use stays closed.
func openResponses(doc *huma.OpenAPI) {
	schemas := doc.Components.Schemas.Map()
	asked := make(map[string]bool)
	for _, operation := range operations(doc) {
		if operation.RequestBody == nil {
			continue
		}
		for _, content := range operation.RequestBody.Content {
			markUsed(content.Schema, schemas, asked)
		}
	}
	for name, schema := range schemas {
		if !asked[name] {
			schemas[name] = opened(schema)
		}
	}
	for _, operation := range operations(doc) {
		for _, response := range operation.Responses {
			for _, content := range response.Content {
				content.Schema = opened(content.Schema)
			}
		}
	}
}

func operations(doc *huma.OpenAPI) (all []*huma.Operation) {
	for _, item := range doc.Paths {
		for _, operation := range []*huma.Operation{item.Get, item.Post, item.Put, item.Patch, item.Delete} {
			if operation != nil {
				all = append(all, operation)
			}
		}
	}
	return all
}

// markUsed notes the named schemas that a schema is made of.
func markUsed(schema *huma.Schema, schemas map[string]*huma.Schema, used map[string]bool) {
	if schema == nil {
		return
	}
	if name := schema.Ref[strings.LastIndex(schema.Ref, "/")+1:]; name != "" && !used[name] {
		used[name] = true
		markUsed(schemas[name], schemas, used)
	}
	for _, part := range parts(schema) {
		markUsed(part, schemas, used)
	}
}

func parts(schema *huma.Schema) []*huma.Schema {
	all := []*huma.Schema{schema.Items, schema.Not}
	for _, property := range schema.Properties {
		all = append(all, property)
	}
	for _, list := range [][]*huma.Schema{schema.OneOf, schema.AnyOf, schema.AllOf} {
		all = append(all, list...)
	}
	if further, ok := schema.AdditionalProperties.(*huma.Schema); ok {
		all = append(all, further)
	}
	return all
}

// opened is a copy of the schema, and of the unnamed ones within it, that allows further properties. The original stays:
// the service it belongs to validates with it.
func opened(schema *huma.Schema) *huma.Schema {
	if schema == nil {
		return nil
	}
	open := *schema
	if open.AdditionalProperties == false {
		open.AdditionalProperties = nil
	}
	if further, ok := open.AdditionalProperties.(*huma.Schema); ok {
		open.AdditionalProperties = opened(further)
	}
	open.Items = opened(open.Items)
	open.Properties = make(map[string]*huma.Schema, len(schema.Properties))
	for name, property := range schema.Properties {
		open.Properties[name] = opened(property)
	}
	open.OneOf, open.AnyOf, open.AllOf = openedAll(open.OneOf), openedAll(open.AnyOf), openedAll(open.AllOf)
	return &open
}

func openedAll(schemas []*huma.Schema) []*huma.Schema {
	if schemas == nil {
		return nil
	}
	all := make([]*huma.Schema, len(schemas))
	for i, schema := range schemas {
		all[i] = opened(schema)
	}
	return all
}
