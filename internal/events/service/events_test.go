package service_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"atelier/internal/access"
	"atelier/internal/errs"
)

const paid, sent = `{"type":"order.paid","payload":{"amount":12.5}}`, `{"type":"order.sent","payload":{}}`

// Until a rule says otherwise, strangers neither emit nor read, and cannot tell a workspace from none.
func TestStrangers(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.ann.emit(paid).want(http.StatusOK)
		for path, absent := range map[string]string{
			events:                               "/v2/workspaces/NoSuch0/events",
			"/v2/workspaces/slug:at-home/events": "/v2/workspaces/slug:no-such/events",
		} {
			there := h.eve.get(path).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			gone := h.eve.get(absent).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			if got := strings.NewReplacer(home, "NoSuch0", "at-home", "no-such").Replace(there.body.String()); got != gone.body.String() {
				t.Errorf("a stranger can tell %s from %s", there.body, gone.body)
			}
			body := `{"events":[` + paid + `]}`
			h.eve.do(http.MethodPost, path, body).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
			h.nobody.get(path).wantError(http.StatusUnauthorized, errs.MissingToken)
			h.nobody.get(absent).wantError(http.StatusUnauthorized, errs.MissingToken)
			h.nobody.do(http.MethodPost, path, body).wantError(http.StatusUnauthorized, errs.MissingToken)
			h.root.get(absent).wantError(http.StatusNotFound, errs.NotFound)
			h.root.do(http.MethodPost, absent, body).wantError(http.StatusNotFound, errs.NotFound)
		}
		h.as(access.Principal{Kind: access.Internal}).get(events).wantError(http.StatusForbidden, errs.PermissionDenied)
		if got := h.ann.types(); got != "order.paid" {
			t.Errorf("stored: %s", got)
		}
	})
}

// A rule opens emitting to everyone, and for some events only. One refused event refuses all.
func TestEmittingByRules(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.secure(`
authorizations:
  rules:
    - {action: create, subject: events, conditions: {type: {$regex: '^order\.'}, payload.amount: {$lt: 100}}}
    - {action: create, subject: events, inverted: true, reason: Closed., conditions: {target.userId: {$exists: true}}}
`)
		stored := h.nobody.emit(paid).want(http.StatusOK)
		if stored.at("0.source.userId") != nil || stored.text("0.source.serviceTopic") != access.TopicEmit {
			t.Errorf("stored: %s", stored.body)
		}
		h.eve.emit(paid).want(http.StatusOK)
		h.eve.emit(paid, `{"type":"order.paid","payload":{"amount":100}}`).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.eve.emit(paid, `{"type":"bill.paid","payload":{"amount":1}}`).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		h.nobody.emit(sent).wantError(http.StatusUnauthorized, errs.MissingToken) // no amount
		refused := h.bob.emit(`{"type":"order.paid","payload":{"amount":1},"target":{"userId":"ann"}}`).wantError(http.StatusForbidden, errs.PermissionDenied)
		if refused.text("message") != "Closed." || refused.text("details.subject.type") != "order.paid" {
			t.Errorf("refused: %s", refused.body)
		}
		if got := h.root.types(); got != "order.paid order.paid" {
			t.Errorf("stored: %s", got)
		}
	})
}

// What may not be read is left out before pages are cut and events are counted.
func TestReadingByRules(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		h.secure(`
authorizations:
  roles: {auditor: {auth: {svc: {conditions: {authData.id: eve}}}}}
  rules:
    - {action: create, subject: events}
    - {action: read, subject: events, conditions: {source.serviceTopic: 'topic:runtime:emit', source.sessionId: '{{session.id}}'}}
    - {action: read, subject: events, conditions: {target.userId: '${user.id}'}}
    - {role: auditor, action: read, subject: events, conditions: {payload.amount: {$gte: 100}}}
    - {action: read, subject: events, inverted: true, conditions: {type: runtime.contexts.updated}}
`)
		carl := h.user("carl")
		h.native("workspaces.created")
		h.native("runtime.contexts.updated")
		carl.emit(paid, sent).want(http.StatusOK)
		h.ann.emit(`{"type":"for.carl","payload":{},"target":{"userId":"carl"}}`, `{"type":"large","payload":{"amount":100}}`).want(http.StatusOK)
		h.ann.emit(`{"type":"odd","payload":{"amount":1e400}}`, `{"type":"odder","payload":["amount"]}`, `{"type":"oddest","payload":"amount"}`).want(http.StatusOK)
		for name, c := range map[string]struct {
			who  *caller
			want string
		}{
			"somebody":      {carl, "order.paid order.sent for.carl"},
			"a rule's role": {h.eve, "large odd"},
			"the owner":     {h.ann, "workspaces.created order.paid order.sent for.carl large odd odder oddest"},
			"a super admin": {h.root, "workspaces.created order.paid order.sent for.carl large odd odder oddest"},
		} {
			if got := c.who.types(); got != c.want {
				t.Errorf("%s reads %s", name, got)
			}
		}
		h.nobody.get(events).wantError(http.StatusUnauthorized, errs.MissingToken) // has neither a session nor an id
		first := carl.get(events + "?limit=2").want(http.StatusOK)
		if first.header.Get("X-Total-Count") != "3" || first.text("result.events.0.type") != "for.carl" {
			t.Errorf("first page: %v %s", first.header, first.body)
		}
		next := regexp.MustCompile(`<([^>]+)>; rel="next"`).FindStringSubmatch(first.header.Get("Link"))
		if next == nil {
			t.Fatal("there is no second page")
		}
		if second := carl.get(next[1]).want(http.StatusOK); second.text("result.events.0.type") != "order.paid" || second.at("result.events.1") != nil {
			t.Errorf("second page: %s", second.body)
		}
		if some := carl.get(events + "?types=order.paid,large&afterId=0-0").want(http.StatusOK); some.header.Get("X-Total-Count") != "1" {
			t.Errorf("filtered: %s", some.body)
		}
	})
}

// Numbers that no database can compare are refused, so that rules about payloads hold for every event.
func TestNumbersBeyondReason(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		for _, number := range []string{"1e999999", "-1E+10000", "1e-99999", "0." + strings.Repeat("1", 1000), strings.Repeat("9", 1001)} {
			h.ann.emit(paid, `{"type":"odd","payload":{"a":"1e5\\\"","b":[1,`+number+`]}}`).wantError(http.StatusUnprocessableEntity, errs.ValidationFailed)
		}
		h.ann.emit(`{"type":"fine","payload":{"a":"1e999999 \\\" 1e999999","b":[1e9999,-1e-00009999,0.5]}}`).want(http.StatusOK)
		h.secure(`{"authorizations":{"rules":[{"action":"create","subject":"events","inverted":true,"conditions":{"payload.n":{"$gt":5}}}]}}`)
		h.ann.emit(`{"type":"large","payload":{"n":1e400}}`).wantError(http.StatusForbidden, errs.PermissionDenied)
		if got := h.ann.types(); got != "fine" {
			t.Errorf("stored: %s", got)
		}
	})
}

func TestEditorsByDefault(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		h.native("apikeys.created")
		h.native("workspaces.updated")
		h.bob.emit(paid).want(http.StatusOK)
		if got := h.bob.types(); got != "workspaces.updated order.paid" {
			t.Errorf("an editor reads %s", got)
		}
		if got := h.ann.types(); got != "apikeys.created workspaces.updated order.paid" {
			t.Errorf("an owner reads %s", got)
		}
		h.bob.emit(`{"type":"apikeys.created","payload":{}}`).wantError(http.StatusForbidden, errs.PermissionDenied)
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		reads, creates, files := h.key("read", "events"), h.key("create", "events"), h.key("manage", "files")
		stored := creates.emit(paid).want(http.StatusOK)
		if stored.at("0.source.userId") != nil {
			t.Errorf("an event of a key: %s", stored.body)
		}
		if got := reads.types(); got != "order.paid" {
			t.Errorf("a key reads %s", got)
		}
		creates.get(events).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		reads.emit(paid).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		files.emit(paid).wantError(http.StatusForbidden, errs.WorkspaceAccessDenied)
		reads.get("/v2/workspaces/Other00/events").wantError(http.StatusUnauthorized, errs.InvalidCredentials)
	})
}

// A token does what it was made for, whatever its account may do.
func TestScopes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, h *house) {
		h.ann.who.Scopes = []string{string(access.EventsRead)}
		h.ann.get(events).want(http.StatusOK)
		h.ann.emit(paid).wantError(http.StatusForbidden, errs.InsufficientScope)
		h.ann.who.Scopes = []string{string(access.EventsWrite)}
		h.ann.get(events).wantError(http.StatusForbidden, errs.InsufficientScope)
		h.ann.emit(paid).want(http.StatusOK)
	})
}

// By its slug a workspace is the same.
func TestWorkspacesByTheirSlug(t *testing.T) {
	t.Parallel()
	eachStore(t, func(t *testing.T, h *house) {
		h.ann.emit(paid, sent).want(http.StatusOK)
		first := h.ann.get("/v2/workspaces/slug:at-home/events?limit=1").want(http.StatusOK)
		if first.text("result.events.0.type") != "order.sent" || !strings.Contains(first.header.Get("Link"), "/v2/workspaces/slug:at-home/events?") {
			t.Errorf("by its slug: %v %s", first.header, first.body)
		}
	})
}
