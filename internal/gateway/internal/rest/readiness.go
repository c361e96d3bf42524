package rest

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/readiness"
	"atelier/internal/restapi"
)

// gatewayName is how the specification calls the gateway in readiness reports.
const gatewayName = "api-gateway"

// Probe reports whether a service behind the gateway is ready.
type Probe struct {
	// URL is where the service is.
	URL string
	// Report asks it.
	Report func(ctx context.Context) (readiness.Report, error)
}

// Readiness makes the report of the whole installation.
type Readiness struct {
	gateway  *readiness.Checker
	services map[string]*readiness.Cached[ServiceReadiness]
}

// NewReadiness returns the report maker: the gateway's own modules, and a probe for each service.
func NewReadiness(clk clock.Clock, ttl time.Duration, modules []readiness.Module, probes map[string]Probe) *Readiness {
	r := &Readiness{gateway: readiness.NewChecker(clk, ttl, modules...), services: make(map[string]*readiness.Cached[ServiceReadiness], len(probes))}
	for name, probe := range probes {
		r.services[name] = readiness.NewCached(clk, ttl, func(ctx context.Context) ServiceReadiness { return ask(ctx, probe) })
	}
	return r
}

// ReadinessBody is the readiness report.
type ReadinessBody struct {
	Status   readiness.Status            `json:"status" enum:"ready,error" doc:"error when a service is not ready."`
	Services map[string]ServiceReadiness `json:"services" doc:"The report of each service, by name."`
}

// ServiceReadiness is the report of one service: the gateway's own modules, or what another service answered.
type ServiceReadiness struct {
	Status       readiness.Status        `json:"status" enum:"ready,error" doc:"error when a module failed."`
	URL          string                  `json:"url,omitempty" doc:"Where the service is."`
	Response     *readiness.Report       `json:"response,omitempty" doc:"What the service answered."`
	ModulesReady []readiness.ModuleReady `json:"modulesReady,omitempty" nullable:"false" doc:"The gateway's modules that work."`
	Errors       []readiness.ModuleError `json:"errors,omitempty" nullable:"false" doc:"What does not work."`
}

func ask(ctx context.Context, probe Probe) ServiceReadiness {
	report, err := probe.Report(ctx)
	if err != nil {
		return ServiceReadiness{Status: readiness.Failed, URL: probe.URL, Errors: []readiness.ModuleError{{
			Error: "service_unavailable", Module: "http", Driver: "http", Message: "the service did not answer: " + err.Error(),
		}}}
	}
	return ServiceReadiness{Status: report.Status, URL: probe.URL, Response: &report, Errors: report.Errors}
}

// report asks the named services, or all of them; names that do not exist are ignored.
func (r *Readiness) report(ctx context.Context, names []string) (ReadinessBody, error) {
	body := ReadinessBody{Status: readiness.Ready, Services: map[string]ServiceReadiness{}}
	var mu sync.Mutex
	var wait sync.WaitGroup
	add := func(name string, service ServiceReadiness) {
		mu.Lock()
		defer mu.Unlock()
		body.Services[name] = service
		if service.Status != readiness.Ready {
			body.Status = readiness.Failed
		}
	}
	for name, cached := range r.services {
		if len(names) == 0 || slices.Contains(names, name) {
			wait.Go(func() {
				if service, err := cached.Get(ctx); err == nil {
					add(name, service)
				}
			})
		}
	}
	if len(names) == 0 || slices.Contains(names, gatewayName) {
		own, err := r.gateway.Report(ctx)
		if err == nil {
			add(gatewayName, ServiceReadiness{Status: own.Status, ModulesReady: own.ModulesReady, Errors: own.Errors})
		}
	}
	wait.Wait()
	return body, ctx.Err()
}

type readinessInput struct {
	Services string `query:"services" maxLength:"200" doc:"The services to report on, as a comma list of api-gateway, runtime, events, workspaces. All when absent."`
}

type readinessOutput struct {
	Status int
	Body   ReadinessBody
}

func registerReadiness(api *restapi.API, deps Deps) {
	restapi.Register(api, restapi.Operation{
		ID: "getReadiness", Method: http.MethodGet, Path: "/v2/readiness", Tag: "System", Policy: access.Operators,
		Summary: "Readiness report", Description: "Tries every module of every service with a real round trip. " +
			"Answers 400 with the same body when something does not work. Reports are kept for 30 seconds.",
		Also: map[int]any{http.StatusBadRequest: ReadinessBody{}},
	}, func(ctx context.Context, in *readinessInput) (*readinessOutput, error) {
		body, err := deps.Readiness.report(ctx, wanted(in.Services))
		if err != nil {
			return nil, err
		}
		out := &readinessOutput{Status: http.StatusOK, Body: body}
		if body.Status != readiness.Ready {
			out.Status = http.StatusBadRequest
		}
		return out, nil
	})
}

// wanted reads a comma list of service names.
func wanted(list string) []string {
	var names []string
	for name := range strings.SplitSeq(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}
