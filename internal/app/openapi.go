package app

import (
	automation "atelier/internal/automation/service"
	events "atelier/internal/events/service"
	"atelier/internal/gateway"
	"atelier/internal/restapi"
	workspaces "atelier/internal/workspaces/service"
)

// Document is the OpenAPI document of the installation.
type Document struct {
	JSON, YAML []byte
}

// APIs describes every service's operations without starting anything.
func APIs() []*restapi.API {
	return []*restapi.API{gateway.Describe(), workspaces.Describe(), events.Describe(), automation.Describe()}
}

// OpenAPI makes the document of all services, at the address of this installation.
func OpenAPI(version, serverURL string) (*Document, error) {
	merged, err := restapi.Document(version, serverURL, APIs()...)
	if err != nil {
		return nil, err
	}
	asJSON, err := merged.MarshalJSON()
	if err != nil {
		return nil, err
	}
	asYAML, err := merged.YAML()
	return &Document{JSON: asJSON, YAML: asYAML}, err
}
