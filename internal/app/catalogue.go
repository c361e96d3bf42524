package app

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"go.yaml.in/yaml/v3"

	"atelier/internal/catalogue"
	"atelier/internal/envelope"
)

// schemas is where the document of events keeps its parts.
const schemas = "#/components/schemas/"

// eventsDocument is the document of all events of the platform, in the order in which it is written.
type eventsDocument struct {
	OpenAPI    string         `yaml:"openapi"`
	Info       map[string]any `yaml:"info"`
	Components struct {
		Schemas map[string]any `yaml:"schemas"`
	} `yaml:"components"`
}

// Events makes the document of the events that the platform emits, as YAML: the envelope, each payload, and each type of event
// with the two put together.
func Events(version string) ([]byte, error) {
	registry := EventSchemas()
	text, err := json.Marshal(registry)
	if err != nil {
		return nil, err
	}
	document := eventsDocument{OpenAPI: "3.1.0", Info: map[string]any{
		"title": "Events of Atelier", "version": version,
		"description": "Every type of event that the platform itself emits, under the name of its type. x-service is the service it is about; " +
			"x-automations tells what automations may do with it: read it, also wait for it, or also be started by it; x-persisted tells whether it is stored.",
	}}
	if err := json.Unmarshal(text, &document.Components.Schemas); err != nil {
		return nil, err
	}
	for _, e := range catalogue.Entries() {
		document.Components.Schemas[e.Type] = described(registry, e)
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	err = encoder.Encode(document)
	return out.Bytes(), err
}

// EventSchemas are the schemas of the envelope and of all payloads.
func EventSchemas() huma.Registry {
	registry := huma.NewMapRegistry(schemas, schemaName)
	registry.Schema(reflect.TypeFor[envelope.Event](), true, "")
	for _, e := range catalogue.Entries() {
		registry.Schema(reflect.TypeOf(e.Payload).Elem(), true, "")
	}
	return registry
}

// described is a type of event.
func described(registry huma.Registry, e catalogue.Entry) map[string]any {
	payload := registry.Schema(reflect.TypeOf(e.Payload).Elem(), true, "").Ref
	return map[string]any{
		"description": e.Doc,
		"allOf": []any{
			map[string]any{"$ref": schemas + "Event"},
			map[string]any{"type": "object", "properties": map[string]any{
				"type": map[string]any{"const": e.Type}, "payload": map[string]any{"$ref": payload},
			}},
		},
		"x-service": e.Service, "x-automations": e.Use.String(), "x-persisted": !e.Transient,
	}
}

// schemaName names the schema of a Go type. Parts of the envelope say so, where payloads have parts of the same name.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if strings.HasSuffix(t.PkgPath(), "/envelope") && name != "Event" {
		return "Event" + name
	}
	return name
}
