package app

import (
	"context"
	"fmt"
	"time"

	"atelier/internal/config"
	"atelier/internal/dsul/cron"
	events "atelier/internal/events/service"
	"atelier/internal/gateway"
	"atelier/internal/lifecycle"
	"atelier/internal/readiness"
	workspaces "atelier/internal/workspaces/service"
)

// eventCleanup says which events are removed, and when.
func eventCleanup(cfg config.Config) (made events.Cleanup, err error) {
	if made.Zone, err = time.LoadLocation(cfg.EventsCleanupZone); err != nil {
		return made, fmt.Errorf("EVENTS_CLEANUP_TIMEZONE: %q is no time zone; use a name as in Europe/Paris", cfg.EventsCleanupZone)
	}
	for _, when := range []struct {
		name, text string
		into       *cron.Schedule
	}{
		{"EVENTS_CLEANUP_SCHEDULE", cfg.EventsCleanupSchedule, &made.Sweep},
		{"EVENTS_CLEANUP_EXECUTED_SCHEDULE", cfg.EventsStripSchedule, &made.Strip},
	} {
		if *when.into, err = cron.Parse(when.text); err != nil {
			return made, fmt.Errorf("%s: %w", when.name, err)
		}
	}
	made.Retention, made.Inactivity, made.Small, made.Deleted, made.Executed = cfg.EventsRetention, cfg.EventsInactivity, cfg.EventsSmall, cfg.EventsDeleted, cfg.EventsExecuted
	return made, nil
}

func buildEvents(ctx context.Context, s *services) error {
	p, opts := s.app.parts, s.app.opts
	index, err := p.eventIndex(events.Deps{Log: opts.Log, Clock: opts.Clock, IDs: opts.IDs, DB: p.db, Bus: p.bus})
	if err != nil {
		return err
	}
	checker := s.checker(append([]readiness.Module{
		{Name: "cache", Driver: p.sessions.Driver(), Check: p.sessions.Ping},
		{Name: "broker", Driver: p.bus.Driver(), Check: p.bus.Ping},
		{Name: "permissions", Driver: p.db.Driver(), Check: p.db.Ping},
		s.gatewayModule(),
	}, indexModules(index)...)...)
	cleanup, err := eventCleanup(opts.Config)
	if err != nil {
		return err
	}
	service := events.New(events.Deps{
		Log: opts.Log, Clock: opts.Clock, IDs: opts.IDs, DB: p.db, Bus: p.bus, Cursors: p.cursors, Checker: checker,
		Access: p.access, Resolve: workspaces.Resolve, MaxBody: int64(opts.Config.RequestMaxSize), MaxLen: opts.Config.EventMaxLen, Known: workspaces.Known, Cleanup: cleanup, SearchTimeout: opts.Config.SearchTimeout, Index: index,
		Webhooks: events.Webhooks{
			Vault: p.vault, Network: p.egress, People: gateway.NewDirectory(opts.Config), Timeout: opts.Config.WebhooksTimeout, Workers: opts.Config.WebhooksWorkers,
		},
		SocketIO: s.socketIO(),
	})
	s.app.group.Add(lifecycle.Part{Name: "live feeds of events", Stop: service.StopFeeds})
	s.socketMetrics(service)
	alone := p.embedded() && p.db.Driver() == "sqlite"
	if err := service.Prepare(ctx, alone); err != nil {
		return err
	}
	if !alone {
		s.app.group.Add(lifecycle.Worker("figures of live feeds", service.Show))
	}
	s.app.group.Add(lifecycle.Worker("delivery of webhooks", service.Deliver))
	s.app.group.Add(lifecycle.Worker("schedules of events", service.Schedules))
	if index != nil {
		s.app.group.Add(lifecycle.Worker("index of events", service.Follow))
	}
	s.add("events", service.API.Handler(), checker)
	return nil
}
