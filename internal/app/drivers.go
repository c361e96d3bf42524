package app

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"

	"atelier/internal/blob/fsblob"
	"atelier/internal/blob/s3blob"
	"atelier/internal/bus/natsbus"
	"atelier/internal/bus/sqlbus"
	"atelier/internal/config"
	"atelier/internal/egress"
	"atelier/internal/gitcmd"
	"atelier/internal/intake"
	"atelier/internal/kv"
	"atelier/internal/kv/memkv"
	"atelier/internal/kv/rediskv"
	"atelier/internal/kv/sqlkv"
	"atelier/internal/mail/filemail"
	"atelier/internal/mail/smtpmail"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/sqldb/postgres"
	"atelier/internal/sqldb/sqlite"
	workspaces "atelier/internal/workspaces/service"
)

// databaseFile is the embedded database's name in the data directory.
const databaseFile = "atelier.db"

// Embedded tells that something of the installation lives in the data directory.
func Embedded(cfg config.Config) bool {
	return cfg.DatabaseURL == "" || cfg.StorageType == "FILESYSTEM" && cfg.StorageDir == ""
}

// OpenDatabase opens the configured SQL engine without migrating it.
func OpenDatabase(ctx context.Context, cfg config.Config) (*sqldb.DB, error) {
	if address := cfg.DatabaseURL.Reveal(); address != "" {
		trusted, err := egress.New(egress.Config{ExtraCACerts: cfg.ExtraCACerts})
		if err != nil {
			return nil, err
		}
		return postgres.Open(ctx, postgres.Config{URL: address, MaxConns: cfg.DatabaseMaxConns, Roots: trusted.TLSConfig().RootCAs})
	}
	return sqlite.Open(ctx, DatabasePath(cfg.DataDir))
}

// DatabasePath is where the embedded database is.
func DatabasePath(dataDir string) string { return filepath.Join(dataDir, databaseFile) }

func (p *parts) openDatabase(ctx context.Context) error {
	db, err := OpenDatabase(ctx, p.opts.Config)
	if err != nil {
		return err
	}
	p.db = db
	p.keep(partDatabase, func(context.Context) error { return db.Close() })
	applied, err := sqldb.Migrate(ctx, db, p.opts.Clock.Now(), Migrations()...)
	if err != nil {
		return err
	}
	if len(applied) > 0 {
		p.opts.Log.InfoContext(ctx, "database schema brought up to date", "driver", db.Driver(), "steps", len(applied))
	}
	if p.opts.Config.DatabaseURL == "" { // the data directory is locked: no other process is in the middle of a request
		return restapi.Abandon(ctx, db, p.opts.Clock.Now())
	}
	return nil
}

func (p *parts) openBus(ctx context.Context) error {
	settings, err := intakeSettings(p.opts.Config)
	if err != nil {
		return err
	}
	if p.opts.Config.BrokerDriver == "nats" {
		log, err := natsbus.Open(ctx, p.natsConfig(), p.db, p.opts.Clock, p.opts.Log)
		if err != nil {
			return err
		}
		p.bus = intake.Guard(log, settings)
	} else {
		log, err := sqlbus.Open(p.db, p.opts.Clock, p.opts.Log)
		if err != nil {
			return err
		}
		p.bus = intake.Guard(log, settings)
	}
	p.keep(partBus, func(context.Context) error { return p.bus.Close() })
	return nil
}

// intakeSettings are what holds for events on their way into the log.
func intakeSettings(cfg config.Config) (intake.Settings, error) {
	rules, err := intake.Load(cfg.EventRules)
	if err != nil {
		return intake.Settings{}, fmt.Errorf("PREPROCESSING_RULES_FILEPATH: %w", err)
	}
	return intake.Settings{MaxLen: cfg.EventMaxLen, ExecutedMaxLen: cfg.ExecutedMaxLen, Exempt: cfg.EventPrefixes, Rules: rules}, nil
}

func (p *parts) natsConfig() natsbus.Config {
	cfg := p.opts.Config
	return natsbus.Config{
		URLs: brokerURLs(cfg), CAFile: cfg.BrokerTLSCAFile, Roots: p.egress.TLSConfig().RootCAs,
		Namespace: cfg.BrokerNamespace, Replicas: cfg.BrokerReplicas,
	}
}

// brokerURLs puts the user and password into the servers' addresses, where the client expects them.
func brokerURLs(cfg config.Config) []string {
	if cfg.BrokerUser == "" {
		return cfg.BrokerHost
	}
	var urls []string
	for _, host := range cfg.BrokerHost {
		if u, err := url.Parse(host); err == nil {
			u.User = url.UserPassword(cfg.BrokerUser, cfg.BrokerPassword.Reveal())
			host = u.String()
		}
		urls = append(urls, host)
	}
	return urls
}

func (p *parts) openSessions(ctx context.Context) (err error) {
	cfg := p.opts.Config
	if address := cfg.SessionsHost.Reveal(); address != "" {
		p.sessions, err = p.redis(ctx, address, cfg.SessionsPassword.Reveal())
	} else {
		p.sessions = sqlkv.New(p.db, p.opts.Clock, p.opts.Log)
	}
	if err == nil {
		p.keep(partSessions, func(context.Context) error { return p.sessions.Close() })
	}
	return err
}

// openLimits opens the store of rate limits: shared by the cluster on Redis, otherwise this process's own.
func (p *parts) openLimits(ctx context.Context) (err error) {
	cfg := p.opts.Config
	address, password := cfg.LimitsHost.Reveal(), cfg.LimitsPassword.Reveal()
	if address == "" {
		address, password = cfg.SessionsHost.Reveal(), cfg.SessionsPassword.Reveal()
	}
	if address != "" {
		p.limits, err = p.redis(ctx, address, password)
	} else {
		p.limits = memkv.New(p.opts.Clock)
	}
	if err == nil {
		p.keep(partLimits, func(context.Context) error { return p.limits.Close() })
	}
	return err
}

// limiter is the store of limits, with this process's memory to fall back on when it is elsewhere.
func (p *parts) limiter() kv.Limiter {
	if p.limits.Driver() == "memory" {
		return p.limits
	}
	return kv.NewFallback(p.limits, memkv.New(p.opts.Clock), p.opts.Log)
}

func (p *parts) redis(ctx context.Context, address, password string) (kv.Store, error) {
	return rediskv.Open(ctx, rediskv.Config{
		URL: address, Password: password, CAFile: p.opts.Config.SessionsTLSCAFile, Roots: p.egress.TLSConfig().RootCAs, Prefix: "atelier:",
	})
}

func (p *parts) openBlobs(ctx context.Context) (err error) {
	cfg := p.opts.Config
	if cfg.StorageType == "S3_LIKE" {
		p.blobs, err = s3blob.Open(ctx, s3blob.Config{
			Endpoint: cfg.S3Endpoint, AccessKey: cfg.S3AccessKey, SecretKey: cfg.S3SecretKey.Reveal(), Bucket: cfg.S3Bucket,
			Region: cfg.S3Region, Transport: p.trusting(),
		})
		if err == nil {
			p.blobs = workspaces.TendBlobs(p.blobs, p.db, p.opts.Clock)
		}
		return err
	}
	store, err := fsblob.Open(p.blobDir())
	if err != nil {
		return err
	}
	p.blobs = workspaces.TendBlobs(store, p.db, p.opts.Clock)
	p.keep(partBlobs, func(context.Context) error { return store.Close() })
	return nil
}

// mailDir is the folder of mails that are not sent, in the data directory.
const mailDir = "mail"

// openMail opens the way mails leave: a server when one is named, otherwise files in the data directory.
func (p *parts) openMail(context.Context) (err error) {
	cfg := p.opts.Config
	if sendsMail(cfg) {
		p.mail, err = smtpmail.Open(smtpmail.Config{
			Host: cfg.SMTPHost, Port: cfg.SMTPPort, User: cfg.SMTPUser, Password: cfg.SMTPPass.Reveal(), Security: smtpmail.Security(cfg.SMTPSecure),
			From: cfg.EmailFrom, TLS: p.egress.TLSConfig(), Clock: p.opts.Clock, IDs: p.opts.IDs,
		})
	} else {
		p.mail, err = filemail.Open(filemail.Config{
			Dir: filepath.Join(cfg.DataDir, mailDir), From: cfg.EmailFrom, Clock: p.opts.Clock, IDs: p.opts.IDs, Log: p.opts.Log,
		})
	}
	if err == nil {
		p.keep(partMail, func(context.Context) error { return p.mail.Close() })
	}
	return err
}

// sendsMail tells whether mails go to a server.
func sendsMail(cfg config.Config) bool {
	return cfg.EmailDriver == "smtp" || cfg.EmailDriver == "" && cfg.SMTPHost != ""
}

// openGit finds git. A machine without it, or with one that is too old, still serves everything but versioning; doctor and
// the readiness report say so.
func (p *parts) openGit(ctx context.Context) error {
	bundle, err := p.egress.CABundle(p.opts.Config.DataDir)
	if err != nil {
		return err
	}
	p.git, p.gitMissing = gitcmd.Open(ctx, gitcmd.Config{CABundle: bundle})
	if p.gitMissing != nil {
		p.opts.Log.WarnContext(ctx, "git was not found; versioning with repositories will not work until git 2.38 or newer is installed",
			"error", p.gitMissing.Error())
	}
	return nil
}

// gitModule tells whether git works.
func (p *parts) gitModule() readiness.Module {
	if p.gitMissing != nil {
		return readiness.Module{Name: "git", Driver: "git", Check: func(context.Context) error { return p.gitMissing }}
	}
	return readiness.Module{Name: "git", Driver: "git " + p.git.Version().String(), Check: p.git.Check}
}
