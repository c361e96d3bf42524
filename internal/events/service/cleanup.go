package service

import (
	"context"
	"time"

	"atelier/internal/dsul/cron"
	"atelier/internal/events/internal/cleanup"
	"atelier/internal/schedule"
)

// Cleanup says which events are removed, and when.
type Cleanup struct {
	cleanup.Settings
	// Sweep is when events are removed, Strip when those of executed automations lose their content, in Zone.
	Sweep, Strip cron.Schedule
	Zone         *time.Location
}

// newCleanup is what removes events.
func newCleanup(deps Deps) *cleanup.Cleanup {
	return &cleanup.Cleanup{Settings: deps.Cleanup.Settings, Clock: deps.Clock, DB: deps.DB, Bus: deps.Bus, Known: deps.Known, Index: deps.indexed(), Marks: deps.marks()}
}

// Schedules does what is due at times, until ctx ends.
func (s *Service) Schedules(ctx context.Context) error {
	runner := schedule.Runner{DB: s.deps.DB, Clock: s.deps.Clock, Log: s.deps.Log}
	return runner.Run(ctx, s.Jobs()...)
}

// Jobs are what is done at times.
func (s *Service) Jobs() []schedule.Job {
	when := s.deps.Cleanup
	minutes, _ := cron.Parse("*/10 * * * *") // cannot fail
	nightly, _ := cron.Parse("15 2 * * *")
	return append(append(s.indexJobs(), s.markJobs()...), []schedule.Job{
		{Name: "events: sweep", At: when.Sweep, Zone: when.Zone, Do: func(ctx context.Context, _ time.Time) error {
			_, err := s.cleanup.Sweep(ctx, false)
			return err
		}},
		{Name: "events: executed automations", At: when.Strip, Zone: when.Zone, Do: func(ctx context.Context, _ time.Time) error {
			_, err := s.cleanup.Strip(ctx, false)
			return err
		}},
		{Name: "events: log of deliveries", At: nightly, Zone: when.Zone, Do: func(ctx context.Context, _ time.Time) error {
			_, err := s.webhooks.Trim(ctx)
			return err
		}},
		{Name: "events: transient ones", At: minutes, Do: func(ctx context.Context, _ time.Time) error { return s.cleanup.Transient(ctx) }},
	}...)
}
