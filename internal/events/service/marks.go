package service

import (
	"context"
	"time"

	"atelier/internal/dsul/cron"
	"atelier/internal/events/internal/marks"
	"atelier/internal/schedule"
)

// Marks say how much of the log belongs together in the marks by which rare values are found. The zero value is right for every
// installation.
type Marks = marks.Sizes

func (d Deps) marks() *marks.Marks { return &marks.Marks{DB: d.DB, Sizes: d.Marks} }

// markJobs keep the marks behind the log. A search engine needs none.
func (s *Service) markJobs() []schedule.Job {
	if s.deps.Index != nil {
		return nil
	}
	minutely, _ := cron.Parse("* * * * *") // cannot fail
	return []schedule.Job{{Name: "events: marks", At: minutely, Do: func(ctx context.Context, _ time.Time) error { return s.deps.marks().Make(ctx) }}}
}
