// Package app is the composition root: it alone knows which services run in this process, which drivers are behind the
// contracts, and in which order all of it starts and stops.
package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"

	automation "atelier/internal/automation/service"
	"atelier/internal/clock"
	"atelier/internal/config"
	"atelier/internal/httpx"
	"atelier/internal/ident"
	"atelier/internal/lifecycle"
	"atelier/internal/telemetry"
)

// Options is what a process is started with.
type Options struct {
	Config  config.Config
	Version string
	Log     *slog.Logger
	// Terminal gets the few lines meant for the person who started the process.
	Terminal io.Writer
	// Lookup reads the standard OTEL_* variables, which belong to the tracing library, and those that the file of sign-in
	// providers names.
	Lookup func(string) string
	// Environ gives the variables that begin with a prefix, by the rest of their names: those that operators give to workspaces.
	Environ func(prefix string) map[string]string
	Clock   clock.Clock
	IDs     ident.Source
	// Listener, when set, is used instead of the configured address.
	Listener net.Listener
	// Worker is the program that runs custom code; without one there is none.
	Worker automation.Worker
}

// App is a process: parts, services, and the listener in front of them.
type App struct {
	opts     Options
	parts    *parts
	group    lifecycle.Group
	server   *httpx.Server
	metrics  *telemetry.Metrics
	draining atomic.Bool
	invented string // the super admin's password, when it had to be made up
}

// Start opens everything and begins to serve. On an error nothing is left running.
func Start(ctx context.Context, opts Options) (*App, error) {
	a := &App{opts: opts, metrics: telemetry.NewMetrics(opts.Version)}
	a.parts = &parts{opts: opts, group: &a.group}
	handler, err := a.build(ctx)
	if err == nil {
		err = a.listen(ctx, handler)
	}
	if err != nil {
		a.tellAdmin() // it is created already, and the next start will not know its password
		return nil, errors.Join(err, a.group.Stop(context.WithoutCancel(ctx)))
	}
	a.welcome()
	return a, nil
}

// build makes the services of this process and the handler in front of them.
func (a *App) build(ctx context.Context) (http.Handler, error) {
	chosen, err := chosenTargets(a.opts.Config.Target)
	if err != nil {
		return nil, err
	}
	if err := a.parts.open(ctx, chosen); err != nil {
		return nil, err
	}
	services := &services{app: a, built: map[string]*built{}}
	for _, target := range chosen {
		if err := target.build(ctx, services); err != nil {
			return nil, fmt.Errorf("%s: %w", target.name, err)
		}
	}
	return a.front(services.handler())
}

// listen takes the port and serves. Serving is the last thing to start and the first to stop.
func (a *App) listen(ctx context.Context, handler http.Handler) error {
	cfg := a.opts.Config
	server, err := httpx.Listen(ctx, httpx.ServerConfig{
		Host: cfg.Host, Port: cfg.ListenPort(), Listener: a.opts.Listener, Handler: handler, Log: a.opts.Log, NewID: a.opts.IDs.UUID, Inside: !a.runsGateway(),
	})
	if err != nil {
		return fmt.Errorf("listen on port %d: %w (is another process using it? choose another with --port)", cfg.ListenPort(), err)
	}
	a.server = server
	server.Start()
	a.group.Add(lifecycle.Part{Name: "listener", Stop: server.Stop})
	return a.group.Start(ctx)
}

// Addr is where the process listens.
func (a *App) Addr() string { return a.server.Addr().String() }

// Wait serves until ctx ends or something the process cannot live without fails, then stops in order.
func (a *App) Wait(ctx context.Context) error {
	var failure error
	select {
	case <-ctx.Done():
	case failure = <-a.server.Done():
	case <-a.parts.db.Failed():
		failure = errors.New("the database failed to write to disk; stopping so that nothing is acknowledged that is not stored")
	}
	return errors.Join(failure, a.stop(context.WithoutCancel(ctx)))
}

// stop drains: not ready first, then no new connections, then the parts in reverse order.
func (a *App) stop(ctx context.Context) error {
	a.draining.Store(true)
	a.server.CloseIdle()
	if delay := a.opts.Config.DrainDelay; delay > 0 {
		timer := a.opts.Clock.NewTimer(delay)
		<-timer.C()
	}
	ctx, cancel := context.WithTimeout(ctx, a.opts.Config.ShutdownTimeout)
	defer cancel()
	return a.group.Stop(ctx)
}

// welcome tells the person at the terminal where to go, and a made-up password once.
func (a *App) welcome() {
	cfg := a.opts.Config
	if a.runsGateway() {
		a.tell("Atelier %s is ready: %s (API documentation: %s/docs)\n", a.opts.Version, cfg.Issuer(), cfg.Issuer())
	} else {
		a.tell("Atelier %s is ready: %s on %s\n", a.opts.Version, strings.Join(cfg.Target, ", "), a.Addr())
	}
	a.tellAdmin()
}

func (a *App) tellAdmin() {
	if a.invented != "" {
		a.tell("\n  A super admin was created. This is shown only once:\n    e-mail:   %s\n    password: %s\n\n", a.opts.Config.AdminEmail, a.invented)
	}
}

func (a *App) tell(format string, args ...any) { _, _ = fmt.Fprintf(a.opts.Terminal, format, args...) }
