package service

import (
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"atelier/internal/automation/internal/code"
	"atelier/internal/automation/internal/collections"
	"atelier/internal/automation/internal/contexts"
	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/instructions"
	"atelier/internal/automation/internal/limits"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/model"
	"atelier/internal/automation/internal/modules"
	"atelier/internal/automation/internal/modules/crypto"
	"atelier/internal/automation/internal/modules/secrets"
	"atelier/internal/automation/internal/modules/text"
	"atelier/internal/automation/internal/recorder"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/automation/internal/runs/waits"
	"atelier/internal/automation/internal/signals"
	"atelier/internal/automation/internal/throttle"
	"atelier/internal/automation/internal/tokens"
	"atelier/internal/automation/internal/topics"
	"atelier/internal/automation/internal/turns"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/config"
	"atelier/internal/dsul/builtin"
	"atelier/internal/dsul/cron"
	"atelier/internal/dsul/expr/value"
)

// open makes the rooms of the service, in the order in which they need each other.
func (s *Service) open() error {
	deps, cfg := s.deps, s.deps.Config
	zone, err := time.LoadLocation(cfg.DefaultZone)
	if err != nil {
		return fmt.Errorf("DEFAULT_TIMEZONE: %q is no time zone; use a name as in Europe/Paris", cfg.DefaultZone)
	}
	s.recorder = recorder.New(deps.Bus, deps.Clock, deps.Log, recorder.Settings{})
	s.turns = turns.New(deps.Clock, turns.Settings{Spent: turns.Spent, Collect: turns.Collect})
	s.machine = &machine.Machine{
		Log: deps.Log, Clock: deps.Clock, IDs: deps.IDs, DB: deps.DB, Access: deps.Access, Recorder: s.recorder, Tracer: deps.Tracer,
		Throttle: throttle.New(throttle.Deps{Log: deps.Log, Clock: deps.Clock, Limiter: deps.Limiter, Settings: throttles(cfg)}),
		Turns:    s.turns,
		Limits:   machine.Limits{Depth: cfg.MaximumCalls, Memory: int64(cfg.AutomationMemory), Steps: int64(cfg.AutomationSteps), Local: int64(cfg.ContextLocalSize)},
		Locale:   cfg.DefaultLocale, Zone: zone,
	}
	s.contexts = contexts.New(contexts.Deps{
		Log: deps.Log, Clock: deps.Clock, DB: deps.DB, Access: deps.Access, People: deps.People, Config: deps.Definitions, Settings: lifetimes(cfg), Alone: deps.Alone,
	})
	s.openRooms()
	if err := s.openFetch(); err != nil {
		return err
	}
	s.models, err = model.New(model.Deps{
		Changes: s.changes(), Log: deps.Log, Source: deps.Definitions, Instructions: s.language(), Builtins: s.builtins(), Environ: deps.Environ,
		Addresses: model.Addresses{API: cfg.PublicURL()},
	})
	if err != nil {
		return err
	}
	return s.openRuns()
}

// changes counts what may have changed definitions; nil where other processes change them too.
func (s *Service) changes() func() int64 {
	if !s.deps.Alone {
		return nil
	}
	return s.deps.DB.Watch("ws_").Count
}

// openRooms makes what instructions use.
func (s *Service) openRooms() {
	deps, cfg := s.deps, s.deps.Config
	s.limits = limits.New(deps.Log, deps.Clock, deps.DB)
	s.secrets = secrets.New(secrets.Deps{DB: deps.DB, Vault: deps.Vault, Clock: deps.Clock, IDs: deps.IDs, Access: deps.Access})
	s.collections = collections.New(collections.Deps{
		DB: deps.DB, Clock: deps.Clock, IDs: deps.IDs, Announce: s.announce,
		Limits: quotas(cfg),
	})
	s.code = code.New(code.Deps{
		Log: deps.Log, Clock: deps.Clock, DB: deps.DB, Program: deps.Worker, Turns: s.turns,
		Limits: code.Limits{Time: cfg.CodeTimeout, Heap: int64(cfg.CodeMemory), Processes: cfg.CodeWorkers},
	})
	s.tokens = tokens.New(tokens.Deps{Keys: deps.Keys, Clock: deps.Clock, IDs: deps.IDs, Issuer: cfg.Issuer(), Audience: cfg.PublicURL()})
	s.waits = waits.New(waits.Deps{DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, Log: deps.Log, Alone: deps.Alone})
	s.signals = signals.New(signals.Deps{Bus: deps.Bus, Waits: s.waits, MaxLen: cfg.EventMaxLen, Timeout: cfg.WaitTimeout})
}

func (s *Service) openFetch() error {
	deps, cfg := s.deps, s.deps.Config
	statuses := make([]int, 0, len(cfg.FetchRetryStatus))
	for _, written := range cfg.FetchRetryStatus {
		status, err := strconv.Atoi(written)
		if err != nil || http.StatusText(status) == "" {
			return fmt.Errorf("FETCH_RETRY_STATUS: %q is not a status of HTTP", written)
		}
		statuses = append(statuses, status)
	}
	for _, written := range cfg.FetchRetryCodes {
		if !fetch.KnownCode(written) {
			return fmt.Errorf("FETCH_RETRY_CODES: %q is not the code of a broken connection", written)
		}
	}
	s.fetch = fetch.New(fetch.Deps{
		Network: deps.Network, Platform: deps.Platform, Clock: deps.Clock, Tracer: deps.Tracer, APIURL: cfg.PublicURL(), UserAgent: cfg.FetchAgent,
		Forbidden: cfg.FetchForbidden, MaxRetries: cfg.FetchRetries, RetryStatus: statuses, RetryCodes: append([]string{}, cfg.FetchRetryCodes...), HTTP2: cfg.FetchHTTP2, Timeout: cfg.FetchTimeout, MaxBody: largestAnswer,
		Secrets: s.secrets, Token: s.tokens.Token, ForwardToken: s.tokens.ForwardToken, KeyToken: s.keyToken, Emit: s.signals.Stream,
	})
	return nil
}

// largestAnswer is how many bytes an answer to an automation may have.
const largestAnswer = 10 << 20

// language is the table of instructions.
func (s *Service) language() machine.Instructions {
	all := instructions.Control()
	maps.Copy(all, s.signals.Instructions())
	maps.Copy(all, machine.Instructions{
		"fetch":           s.fetch.Instruction(),
		"run":             modules.Instruction(s.modules()),
		"rateLimit":       s.limits.Instruction(),
		"auth":            s.tokens.Instruction(),
		"createUserTopic": topics.New(s.deps.Clock, s.deps.Bus).Create(),
		"joinUserTopic":   topics.New(s.deps.Clock, s.deps.Bus).Join(),
	})
	return all
}

// modules is the table of what run can call.
func (s *Service) modules() modules.Table {
	return modules.Table{
		"crypto":      crypto.Functions(s.deps.IDs),
		"text":        text.Functions(),
		"secrets":     s.secrets.Functions(),
		"collections": s.collections.Module(),
	}
}

// builtins is the table of the apps that are part of the platform.
func (s *Service) builtins() map[string]model.Builtin {
	type native = func(*machine.Frame, *value.Object) (any, error)
	return map[string]model.Builtin{
		builtin.CustomCode: {Slug: builtin.CustomCode, Methods: func(*machine.Home) map[string]native {
			methods := make(map[string]native)
			for name, method := range s.code.Methods() {
				methods[name] = method
			}
			return methods
		}},
		builtin.Collection: {Slug: builtin.Collection, Methods: s.collections.Methods},
	}
}

func (s *Service) openRuns() error {
	deps, cfg := s.deps, s.deps.Config
	floor, err := cron.Parse(cfg.ScheduleFloor)
	if err != nil {
		return fmt.Errorf("SCHEDULES_MAXIMUM_OCCURRENCE_PATTERN: %w", err)
	}
	s.runs = runs.New(runs.Deps{
		DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Log: deps.Log, Engine: s.machine, Models: running{s.models}, Workspaces: deps.Definitions,
		People: people{db: deps.DB, directory: deps.People}, Contexts: s.contexts, Recorder: s.recorder, Waits: s.waits,
		Heavy: func(workspaceID string) bool { return s.turns.Of(workspaceID).Heavy() },
		Settings: runs.Settings{
			Total: cfg.AutomationRuns, Share: cfg.AutomationShare, Queue: cfg.AutomationQueue, Timeout: cfg.AutomationTimeout, Grace: cfg.ShutdownTimeout / 2, Floor: floor, Alone: deps.Alone,
		},
	})
	return nil
}

// quotas are what a workspace may keep in collections.
func quotas(cfg config.Config) collections.Limits {
	allowed := collections.DefaultLimits()
	allowed.Records, allowed.Bytes = int64(cfg.CollectionRecords), int64(cfg.CollectionBytes)
	return allowed
}

func throttles(cfg config.Config) throttle.Settings {
	return throttle.Settings{Disabled: cfg.ThrottleOff, Rates: map[string]throttle.Rate{
		machine.ThrottleAutomations: {PerSecond: float64(cfg.ThrottleRuns), Burst: cfg.ThrottleRunsBurst},
		machine.ThrottleEmits:       {PerSecond: float64(cfg.ThrottleEmits), Burst: cfg.ThrottleEmitsBurst},
		machine.ThrottleFetches:     {PerSecond: float64(cfg.ThrottleFetch), Burst: cfg.ThrottleFetchBurst},
		machine.ThrottleRepeats:     {PerSecond: float64(cfg.ThrottleLoops), Burst: cfg.ThrottleLoopsBurst},
	}}
}

func lifetimes(cfg config.Config) contexts.Settings {
	settings := contexts.Defaults()
	settings.Run, settings.Unauthenticated, settings.Socket = cfg.ContextRunTime, cfg.ContextVisitorTime, cfg.ContextSocketTime
	settings.MaxSize = map[string]int{
		"run": cfg.ContextRunSize, "user": cfg.ContextUserSize, "session": cfg.ContextSessionSize, "socket": cfg.ContextSocketSize,
		"global": cfg.ContextGlobalSize, "config": cfg.ContextConfigSize,
	}
	return settings
}

func requestLimits(cfg config.Config) webhook.Limits {
	return webhook.NewLimits(int64(cfg.UploadsMaxSize))
}

func testLimits() webhook.Limits { return webhook.TestLimits() }

func answers(deps Deps) webhook.Options {
	return webhook.Options{
		Clock: deps.Clock, KeepAliveFloor: deps.Config.SSEKeepAlive, Longest: deps.Config.AutomationTimeout,
		Cookies: []string{"access-token", deps.Config.SessionCookieName, "_interactionv2", "_signin"},
	}
}
