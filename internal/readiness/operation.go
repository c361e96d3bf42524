package readiness

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/restapi"
)

// Path is where a service answers the gateway's readiness question.
func Path(service string) string { return "/sys/readiness/" + service }

type reportOutput struct{ Body Report }

// Register adds the operation with which the gateway asks a service in another process for its report.
func Register(api *restapi.API, service string, checker *Checker) {
	restapi.Register(api, restapi.Operation{
		ID: "getServiceReadiness", Method: http.MethodGet, Path: Path(service), Tag: "System", Policy: access.InternalOnly, Hidden: true,
		Summary: "Readiness of this service",
	}, func(ctx context.Context, _ *struct{}) (*reportOutput, error) {
		report, err := checker.Report(ctx)
		return &reportOutput{Body: report}, err
	})
}
