package app

import (
	"context"
	"fmt"
	"slices"

	"atelier/internal/access"
	automation "atelier/internal/automation/service"
	"atelier/internal/blob"
	"atelier/internal/bus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/egress"
	events "atelier/internal/events/service"
	"atelier/internal/gateway"
	"atelier/internal/gitcmd"
	"atelier/internal/keyring"
	"atelier/internal/kv"
	"atelier/internal/kv/sqlkv"
	"atelier/internal/lifecycle"
	"atelier/internal/mail"
	"atelier/internal/restapi"
	"atelier/internal/schedule"
	"atelier/internal/sqldb"
	"atelier/internal/telemetry"
	"atelier/internal/vault"
	workspaces "atelier/internal/workspaces/service"
)

// The parts that services are built on.
const (
	partDatabase = "database"
	partBus      = "bus"
	partSessions = "sessions"
	partLimits   = "limits"
	partBlobs    = "blobs"
	partGit      = "git"
	partMail     = "mail"
	partSecrets  = "secrets"
)

// parts are the open drivers of a process, shared by its services.
type parts struct {
	opts  Options
	group *lifecycle.Group

	internalKey string
	egress      *egress.Guard
	tracing     *telemetry.Tracing
	prover      *access.Prover
	access      *access.Enforcer
	apiKeys     *access.Keys
	cursors     *restapi.Cursors
	links       *workspaces.FileLinks
	vault       *vault.Vault

	db       *sqldb.DB
	bus      bus.Log
	sessions kv.Store
	limits   kv.Store
	blobs    blob.Store
	keys     *keyring.Ring
	git      *gitcmd.Git
	mail     mail.Sender
	// gitMissing is why git is nil.
	gitMissing error
}

// Migrations are the tables of every component, in the order they are made.
func Migrations() []sqldb.Migrations {
	return append([]sqldb.Migrations{
		sqlbus.Migrations(), sqlkv.Migrations(), restapi.Migrations(), access.Migrations(), keyring.Migrations(), mail.Migrations(), gateway.Migrations(), gateway.FactorMigrations(), gateway.OIDCMigrations(), workspaces.Migrations(), schedule.Migrations(), events.Migrations(),
	}, automation.Migrations()...)
}

// open opens what the chosen targets need, in the order of the table.
func (p *parts) open(ctx context.Context, chosen []target) error {
	if err := p.openBasics(ctx); err != nil {
		return err
	}
	for _, part := range []struct {
		name string
		open func(context.Context) error
	}{
		{partDatabase, p.openDatabase},
		{partBus, p.openBus},
		{partSessions, p.openSessions},
		{partLimits, p.openLimits},
		{partBlobs, p.openBlobs},
		{partGit, p.openGit},
		{partMail, p.openMail},
		{partSecrets, p.openSecrets},
	} {
		needed := slices.ContainsFunc(chosen, func(t target) bool { return slices.Contains(t.needs, part.name) })
		if !needed {
			continue
		}
		if err := part.open(ctx); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}

// openBasics opens what every process has: the data directory, the internal key, the guard for outbound calls, traces.
func (p *parts) openBasics(ctx context.Context) error {
	cfg := p.opts.Config
	if p.embedded() {
		lock, err := LockDataDir(cfg.DataDir)
		if err != nil {
			return err
		}
		p.keep("data directory", func(context.Context) error { return lock.Close() })
	}
	var err error
	if p.internalKey, err = internalKey(cfg, p.opts.IDs); err != nil {
		return err
	}
	if p.prover, err = access.NewProver(p.internalKey, p.opts.Clock); err != nil {
		return err
	}
	p.access, p.apiKeys = access.NewEnforcer(p.opts.Clock), access.NewKeys(p.opts.Clock, p.opts.IDs)
	if p.cursors, err = restapi.NewCursors(p.internalKey); err != nil {
		return err
	}
	if p.links, err = workspaces.NewFileLinks(p.internalKey); err != nil {
		return err
	}
	networks, err := egress.ParseNetworks(cfg.EgressAllowedNetworks)
	if err != nil {
		return fmt.Errorf("EGRESS_ALLOWED_NETWORKS: %w", err)
	}
	if p.egress, err = egress.New(egress.Config{AllowedNetworks: networks, ExtraCACerts: cfg.ExtraCACerts}); err != nil {
		return err
	}
	if p.tracing, err = telemetry.NewTracing(ctx, p.opts.Lookup, p.opts.Version); err != nil {
		return err
	}
	if p.tracing != nil {
		p.keep("tracing", p.tracing.Close)
	}
	return nil
}

// embedded tells that something of the installation lives in the data directory.
func (p *parts) embedded() bool { return Embedded(p.opts.Config) }

// keep has something stopped with the process. It is running already.
func (p *parts) keep(name string, stop func(context.Context) error) {
	p.group.Add(lifecycle.Part{Name: name, Stop: stop})
	_ = p.group.Start(context.Background()) // only counts it as started: there is no Start function
}

func (p *parts) blobDir() string { return BlobDir(p.opts.Config) }
