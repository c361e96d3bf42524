package rest

import (
	"errors"
	"net/http"

	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/versioning"
)

// errRehearsed ends the transaction of a dry run, so that nothing of it is kept.
var errRehearsed = errors.New("rest: this was only a rehearsal")

// planned is an operation on native versions of which only the plan is wanted, or which has to be a plan.
type planned struct {
	operation string
	dryRun    bool
	planID    string

	plan versioning.Plan
}

func (p *planned) accept(n definitions.Native) error {
	p.plan = versioning.PlanNative(p.operation, n)
	switch {
	case p.dryRun:
		return errRehearsed
	case p.planID != "" && p.planID != p.plan.PlanID:
		return versioning.Stale()
	default:
		return nil
	}
}

// answer is the plan, when that is what was wanted.
func (p *planned) answer(err error) (*restapi.Stream, error) {
	if errors.Is(err, errRehearsed) {
		return restapi.Answer(http.StatusOK, p.plan)
	}
	return nil, err
}
