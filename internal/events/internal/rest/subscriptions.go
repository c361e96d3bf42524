package rest

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/events/internal/query"
	"atelier/internal/events/internal/webhooks"
	"atelier/internal/restapi"
)

// SubscriptionFilters narrow a webhook down.
type SubscriptionFilters query.Options

// Subscription is a webhook of a workspace as clients see it.
type Subscription struct {
	ID             string                 `json:"id" doc:"Its id."`
	URL            string                 `json:"url" doc:"The address that events are sent to."`
	Types          []string               `json:"types" nullable:"false" doc:"The types of events it is told of; all when empty."`
	Filters        SubscriptionFilters    `json:"filters" doc:"What else events have to be."`
	Headers        map[string]string      `json:"headers" nullable:"false" doc:"Headers that are sent along. The values of those that look like credentials are shown as ***."`
	Description    string                 `json:"description" doc:"What it is for."`
	Enabled        bool                   `json:"enabled" doc:"Whether it gets events."`
	OrderBy        string                 `json:"orderBy,omitempty" doc:"Events with the same value at this path are delivered one at a time, in their order."`
	Concurrency    int                    `json:"concurrency" doc:"How many deliveries are under way at the same time at most."`
	Signature      string                 `json:"signature" enum:"hmac,ed25519" doc:"How deliveries are signed, by Standard Webhooks."`
	Secrets        []string               `json:"secrets,omitempty" doc:"The new secrets, shown once: when the subscription is made and when its secret is rotated."`
	PublicKeys     []string               `json:"publicKeys,omitempty" doc:"What signatures of ed25519 are verified with, the newest first."`
	PreviousUntil  *time.Time             `json:"previousSecretUntil,omitempty" doc:"Until when the older of two secrets signs too."`
	State          string                 `json:"state" enum:"active,paused,disabled" doc:"How it is doing. A paused one is tried again by itself."`
	Reason         string                 `json:"reason,omitempty" enum:"manual,failing,gone,access_lost" doc:"Why it is not active: somebody disabled it, its endpoint fails, its endpoint answered 410, or whoever made or last changed it may not read events any more."`
	StateChangedAt time.Time              `json:"stateChangedAt" doc:"When it was enabled or disabled."`
	NextAttemptAt  *time.Time             `json:"nextAttemptAt,omitempty" doc:"When a paused one is tried again."`
	FailingSince   *time.Time             `json:"failingSince,omitempty" doc:"Since when every delivery has failed."`
	LastDelivery   *webhooks.LastDelivery `json:"lastDelivery,omitempty" doc:"The newest attempt."`
	CreatedAt      time.Time              `json:"createdAt" doc:"When it was made."`
	CreatedBy      string                 `json:"createdBy" doc:"By whom."`
	UpdatedAt      time.Time              `json:"updatedAt" doc:"When it was last changed."`
	UpdatedBy      string                 `json:"updatedBy" doc:"By whom. Only events that they may read are sent."`
}

func subscriptionView(s webhooks.Subscription, now time.Time) Subscription {
	state, reason := s.Status(now)
	view := Subscription{
		ID: s.ID, URL: s.URL, Types: append([]string{}, s.Types...), Filters: SubscriptionFilters(s.Filters), Headers: webhooks.Masked(s.Headers), Description: s.Description,
		Enabled: s.State == webhooks.Active, OrderBy: s.OrderBy, Concurrency: s.Concurrency, Signature: s.Signature, Secrets: s.Secrets,
		PublicKeys: s.PublicKeys, PreviousUntil: whenSet(s.PreviousUntil), State: state, Reason: reason, StateChangedAt: s.StateAt,
		FailingSince: whenSet(s.FailingSince), LastDelivery: s.Last, CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy,
	}
	if state == webhooks.Paused {
		view.NextAttemptAt = whenSet(s.RetryAt)
	}
	return view
}

func whenSet(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// CreateSubscription is the body that makes a subscription. It may also be written as a REST Hook: target_url or hookUrl, and
// event.
type CreateSubscription struct {
	URL         string               `json:"url,omitempty" maxLength:"8192" doc:"The address that events are sent to: http or https, without a user name, and none of a private network."`
	TargetURL   string               `json:"target_url,omitempty" maxLength:"8192" doc:"The same as url, for REST Hooks."`
	HookURL     string               `json:"hookUrl,omitempty" maxLength:"8192" doc:"The same as url, for REST Hooks."`
	Types       []string             `json:"types,omitempty" maxItems:"100" nullable:"false" doc:"The types of events it is told of; all when there are none. A * at the end stands for anything, as in order.*."`
	Event       string               `json:"event,omitempty" maxLength:"200" doc:"One type, for REST Hooks."`
	Filters     *SubscriptionFilters `json:"filters,omitempty" doc:"What else events have to be."`
	Headers     map[string]string    `json:"headers,omitempty" doc:"Headers that are sent along; at most 20. Host, Authorization, webhook-* and those of the connection are refused."`
	Description string               `json:"description,omitempty" maxLength:"4000" doc:"What it is for."`
	Enabled     *bool                `json:"enabled,omitempty" doc:"Whether it gets events; it does unless this is false."`
	OrderBy     string               `json:"orderBy,omitempty" maxLength:"200" doc:"A dotted path into the event, such as payload.orderId: events with the same value there are delivered one at a time, in their order. While one of them fails, those after it wait."`
	Concurrency int                  `json:"concurrency,omitempty" minimum:"1" maximum:"16" doc:"How many deliveries are under way at the same time at most; 4 unless given."`
	Signature   string               `json:"signature,omitempty" enum:"hmac,ed25519" doc:"How deliveries are signed; hmac unless given."`
	Secrets     []string             `json:"secrets,omitempty" maxItems:"2" nullable:"false" doc:"The secrets of hmac, the newest first: whsec_ and 24 to 64 bytes in base64. One is made when there are none."`
}

// draft reads the body, in whichever way it is written.
func (c CreateSubscription) draft() (webhooks.Draft, error) {
	draft := webhooks.Draft{
		Types: c.Types, Headers: c.Headers, Description: c.Description, OrderBy: c.OrderBy, Concurrency: c.Concurrency, Signature: c.Signature,
		Secrets: c.Secrets, Disabled: c.Enabled != nil && !*c.Enabled,
	}
	given := slices.DeleteFunc([]string{c.URL, c.TargetURL, c.HookURL}, func(address string) bool { return address == "" })
	if len(given) != 1 {
		return draft, errs.Invalid(errs.Field{Field: "url", Message: "give the address once, as url, target_url or hookUrl"})
	}
	draft.URL = given[0]
	if c.Event != "" && len(c.Types) > 0 {
		return draft, errs.Invalid(errs.Field{Field: "event", Message: "give either types or event"})
	}
	if c.Event != "" {
		draft.Types = []string{c.Event}
	}
	if c.Filters != nil {
		draft.Filters = query.Options(*c.Filters)
	}
	return draft, nil
}

// UpdateSubscription is the body that changes a subscription; what is absent stays.
type UpdateSubscription struct {
	URL         *string              `json:"url,omitempty" maxLength:"8192" doc:"The address that events are sent to."`
	Types       *[]string            `json:"types,omitempty" maxItems:"100" doc:"The types of events it is told of; all when empty."`
	Filters     *SubscriptionFilters `json:"filters,omitempty" doc:"What else events have to be; replaced as a whole."`
	Headers     *map[string]string   `json:"headers,omitempty" doc:"Headers that are sent along; replaced as a whole. A value of *** stays what it is."`
	Description *string              `json:"description,omitempty" maxLength:"4000" doc:"What it is for."`
	Enabled     *bool                `json:"enabled,omitempty" doc:"Whether it gets events. Enabling one also lets one that is paused try again at once."`
	OrderBy     *string              `json:"orderBy,omitempty" maxLength:"200" doc:"The path by which events are ordered; empty for none."`
	Concurrency *int                 `json:"concurrency,omitempty" minimum:"1" maximum:"16" doc:"How many deliveries are under way at the same time at most."`
}

func (u UpdateSubscription) change() webhooks.Change {
	return webhooks.Change{
		URL: u.URL, Types: u.Types, Filters: (*query.Options)(u.Filters), Headers: u.Headers, Description: u.Description, Enabled: u.Enabled,
		OrderBy: u.OrderBy, Concurrency: u.Concurrency,
	}
}

// RotateSecret is the body that gives a subscription a new secret.
type RotateSecret struct {
	Secret  string `json:"secret,omitempty" maxLength:"200" doc:"The new secret of hmac: whsec_ and 24 to 64 bytes in base64. One is made when it is absent."` //nolint:gosec // what is asked for
	Overlap *int   `json:"overlap,omitempty" minimum:"0" maximum:"604800" doc:"For how many seconds the present secret signs too; a day unless given. With 0 it ends at once."`
}

// OfSubscription names a subscription; inputs embed it.
type OfSubscription struct {
	WorkspaceID    string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
	SubscriptionID string `path:"subscriptionId" maxLength:"80" doc:"The subscription's id."`
}

type listSubscriptionsInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
	restapi.Page
}

type subscriptionsOutput struct {
	restapi.Listed

	Body []Subscription
}

type createSubscriptionInput struct {
	WorkspaceID string `path:"workspaceId" maxLength:"80" doc:"The workspace's id, or slug: and its slug."`
	Body        CreateSubscription
}

type updateSubscriptionInput struct {
	OfSubscription

	Body UpdateSubscription
}

type rotateInput struct {
	OfSubscription

	Body RotateSecret
}

type subscriptionOutput struct {
	Location string `header:"Location"`
	Body     Subscription
}

type deletedSubscriptionOutput struct {
	Body struct {
		ID string `json:"id" doc:"The id of the deleted subscription."`
	}
}

const subscriptionsPath = "/v2/workspaces/{workspaceId}/subscriptions"

// hooks are the operations on webhooks.
type hooks struct {
	*webhooks.Webhooks

	cursors *restapi.Cursors
}

func (h hooks) answer(s webhooks.Subscription, err error) (*subscriptionOutput, error) {
	if err != nil {
		return nil, err
	}
	return &subscriptionOutput{Body: subscriptionView(s, h.Clock.Now())}, nil
}

func hookOperation(id, method, path, summary string, scope access.Scope) restapi.Operation {
	return restapi.Operation{
		ID: id, Method: method, Path: path, Tag: "Webhooks", Summary: summary, Policy: access.Callers, Scope: scope,
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
	}
}

// RegisterSubscriptions adds the operations on webhooks.
func RegisterSubscriptions(api *restapi.API, w *webhooks.Webhooks, cursors *restapi.Cursors) {
	h, one := hooks{Webhooks: w, cursors: cursors}, subscriptionsPath+"/{subscriptionId}"
	all := hookOperation("listSubscriptions", http.MethodGet, subscriptionsPath, "List webhooks", access.WorkspacesRead)
	all.Description = "The subscriptions of a workspace, the oldest first. Webhooks need the permission to update the workspace, and to read events."
	restapi.Register(api, all, h.list)
	create := hookOperation("createSubscription", http.MethodPost, subscriptionsPath, "Make a webhook", access.WorkspacesWrite)
	create.Description = "Every event from now on that matches is sent to the address as the body of a POST, signed by Standard Webhooks (webhook-id, webhook-timestamp, webhook-signature), until the endpoint answers with 2xx: ten times over three days, and on request. " +
		"An event is sent at least once; webhook-id is the same every time. Only events that you may read are sent, and none with persist: false. An endpoint that answers 410 is unsubscribed. The secrets are shown once, in this answer. A workspace has at most 100 subscriptions."
	create.Status, create.Once, create.Errors = http.StatusCreated, true, append(create.Errors, errs.QuotaExceeded)
	restapi.Register(api, create, h.create)
	restapi.Register(api, hookOperation("getSubscription", http.MethodGet, one, "Read a webhook", access.WorkspacesRead),
		func(ctx context.Context, in *OfSubscription) (*subscriptionOutput, error) {
			return h.answer(h.Get(ctx, in.WorkspaceID, in.SubscriptionID))
		})
	update := hookOperation("updateSubscription", http.MethodPatch, one, "Change a webhook", access.WorkspacesWrite)
	update.Description = "What is absent stays. From then on the subscription sends only what you may read, whoever made it. Enabling a disabled one begins with the next event; what happened meanwhile can be replayed."
	restapi.Register(api, update, func(ctx context.Context, in *updateSubscriptionInput) (*subscriptionOutput, error) {
		return h.answer(h.Update(ctx, in.WorkspaceID, in.SubscriptionID, in.Body.change()))
	})
	restapi.Register(api, hookOperation("deleteSubscription", http.MethodDelete, one, "Delete a webhook", access.WorkspacesWrite),
		func(ctx context.Context, in *OfSubscription) (*deletedSubscriptionOutput, error) {
			out := &deletedSubscriptionOutput{}
			out.Body.ID = in.SubscriptionID
			return out, h.Delete(ctx, in.WorkspaceID, in.SubscriptionID)
		})
	rotate := hookOperation("rotateSubscriptionSecret", http.MethodPost, one+"/rotate", "Rotate the secret of a webhook", access.WorkspacesWrite)
	rotate.Description = "Gives the subscription a new secret, or key pair, which is shown once. The present one signs too for the overlap, so that receivers have time to learn the new one; one from an earlier rotation ends."
	rotate.Once = true
	restapi.Register(api, rotate, h.rotate)
	h.registerDeliveries(api, one)
}

func (h hooks) list(ctx context.Context, in *listSubscriptionsInput) (*subscriptionsOutput, error) {
	place := restapi.Place{
		Path: "/v2/workspaces/" + url.PathEscape(in.WorkspaceID) + "/subscriptions", Query: url.Values{"limit": {strconv.Itoa(in.Limit)}},
	}
	offset, err := in.From(ctx, h.cursors, place.Path+"?"+place.Query.Encode())
	if err != nil {
		return nil, err
	}
	found, total, err := h.List(ctx, in.WorkspaceID, offset, in.Limit)
	if err != nil {
		return nil, err
	}
	out := &subscriptionsOutput{Body: make([]Subscription, 0, len(found))}
	for _, s := range found {
		out.Body = append(out.Body, subscriptionView(s, h.Clock.Now()))
	}
	place.Next, place.Total = offset+len(found), total
	out.Listed, err = restapi.NewListed(ctx, h.cursors, place)
	return out, err
}

func (h hooks) create(ctx context.Context, in *createSubscriptionInput) (*subscriptionOutput, error) {
	draft, err := in.Body.draft()
	if err != nil {
		return nil, err
	}
	out, err := h.answer(h.Create(ctx, in.WorkspaceID, draft))
	if err != nil {
		return nil, err
	}
	out.Location = "/v2/workspaces/" + url.PathEscape(in.WorkspaceID) + "/subscriptions/" + out.Body.ID
	return out, nil
}

func (h hooks) rotate(ctx context.Context, in *rotateInput) (*subscriptionOutput, error) {
	const day = 24 * time.Hour
	overlap := day
	if in.Body.Overlap != nil {
		overlap = time.Duration(*in.Body.Overlap) * time.Second
	}
	return h.answer(h.Rotate(ctx, in.WorkspaceID, in.SubscriptionID, in.Body.Secret, overlap))
}
