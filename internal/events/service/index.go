package service

import (
	"context"
	"time"

	"atelier/internal/dsul/cron"
	"atelier/internal/events/internal/cleanup"
	"atelier/internal/events/internal/searchengine"
	"atelier/internal/events/internal/store"
	"atelier/internal/schedule"
)

// Storage says where a search engine has an index of the events, and how it is kept.
type Storage = searchengine.Config

// Index is an index of events in a search engine.
type Index = searchengine.Engine

// NewIndex checks the configuration of an index, without talking to the search engine yet.
func NewIndex(storage Storage, deps Deps) (*Index, error) {
	return searchengine.New(storage, searchengine.Deps{Log: deps.Log, Clock: deps.Clock, IDs: deps.IDs, DB: deps.DB, Bus: deps.Bus})
}

// index is what finds events.
func (d Deps) index() store.Index {
	log := store.SQL{DB: d.DB}
	if d.Index == nil {
		return log
	}
	return searchengine.Index{Engine: d.Index, SQL: log}
}

// indexed is what follows the removal of events; nil when nothing does.
func (d Deps) indexed() cleanup.Index {
	if d.Index == nil {
		return nil
	}
	return d.Index
}

// Follow keeps the index behind the log until ctx ends. Without one it only waits.
func (s *Service) Follow(ctx context.Context) error {
	if s.deps.Index == nil {
		<-ctx.Done()
		return nil
	}
	return s.deps.Index.Follow(ctx)
}

// indexJobs are what is done to the index at times.
func (s *Service) indexJobs() []schedule.Job {
	if s.deps.Index == nil {
		return nil
	}
	minutely, _ := cron.Parse("* * * * *") // cannot fail
	often, _ := cron.Parse("*/10 * * * *")
	return []schedule.Job{
		{Name: "events: index", At: minutely, Do: func(ctx context.Context, _ time.Time) error { return s.cleanup.Settle(ctx) }},
		{Name: "events: full indices", At: often, Do: func(ctx context.Context, _ time.Time) error { return s.deps.Index.Roll(ctx) }},
	}
}
