package engine

import (
	"context"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/events/internal/query"
	"atelier/internal/events/internal/store"
)

// Period is what usage is asked for: from a time up to another, which is not part of it. With a step it is also told for each
// day or month (UTC).
type Period struct {
	From, To time.Time
	Step     Step
	// Details tells the usage of each instance of an app, and of apps in each step.
	Details bool
}

// Step divides a period.
type Step string

// The steps.
const (
	NoStep  Step = ""
	ByDay   Step = "day"
	ByMonth Step = "month"
)

// next is when the step after the one at a time begins, floor when that one did.
func (s Step) next(t time.Time) time.Time {
	if s == ByMonth {
		return s.floor(t).AddDate(0, 1, 0)
	}
	return s.floor(t).AddDate(0, 0, 1)
}

func (s Step) floor(t time.Time) time.Time {
	year, month, day := t.UTC().Date()
	if s == ByMonth {
		day = 1
	}
	return time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
}

// Usage is how much a workspace was used in a period.
type Usage struct {
	WorkspaceID string       `json:"workspaceId" doc:"The workspace."`
	AfterDate   time.Time    `json:"afterDate" doc:"Where the period begins."`
	BeforeDate  time.Time    `json:"beforeDate" doc:"Where the period ends; what happened then is not part of it."`
	Interval    Step         `json:"interval,omitempty" doc:"The steps of the time series."`
	Total       UsageMetrics `json:"total" doc:"The usage in the whole period."`
	Timeseries  []UsageStep  `json:"timeseries,omitempty" doc:"The usage in each step."`
	Apps        []AppUsage   `json:"apps" nullable:"false" doc:"What apps say about their usage."`
}

// UsageMetrics are the figures of usage.
type UsageMetrics struct {
	Transactions         int `json:"transactions" doc:"How many things were started from outside, whatever that set off."`
	HTTPTransactions     int `json:"httpTransactions" doc:"Those that began with a call."`
	EventTransactions    int `json:"eventTransactions" doc:"Those that began with an event."`
	ScheduleTransactions int `json:"scheduleTransactions" doc:"Those that began by schedule."`
	Sessions             int `json:"sessions" doc:"How many sessions there were."`
	Users                int `json:"users" doc:"How many users there were."`
}

// UsageStep is the usage in a part of the period.
type UsageStep struct {
	Date  time.Time    `json:"date" doc:"Where it begins."`
	Total UsageMetrics `json:"total" doc:"The usage in it."`
	Apps  []AppUsage   `json:"apps,omitempty" doc:"What apps say about it; with details."`
}

// AppUsage is what an app, or an instance of one, says about its usage.
type AppUsage struct {
	Slug         string       `json:"slug" doc:"The app, or the instance."`
	Total        CustomTotals `json:"total" doc:"Its figures."`
	AppInstances []AppUsage   `json:"appInstances,omitempty" doc:"The instances of the app; with details."`
}

// CustomTotals are figures that an app gives names to.
type CustomTotals struct {
	Custom map[string]float64 `json:"custom" doc:"The figures by their names."`
}

const (
	triggered    = "runtime.interactions.triggered"
	usageEvents  = ".usage"
	maxUsageType = 1000
)

// Usage tells how much a workspace was used.
func (e *Engine) Usage(ctx context.Context, ref string, period Period) (*Usage, error) {
	v, err := e.visit(ctx, ref)
	if err != nil {
		return nil, err
	}
	if err := v.ability.Check(access.ActionGetUsage, access.SubjectWorkspaces, nil); err != nil {
		return nil, v.asNamed(err)
	}
	ctx, done := e.limited(ctx)
	defer done()
	counted, err := e.usage(ctx, v.workspaceID, period)
	if err != nil {
		return nil, inTime(ctx, err)
	}
	return counted.report(v.workspaceID), nil
}

func (e *Engine) usage(ctx context.Context, workspaceID string, period Period) (*usage, error) {
	counted := newUsage(period)
	types, err := e.Index.Types(ctx, workspaceID, maxUsageType)
	if err != nil {
		return nil, err
	}
	var wanted []string
	for _, t := range types {
		if t == triggered || strings.HasSuffix(t, usageEvents) {
			wanted = append(wanted, t)
		}
	}
	if len(wanted) == 0 {
		return counted, nil
	}
	err = e.store().Each(ctx, store.Search{
		WorkspaceID: workspaceID, Readable: access.Filter{Everything: true}, Ascending: true,
		Filter: query.OfTypes(wanted...).And(query.Between(period.From, period.To)),
	}, func(d *query.Document) (bool, error) {
		counted.add(d)
		return true, nil
	})
	return counted, err
}
