package rest

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/access"
	"atelier/internal/events/internal/cleanup"
	"atelier/internal/ident"
	"atelier/internal/restapi"
	"atelier/internal/schedule"
	"atelier/internal/sqldb"
)

type cleanupInput struct {
	DryRun bool `query:"dryRun" doc:"Only tell what would be removed."`
}

type cleanupOutput struct{ Body cleanup.Sweeping }

// Stripping is what was done to the events of executed automations.
type Stripping struct {
	Task   string `json:"task" doc:"Tells this run from others."`
	Result struct {
		Task    string `json:"task" doc:"The same."`
		Updated int64  `json:"updated" doc:"How many events lost their payload and output, or would."`
	} `json:"result" doc:"What was done."`
	DryRun bool `json:"dryRun,omitempty" doc:"Nothing was changed."`
}

type strippingOutput struct{ Body Stripping }

// ScheduledJob is something that is done at times.
type ScheduledJob struct {
	Name  string     `json:"name" doc:"What is done."`
	Next  *time.Time `json:"next,omitempty" doc:"When it is due."`
	Last  *time.Time `json:"last,omitempty" doc:"When it was due last and was done."`
	Error string     `json:"error,omitempty" doc:"What was wrong with the last time."`
}

type jobsOutput struct {
	Body struct {
		Jobs []ScheduledJob `json:"jobs" nullable:"false" doc:"By name."`
	}
}

// RegisterCleanup adds the operations with which events are removed by hand or by another scheduler, which are internal.
func RegisterCleanup(api *restapi.API, c *cleanup.Cleanup, db *sqldb.DB, ids ident.Source) {
	internal := restapi.Operation{Method: http.MethodPost, Tag: "System", Policy: access.InternalOnly, Hidden: true}
	sweep, strip, jobs := internal, internal, internal
	sweep.ID, sweep.Path, sweep.Summary = "cleanIndices", "/sys/cleanup/indices", "Remove events that are too old, of inactive and of deleted workspaces"
	restapi.Register(api, sweep, func(ctx context.Context, in *cleanupInput) (*cleanupOutput, error) {
		report, err := c.Sweep(ctx, in.DryRun)
		return &cleanupOutput{Body: report}, err
	})
	strip.ID, strip.Path, strip.Summary = "cleanExecutedEvents", "/sys/cleanup/executed-events", "Remove payload and output of old events of executed automations"
	restapi.Register(api, strip, func(ctx context.Context, in *cleanupInput) (*strippingOutput, error) {
		n, err := c.Strip(ctx, in.DryRun)
		out := &strippingOutput{Body: Stripping{Task: ids.UUID(), DryRun: in.DryRun}}
		out.Body.Result.Task, out.Body.Result.Updated = out.Body.Task, n
		return out, err
	})
	jobs.ID, jobs.Method, jobs.Path, jobs.Summary = "listSchedules", http.MethodGet, "/sys/schedules", "What is done at which times"
	restapi.Register(api, jobs, func(ctx context.Context, _ *struct{}) (*jobsOutput, error) {
		all, err := schedule.Jobs(ctx, db)
		out := &jobsOutput{}
		out.Body.Jobs = []ScheduledJob{}
		for _, job := range all {
			out.Body.Jobs = append(out.Body.Jobs, ScheduledJob{Name: job.Name, Next: given(job.Next), Last: given(job.Last), Error: job.Error})
		}
		return out, err
	})
}

func given(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
