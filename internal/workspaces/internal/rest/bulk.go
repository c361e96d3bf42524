package rest

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/bulk"
	"atelier/internal/workspaces/internal/engine"
	"atelier/internal/workspaces/internal/versioning"
)

// How many seconds clients wait when they do not say: for a bulk operation, and for another one.
const (
	bulkSeconds    = 15
	regularSeconds = 50
)

// Seconds is a number of seconds that may be absent.
type Seconds struct {
	Value int
	Given bool
}

// Schema implements huma.SchemaProvider.
func (Seconds) Schema(r huma.Registry) *huma.Schema {
	return huma.SchemaFromType(r, reflect.TypeFor[int]())
}

// Receiver implements huma.ParamWrapper.
func (s *Seconds) Receiver() reflect.Value { return reflect.ValueOf(s).Elem().Field(0) }

// OnParamSet implements huma.ParamReactor.
func (s *Seconds) OnParamSet(given bool, _ any) { s.Given = given }

func (s Seconds) or(otherwise int) int {
	if s.Given {
		return s.Value
	}
	return otherwise
}

// Following is how a client follows a bulk operation.
type Following struct {
	Timeout Seconds `query:"timeout" minimum:"0" maximum:"86400" doc:"How many seconds to wait for the result: 15 unless you say otherwise, 50 when it is no bulk operation. After that the answer is processing: true with the id of the operation, which goes on."`
	SSE     bool    `query:"sse" doc:"Whether to stream the progress as server-sent events until it has ended; Accept: text/event-stream means the same. The last one is the result."`
	Accept  string  `header:"Accept" doc:"What you want: text/event-stream for a stream."`
}

func (f Following) streams() bool { return f.SSE || strings.Contains(f.Accept, eventStream) }

// PlatformPush is the body that pushes many workspaces, or the platform workspace alone.
type PlatformPush struct {
	SaveVersion

	Groups []string `json:"groups,omitempty" maxItems:"100" doc:"The groups whose workspaces are pushed. Without any it is a push of the platform workspace."`
	Force  bool     `json:"force,omitempty" doc:"Whether workspaces without a change since their last push are pushed too."`
}

// PlatformPull is the body that imports many workspaces, or pulls into the platform workspace alone.
type PlatformPull struct {
	PullVersion

	Groups        []string `json:"groups,omitempty" maxItems:"100" doc:"Only the workspaces of these groups are imported; all of the repository without any."`
	ForceReimport bool     `json:"forceReimport,omitempty" doc:"Whether workspaces are imported that have the version already."`
}

type platformPushInput struct {
	Following

	Body PlatformPush
}

type platformPullInput struct {
	Following

	Body *PlatformPull
}

// RegisterBulk adds the operations on many workspaces.
func RegisterBulk(api *restapi.API, e *engine.Engine, v *versioning.Versioning, b *bulk.Bulk) {
	s := &bulks{versions: versions{engine: e, versioning: v}, bulk: b}
	const path = "/v2/workspaces/" + access.PlatformWorkspace + "/versions"
	push := versionOperation("bulkPush", http.MethodPost, path, "Push many workspaces", access.WorkspacesWrite)
	push.Once, push.Status = true, http.StatusCreated
	push.Errors = append(push.Errors, errs.AlreadyExists, errs.Conflict, errs.PermissionDenied, errs.GatewayTimeout)
	push.Gives = []restapi.Media{{Type: mediaJSON, Of: bulk.PushCompleted{}}, {Type: eventStream, Of: ""}}
	push.Description = "Pushes the workspaces of groups that were changed to a repository of the platform, one after another, as the same version. " +
		"The platform workspace is locked meanwhile, so that only one bulk operation runs at a time. You need to be able to update every one of them. " +
		"Without groups, or with a repository that is none of the platform, it is a push of the platform workspace itself."
	restapi.Register(api, push, s.push)
	pull := versionOperation("bulkImport", http.MethodPost, path+"/latest/pull", "Import many workspaces", access.WorkspacesWrite)
	pull.Once = true
	pull.Errors = append(pull.Errors, errs.Conflict, errs.PermissionDenied, errs.GatewayTimeout)
	pull.Gives = []restapi.Media{{Type: mediaJSON, Of: bulk.ImportCompleted{}}, {Type: eventStream, Of: ""}}
	pull.Description = "Imports the workspaces of a repository of the platform, those of groups or all of them, each after what it depends on. What was changed in them is given up, " +
		"and kept as a native version. Workspaces that do not exist are made. Those that have the version already are skipped. " +
		"With a repository that is none of the platform, or none, it is a pull into the platform workspace itself."
	restapi.Register(api, pull, s.pull)
}

const eventStream = "text/event-stream"

// bulks serves bulk operations.
type bulks struct {
	versions

	bulk *bulk.Bulk
}

func (s *bulks) push(ctx context.Context, in *platformPushInput) (*restapi.Stream, error) {
	chosen := in.Body.Repository
	if len(in.Body.Groups) == 0 || chosen != nil && !s.bulk.Is(chosen.ID) {
		regular := &saveVersionInput{Body: in.Body.SaveVersion}
		regular.WorkspaceID, regular.Timeout = access.PlatformWorkspace, in.Timeout
		return s.save(ctx, regular)
	}
	return s.start(ctx, in.Following, in.Body.DryRun, bulk.Options{
		Kind: bulk.Pushing, RepositoryID: chosen.id(), Groups: in.Body.Groups, Force: in.Body.Force, Name: in.Body.Name, Description: in.Body.Description, PlanID: in.Body.PlanID,
	})
}

func (s *bulks) pull(ctx context.Context, in *platformPullInput) (*restapi.Stream, error) {
	body := PlatformPull{}
	if in.Body != nil {
		body = *in.Body
	}
	chosen := body.Repository
	if chosen == nil && len(body.Groups) == 0 || chosen != nil && !s.bulk.Is(chosen.ID) {
		return s.versions.pull(ctx, access.PlatformWorkspace, "latest", body.PullVersion, in.Timeout.or(regularSeconds))
	}
	return s.start(ctx, in.Following, body.DryRun, bulk.Options{
		Kind: bulk.Importing, RepositoryID: chosen.id(), Groups: body.Groups, Reimport: body.ForceReimport, PlanID: body.PlanID,
	})
}

// id is that of the repository; empty when none is chosen.
func (c *RepositoryChoice) id() string {
	if c == nil {
		return ""
	}
	return c.ID
}

// start begins a bulk operation, or tells what it would do.
func (s *bulks) start(ctx context.Context, how Following, dryRun bool, o bulk.Options) (*restapi.Stream, error) {
	if dryRun {
		plan, err := s.bulk.Plan(ctx, o)
		if err != nil {
			return nil, err
		}
		return restapi.Answer(http.StatusOK, plan)
	}
	run, err := s.bulk.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	if how.streams() {
		return s.stream(ctx, run)
	}
	timer := s.engine.Clock.NewTimer(min(time.Duration(how.Timeout.or(bulkSeconds))*time.Second, longestWait))
	defer timer.Stop()
	completed, ended, err := run.Wait(ctx, timer.C())
	if err != nil {
		return nil, err
	}
	if !ended {
		return restapi.Answer(http.StatusOK, processing(run))
	}
	return restapi.Answer(http.StatusOK, completed)
}

func processing(run *bulk.Run) Processing {
	return Processing{Processing: true, Message: "It takes longer than you wait, and goes on; events of the platform workspace tell of its end.", OperationID: run.ID}
}

// heartbeat is how often a stream says that it is alive.
const heartbeat = 15 * time.Second

// stream follows a bulk operation. What refuses it before it has begun is an ordinary answer.
func (s *bulks) stream(ctx context.Context, run *bulk.Run) (*restapi.Stream, error) {
	timer := s.engine.Clock.NewTimer(heartbeat)
	defer timer.Stop()
	select {
	case <-run.Listed():
	case <-run.Done():
	case <-timer.C():
	case <-ctx.Done():
		run.Leave()
		return nil, ctx.Err()
	}
	now := make(chan time.Time)
	close(now)
	if _, _, err := run.Wait(ctx, now); err != nil { // it is refused, or being refused; otherwise nobody waits for that any more
		return nil, err
	}
	return restapi.Streaming(func(w http.ResponseWriter, r *http.Request) { s.follow(w, r, run) }), nil
}

// follow sends what a bulk operation tells until it has ended. A reader that leaves, or does not read, does not stop it.
func (s *bulks) follow(w http.ResponseWriter, r *http.Request, run *bulk.Run) {
	r, done := httpx.Endless(w, r)
	defer done()
	events := httpx.NewEvents(w)
	for seen := 0; ; {
		more, next := run.Since(seen)
		for _, progress := range more {
			if !send(events, progress) {
				return
			}
			seen++
		}
		if len(more) > 0 {
			continue
		}
		select {
		case <-next:
			continue
		default:
		}
		if over, ok := s.idle(r.Context(), events, run, next); over || !ok {
			return
		}
	}
}

// idle waits for more, and ends the stream with the result when there is no more.
func (s *bulks) idle(ctx context.Context, events *httpx.Events, run *bulk.Run, next <-chan struct{}) (over, ok bool) {
	timer := s.engine.Clock.NewTimer(heartbeat)
	defer timer.Stop()
	select {
	case <-next:
		return false, true
	case <-timer.C():
		return false, events.Beat() == nil
	case <-ctx.Done():
		return true, false
	case <-run.Done():
	}
	select {
	case <-next: // it told something before it ended
		return false, true
	default:
	}
	completed, ended, err := run.Wait(ctx, nil)
	switch {
	case err != nil:
		return true, send(events, errs.From(err).Show())
	case !ended:
		return true, send(events, processing(run))
	default:
		return true, send(events, completed)
	}
}

func send(events *httpx.Events, value any) bool {
	text, err := json.Marshal(value)
	return err == nil && events.Send(text) == nil
}
