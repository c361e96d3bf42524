package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/restapi"
)

// StatusBody is the system status.
type StatusBody struct {
	Status  string `json:"status" enum:"ok" doc:"ok while the gateway answers."`
	Name    string `json:"name" doc:"The product."`
	Version string `json:"version" doc:"The version that runs."`
}

type statusOutput struct{ Body StatusBody }

func registerStatus(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "getStatus", Method: http.MethodGet, Path: "/{$}", Tag: "System", Policy: access.Public, Summary: "System status",
	}, func(context.Context, *struct{}) (*statusOutput, error) {
		return &statusOutput{Body: StatusBody{Status: "ok", Name: "Atelier", Version: deps.Version}}, nil
	})
}
