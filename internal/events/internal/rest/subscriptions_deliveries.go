package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/events/internal/webhooks"
	"atelier/internal/restapi"
)

// Delivery is an event on its way to a webhook, or arrived there.
type Delivery struct {
	ID             string     `json:"id" doc:"Its id, which the endpoint gets as webhook-id."`
	SubscriptionID string     `json:"subscriptionId" doc:"The subscription."`
	EventID        string     `json:"eventId" doc:"The event."`
	EventType      string     `json:"eventType" doc:"Its type."`
	State          string     `json:"state" enum:"pending,delivered,failed" doc:"Whether it waits for an attempt, was accepted by the endpoint, or has failed for good and waits for somebody to replay it."`
	Reason         string     `json:"reason,omitempty" doc:"Why it has failed."`
	Attempts       int        `json:"attempts" doc:"How often it was sent."`
	LastStatus     int        `json:"lastStatus,omitempty" doc:"The status that the endpoint last answered with; absent when it did not."`
	NextAttemptAt  *time.Time `json:"nextAttemptAt,omitempty" doc:"When it is sent next, at the earliest."`
	CreatedAt      time.Time  `json:"createdAt" doc:"When it was queued."`
	FinishedAt     *time.Time `json:"finishedAt,omitempty" doc:"When it was accepted, or failed for good."`
}

// DeliveryAttempt is one sending of a delivery.
type DeliveryAttempt struct {
	Number   int              `json:"number" doc:"Which attempt, counted from 1."`
	At       time.Time        `json:"at" doc:"When it was sent."`
	Duration int64            `json:"duration" doc:"How long it took, in milliseconds; 0 when there was no connection."`
	Outcome  string           `json:"outcome" enum:"delivered,failed,gone" doc:"What came of it."`
	Error    string           `json:"error,omitempty" doc:"Why it failed."`
	Request  AttemptRequest   `json:"request" doc:"What was sent."`
	Response *AttemptResponse `json:"response,omitempty" doc:"What came back; absent when nothing did."`
}

// AttemptRequest is what was sent to an endpoint.
type AttemptRequest struct {
	Method    string            `json:"method" doc:"The method."`
	URL       string            `json:"url" doc:"The address."`
	Headers   map[string]string `json:"headers" nullable:"false" doc:"The headers, with the signature; those of yours that look like credentials as ***."`
	Body      string            `json:"body" doc:"The body: the event. At most 64 KB of it."`
	Truncated bool              `json:"truncated,omitempty" doc:"Whether there was more of it."`
}

// AttemptResponse is what an endpoint answered.
type AttemptResponse struct {
	Status    int               `json:"status" doc:"The status."`
	Headers   map[string]string `json:"headers" nullable:"false" doc:"The headers; cookies as ***."`
	Body      string            `json:"body" doc:"The body, at most 64 KB of it."`
	Encoding  string            `json:"encoding,omitempty" enum:"base64" doc:"How the body is written when it is not text."`
	Truncated bool              `json:"truncated,omitempty" doc:"Whether there was more of it."`
}

// DeliveryDetails is a delivery with its attempts.
type DeliveryDetails struct {
	Delivery

	Event json.RawMessage   `json:"event" doc:"The event as it is sent."`
	Log   []DeliveryAttempt `json:"log" nullable:"false" doc:"The attempts, the first one first."`
}

// TestResult is what came of a test.
type TestResult struct {
	Delivery Delivery        `json:"delivery" doc:"The delivery of the test."`
	Attempt  DeliveryAttempt `json:"attempt" doc:"What was sent, and what came back."`
}

// ReplayDeliveries is the body that chooses what is replayed. What is absent does not matter.
type ReplayDeliveries struct {
	From       *time.Time           `json:"from,omitempty" doc:"Only events that happened at this time or later."`
	To         *time.Time           `json:"to,omitempty" doc:"Only events that happened before this time."`
	AfterID    string               `json:"afterId,omitempty" maxLength:"40" doc:"Only events after this one: continueAfter of the previous answer."`
	Types      []string             `json:"types,omitempty" maxItems:"100" nullable:"false" doc:"Only events of these types; a * at the end stands for anything."`
	IDs        []string             `json:"ids,omitempty" maxItems:"1000" nullable:"false" doc:"Only these events."`
	Filter     *SubscriptionFilters `json:"filter,omitempty" doc:"Only events that are like this, besides what the subscription asks for."`
	OnlyFailed bool                 `json:"onlyFailed,omitempty" doc:"Only deliveries that have failed for good."`
}

func (b ReplayDeliveries) wanted() (want webhooks.Range, err error) {
	want = webhooks.Range{Types: b.Types, OnlyFailed: b.OnlyFailed}
	if b.Filter != nil {
		want.Filter = query.Options(*b.Filter)
	}
	if b.From != nil {
		want.From = *b.From
	}
	if b.To != nil {
		want.To = *b.To
	}
	if b.AfterID != "" {
		if want.After, err = bus.ParseID(b.AfterID); err != nil {
			return want, errs.Invalid(errs.Field{Field: "afterId", Message: "use the id of an event"})
		}
	}
	for i, id := range b.IDs {
		position, err := bus.ParseID(id)
		if err != nil {
			return want, errs.Invalid(errs.Field{Field: fmt.Sprintf("ids[%d]", i), Message: "use the id of an event"})
		}
		want.IDs = append(want.IDs, position)
	}
	return want, nil
}

// ReplayResult is what a replay did.
type ReplayResult struct {
	Queued        int    `json:"queued" doc:"How many deliveries were queued."`
	ContinueAfter string `json:"continueAfter,omitempty" doc:"Set when there may be more: repeat the call with this as afterId."`
}

func deliveryView(d webhooks.Delivery) Delivery {
	return Delivery{
		ID: d.ID, SubscriptionID: d.SubscriptionID, EventID: d.Position.ID(), EventType: d.EventType, State: d.State, Reason: d.Reason, Attempts: d.Attempts,
		LastStatus: d.LastStatus, NextAttemptAt: whenSet(d.DueAt), CreatedAt: d.CreatedAt, FinishedAt: whenSet(d.FinishedAt),
	}
}

// maxShown is how much of a body is shown.
const maxShown = 64 << 10

func attemptView(d webhooks.Delivery, a webhooks.Attempt) DeliveryAttempt {
	body, more := webhooks.Beginning(d.Body(), maxShown)
	view := DeliveryAttempt{
		Number: a.Number, At: a.At, Duration: a.Took.Milliseconds(), Outcome: a.Outcome, Error: a.Error,
		Request: AttemptRequest{Method: a.Request.Method, URL: a.Request.URL, Headers: orNone(a.Request.Headers), Body: string(body), Truncated: more},
	}
	if got := a.Response; got != nil {
		view.Response = &AttemptResponse{Status: got.Status, Headers: orNone(got.Headers), Body: got.Body, Encoding: got.Encoding, Truncated: got.Truncated}
	}
	return view
}

func orNone(headers map[string]string) map[string]string {
	if headers == nil {
		return map[string]string{}
	}
	return headers
}

// OfDelivery names a delivery; inputs embed it.
type OfDelivery struct {
	OfSubscription

	DeliveryID string `path:"deliveryId" maxLength:"80" doc:"The delivery's id."`
}

type listDeliveriesInput struct {
	OfSubscription
	restapi.Page

	State string `query:"state" enum:"pending,delivered,failed" doc:"Only deliveries in this state."`
}

type deliveriesOutput struct {
	restapi.Listed

	Body []Delivery
}

type deliveryOutput struct{ Body Delivery }

type deliveryDetailsOutput struct{ Body DeliveryDetails }

type testOutput struct{ Body TestResult }

type replayInput struct {
	OfSubscription

	Body ReplayDeliveries
}

type replayOutput struct{ Body ReplayResult }

func (h hooks) registerDeliveries(api *restapi.API, one string) {
	all := hookOperation("listDeliveries", http.MethodGet, one+"/deliveries", "List deliveries of a webhook", access.WorkspacesRead)
	all.Description = "The newest event first. Deliveries are kept for 30 days after they ended; those of events that you may not read are left out."
	restapi.Register(api, all, h.deliveries)
	restapi.Register(api, hookOperation("getDelivery", http.MethodGet, one+"/deliveries/{deliveryId}", "Read a delivery with its attempts", access.WorkspacesRead), h.delivery)
	again := hookOperation("replayDelivery", http.MethodPost, one+"/deliveries/{deliveryId}/replay", "Send a delivery again", access.WorkspacesWrite)
	again.Description = "With the same webhook-id and the same body, by a schedule that begins anew. One that waits for its next attempt is sent now. A disabled subscription is a conflict."
	again.Errors = append(again.Errors, errs.Conflict)
	restapi.Register(api, again, func(ctx context.Context, in *OfDelivery) (*deliveryOutput, error) {
		d, err := h.Replay(ctx, in.WorkspaceID, in.SubscriptionID, in.DeliveryID)
		return &deliveryOutput{Body: deliveryView(d)}, err
	})
	replay := hookOperation("replayDeliveries", http.MethodPost, one+"/replay", "Send events to a webhook again", access.WorkspacesWrite)
	replay.Description = "Queues the events of a time, of a list or of a kind that match the subscription and that you may read, also those from before it was made. What waits already stays as it is. Looks at 10,000 events at most; continueAfter says where to go on."
	replay.Once, replay.Errors = true, append(replay.Errors, errs.Conflict)
	restapi.Register(api, replay, h.replay)
	try := hookOperation("testSubscription", http.MethodPost, one+"/test", "Test a webhook", access.WorkspacesWrite)
	try.Description = "Sends an event of the type events.subscriptions.tested, once and now, also to a disabled subscription, and answers with what was sent and what came back."
	try.Once = true
	restapi.Register(api, try, func(ctx context.Context, in *OfSubscription) (*testOutput, error) {
		d, a, err := h.Test(ctx, in.WorkspaceID, in.SubscriptionID)
		if err != nil {
			return nil, err
		}
		return &testOutput{Body: TestResult{Delivery: deliveryView(d), Attempt: attemptView(d, a)}}, nil
	})
}

func (h hooks) deliveries(ctx context.Context, in *listDeliveriesInput) (*deliveriesOutput, error) {
	place := restapi.Place{
		Path:  "/v2/workspaces/" + url.PathEscape(in.WorkspaceID) + "/subscriptions/" + url.PathEscape(in.SubscriptionID) + "/deliveries",
		Query: url.Values{"limit": {strconv.Itoa(in.Limit)}},
	}
	if in.State != "" {
		place.Query.Set("state", in.State)
	}
	offset, err := in.From(ctx, h.cursors, place.Path+"?"+place.Query.Encode())
	if err != nil {
		return nil, err
	}
	found, total, err := h.Deliveries(ctx, webhooks.LogQuery{Workspace: in.WorkspaceID, Subscription: in.SubscriptionID, State: in.State, Offset: offset, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := &deliveriesOutput{Body: make([]Delivery, 0, len(found))}
	for _, d := range found {
		out.Body = append(out.Body, deliveryView(d))
	}
	place.Next, place.Total = offset+len(found), total
	out.Listed, err = restapi.NewListed(ctx, h.cursors, place)
	return out, err
}

func (h hooks) delivery(ctx context.Context, in *OfDelivery) (*deliveryDetailsOutput, error) {
	d, attempts, err := h.Delivery(ctx, in.WorkspaceID, in.SubscriptionID, in.DeliveryID)
	if err != nil {
		return nil, err
	}
	out := &deliveryDetailsOutput{Body: DeliveryDetails{Delivery: deliveryView(d), Event: d.Body(), Log: make([]DeliveryAttempt, 0, len(attempts))}}
	for _, a := range attempts {
		out.Body.Log = append(out.Body.Log, attemptView(d, a))
	}
	return out, nil
}

func (h hooks) replay(ctx context.Context, in *replayInput) (*replayOutput, error) {
	want, err := in.Body.wanted()
	if err != nil {
		return nil, err
	}
	done, err := h.ReplayRange(ctx, in.WorkspaceID, in.SubscriptionID, want)
	out := &replayOutput{Body: ReplayResult{Queued: done.Count}}
	if done.Last > 0 {
		out.Body.ContinueAfter = done.Last.ID()
	}
	return out, err
}
