package service

import (
	"context"
	"time"

	"atelier/internal/events"
	"atelier/internal/events/internal/webhooks"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
)

// Webhooks is what the delivery of events to addresses outside needs.
type Webhooks struct {
	// Vault seals signing keys and headers.
	Vault *vault.Vault
	// Network is the guarded way out.
	Network webhooks.Network
	// People knows the accounts that subscriptions read as.
	People webhooks.Directory
	// Timeout is how long an endpoint may take to answer, Workers how many deliveries this process sends at the same time, and
	// Lease how long another instance waits for one that has died. Zero stands for the defaults.
	Timeout, Lease time.Duration
	Workers        int
}

// Migrations are the service's tables.
func Migrations() sqldb.Migrations { return events.Migrations() }

func newWebhooks(deps Deps) *webhooks.Webhooks {
	given := deps.Webhooks
	return webhooks.New(webhooks.Deps{
		DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Log: deps.Log, Access: deps.Access, Resolve: deps.Resolve, Known: deps.Known,
		People: given.People, Vault: given.Vault, Network: given.Network,
		Settings: webhooks.Settings{Timeout: given.Timeout, Workers: given.Workers, Lease: given.Lease},
	})
}

// Prepare makes the service ready to run. A process that knows that it is alone takes up at once what it was doing when it
// ended.
func (s *Service) Prepare(ctx context.Context, alone bool) error {
	if !alone {
		return nil
	}
	return s.webhooks.Reclaim(ctx)
}

// Deliver queues events for webhooks and sends them until ctx ends, and waits for what is under way.
func (s *Service) Deliver(ctx context.Context) error { return s.webhooks.Run(ctx) }

// Holdings tells under which master keys the secrets of webhooks are.
type Holdings = webhooks.Holdings

// SurveyWebhooks looks under which master keys the secrets of webhooks are, and changes nothing.
func SurveyWebhooks(ctx context.Context, db *sqldb.DB, v *vault.Vault) (Holdings, error) {
	return webhooks.Rewrap(ctx, db, v, true)
}

// RewrapWebhooks puts the secrets of webhooks under the current master key. It may be repeated, and run while servers use them.
func RewrapWebhooks(ctx context.Context, db *sqldb.DB, v *vault.Vault) (Holdings, error) {
	return webhooks.Rewrap(ctx, db, v, false)
}
