package rest

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/internal/engine"
	"atelier/internal/events/internal/query"
	"atelier/internal/restapi"
)

type usageInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
	AfterDate   string `query:"afterDate" required:"true" maxLength:"40" doc:"Where the period begins: a date, or milliseconds since 1970."`
	BeforeDate  string `query:"beforeDate" required:"true" maxLength:"40" doc:"Where the period ends: a date, or milliseconds since 1970. What happened then is not part of it."`
	Interval    string `query:"interval" enum:"day,month" doc:"Also give the usage of each day, or month (UTC)."`
	Details     bool   `query:"details" doc:"Also give the usage of each instance of an app."`
}

type usageOutput struct{ Body *engine.Usage }

// RegisterUsage adds the usage of workspaces.
func RegisterUsage(api *restapi.API, e *engine.Engine) {
	restapi.Register(api, restapi.Operation{
		ID: "getUsage", Method: http.MethodGet, Path: "/v2/workspaces/{workspaceId}/usage", Tag: "Events", Policy: access.Callers, Scope: access.EventsRead,
		Summary: "Get the usage", Description: "How much a workspace was used in a period: what was started from outside, by whom, and what its apps say about their own usage.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound, errs.PermissionDenied, errs.GatewayTimeout},
	}, func(ctx context.Context, in *usageInput) (*usageOutput, error) {
		period, err := in.period()
		if err != nil {
			return nil, err
		}
		usage, err := e.Usage(ctx, in.WorkspaceID, period)
		return &usageOutput{Body: usage}, err
	})
}

// maxPeriod is how long a period may be that is divided.
const maxPeriod = 10 * 366 * 24 * time.Hour

func (in *usageInput) period() (engine.Period, error) {
	period := engine.Period{Step: engine.Step(in.Interval), Details: in.Details}
	for _, bound := range []struct {
		name, text string
		into       *time.Time
	}{{"afterDate", in.AfterDate, &period.From}, {"beforeDate", in.BeforeDate, &period.To}} {
		moment, ok := query.ParseMoment(bound.text)
		if !ok {
			return period, errs.Parameter(bound.name, query.MomentForm)
		}
		*bound.into = moment
	}
	if !period.From.Before(period.To) {
		return period, errs.Parameter("beforeDate", "use a time after afterDate")
	}
	if in.Interval != "" && period.To.Sub(period.From) > maxPeriod {
		return period, errs.Parameter("interval", "ask for at most ten years, or without an interval")
	}
	return period, nil
}
