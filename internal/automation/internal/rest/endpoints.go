package rest

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/fetch"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/model"
	"atelier/internal/automation/internal/runs"
	"atelier/internal/automation/internal/webhook"
	"atelier/internal/catalogue"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/httpx"
	"atelier/internal/restapi"
)

func (h *handlers) registerEndpoints(api *restapi.API) {
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		op := restapi.Operation{
			ID: strings.ToLower(method) + "Webhook", Method: method, Path: base + "/webhooks/{endpoint...}", Tag: tag,
			Summary: "Call an endpoint of an automation",
			Description: "Runs the automations of the workspace whose trigger is the endpoint and answers with the output of the first one. The endpoint is the automation's slug, " +
				"or the path it declares; of an app it begins with the slug of the instance and a dot. Anybody may call it, unless the automation asks for an action. " +
				"The automation chooses status and headers, and may stream server-sent events.",
			Policy: access.Public, Scope: access.Webhooks, Repeated: true, MaxBody: h.Limits.Total, Errors: []errs.Code{errs.NotFound, errs.PermissionDenied, errs.PayloadTooLarge},
			Gives: []restapi.Media{{Type: "application/json", Of: map[string]any{}}, {Type: "text/event-stream"}},
		}
		if method != http.MethodGet && method != http.MethodDelete {
			op.Takes = []restapi.Media{{Type: "application/json", Of: map[string]any{}}, {Type: "application/x-www-form-urlencoded"}, {Type: "multipart/form-data"}, {Type: "*/*"}}
		}
		api.Raw(op, h.endpoint)
	}
}

// endpointOf is what follows webhooks/ in the address, as it is written there.
func endpointOf(r *http.Request) string {
	_, tail, _ := strings.Cut(r.URL.EscapedPath(), "/webhooks/")
	return tail
}

// endpoint runs what an endpoint leads to.
func (h *handlers) endpoint(w http.ResponseWriter, r *http.Request) error {
	if err := settled(r); err != nil {
		return err
	}
	stream := webhook.NewStream(w, h.Answers)
	output, err := h.trigger(r, stream)
	if err != nil {
		stream.Fail(err)
		return nil
	}
	stream.Finish(output)
	return nil
}

// trigger runs the automations of an endpoint and gives the output of the first one.
func (h *handlers) trigger(r *http.Request, stream *webhook.Stream) (any, error) {
	m, err := h.open(r.Context(), r.PathValue("workspaceId"))
	if err != nil {
		return nil, missing(err, r)
	}
	if err := awake(m); err != nil {
		return nil, err
	}
	endpoint := endpointOf(r)
	matches := m.Endpoint(endpoint)
	if len(matches) == 0 {
		return nil, noTrigger(m.Root.WorkspaceID, endpoint)
	}
	request, err := webhook.Read(r, h.Limits, nil)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(matches, func(match model.Match) bool { return match.Automation.Streams }) {
		outlasting, done := stream.Outlast(r)
		defer done()
		r = outlasting
	}
	ctx, run := h.Runs.Begin(r.Context(), beginning(r, m, catalogue.Trigger{Type: "endpoint", Value: endpoint}))
	if err := h.interactions(ctx, run, matches); err != nil {
		return nil, err
	}
	var others sync.WaitGroup
	for _, match := range matches[1:] {
		payload := request.CloneFor(more) // the first one gets the request itself
		complete(payload, m, endpoint, match, stream)
		others.Go(func() { h.Engine.Execute(ctx, run, match.Automation, payload) })
	}
	complete(request, m, endpoint, matches[0], stream)
	result := h.Engine.Execute(ctx, run, matches[0].Automation, request)
	others.Wait()
	return result.Output, result.Err
}

// more is how many keys complete adds.
const more = 3

// complete makes a request what an automation gets of it.
func complete(payload *value.Object, m *model.Model, endpoint string, match model.Match, stream *webhook.Stream) {
	if len(match.Params) > 0 {
		params := value.NewObject(len(match.Params))
		for name, v := range match.Params {
			params.Set(name, v)
		}
		payload.Set("pathParams", params)
	}
	payload.Set("$http", stream)
	payload.Set("workspaceId", m.Root.WorkspaceID)
	payload.Set("automationSlug", endpoint)
}

// beginning is what a request says of the run that it starts.
func beginning(r *http.Request, m *model.Model, trigger catalogue.Trigger) runs.Beginning {
	caller, info := access.From(r.Context()), httpx.InfoFrom(r.Context())
	b := runs.Beginning{
		Root: m.Root, Trigger: trigger, Depth: caller.SourceDepth, CorrelationID: info.CorrelationID, Caller: caller,
		SourceWorkspaceID: caller.SourceWorkspace, AuthenticatedWorkspaceID: caller.ProvenWorkspace,
	}
	b.Depth, b.Hops = max(b.Depth, counted(r, fetch.HeaderDepth)), counted(r, fetch.HeaderHops)
	if info.Client.IsValid() {
		b.IP = info.Client.String()
	}
	return b
}

// counted reads a header that says how many automations or webhooks led to a request. A client that says too much makes only its own
// run end sooner.
func counted(r *http.Request, header string) int {
	const most = 1000
	text := r.Header.Get(header)
	if text == "" {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0
	}
	return min(n, most)
}

// interactions tells that automations were started from outside.
func (h *handlers) interactions(ctx context.Context, run *machine.Run, matches []model.Match) error {
	for _, match := range matches {
		record, err := envelope.Native(ctx, "runtime", run.Root.WorkspaceID, &catalogue.Interaction{
			WorkspaceID: run.Root.WorkspaceID, SourceWorkspaceID: run.SourceWorkspaceID, AuthenticatedWorkspaceID: run.AuthenticatedWorkspaceID,
			Automation: match.Automation.FullSlug(), Trigger: run.Trigger, StartedAt: run.Started.UTC().Truncate(time.Millisecond),
		})
		if err != nil {
			return err
		}
		if err := h.Recorder.Record(ctx, record); err != nil {
			return err
		}
	}
	return nil
}

func noTrigger(workspaceID, endpoint string) error {
	return machine.Fail(machine.ObjectNotFound, fmt.Sprintf("Did not find any matching trigger for endpoint '%s'", endpoint)).
		With(machine.Payload("workspaceId", workspaceID, "endpoint", endpoint))
}

// missing answers for a workspace that does not exist as for an endpoint that does not: nobody learns which of them it is.
func missing(err error, r *http.Request) error {
	if errs.CodeOf(err) == errs.NotFound {
		return noTrigger(r.PathValue("workspaceId"), endpointOf(r))
	}
	return err
}
