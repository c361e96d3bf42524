package tokens_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/machine/machinetest"
	"atelier/internal/automation/internal/tokens"
	"atelier/internal/dsul/expr/value"
)

// The gateway sees who an automation runs for, which workspace it is of, and what the request is a part of.
func TestCallers(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	admin, visitor := h.admin(), h.visitor()
	if !admin.SuperAdmin || visitor.Kind != access.Anonymous {
		t.Fatalf("%+v %+v", admin, visitor)
	}
	withoutSession := admin
	withoutSession.SessionID, withoutSession.Credential, withoutSession.Scopes = "", access.ByNothing, nil
	key := access.Principal{Kind: access.Key, Credential: access.ByAPIKey, KeyID: "k", KeyWorkspace: "w"}
	for name, c := range map[string]struct {
		caller           access.Principal
		kind             access.Kind
		user, session    string
		credential       access.Credential
		proven           bool
		mayRead, account bool
	}{
		"a user":                 {caller: admin, kind: access.User, user: admin.UserID, session: admin.SessionID, credential: access.BySession, mayRead: true},
		"a visitor":              {caller: visitor, kind: access.Anonymous, user: visitor.UserID, session: visitor.SessionID, credential: access.BySession, mayRead: true},
		"whom an event is of":    {caller: withoutSession, kind: access.User, user: admin.UserID, credential: access.BySession, mayRead: true},
		"nobody":                 {},
		"nobody, of a workspace": {proven: true},
		"a key":                  {caller: key, kind: access.Key, credential: access.ByAPIKey},
		"the platform":           {caller: access.Principal{Kind: access.Internal, Credential: access.ByInternalKey}},
	} {
		got := h.as(h.sign(tokens.Call{Caller: c.caller, WorkspaceID: "source", Proven: c.proven, CorrelationID: "run-7", Depth: 3}))
		p := got.Principal
		if p.Kind != c.kind || p.UserID != c.user || p.SessionID != c.session || p.Credential != c.credential || p.KeyID != c.caller.KeyID || p.KeyWorkspace != c.caller.KeyWorkspace {
			t.Errorf("%s: %+v", name, p)
		}
		proven := ""
		if c.proven {
			proven = "source"
		}
		if p.SourceWorkspace != "source" || p.SourceDepth != 3 || p.ProvenWorkspace != proven || got.CorrelationID != "run-7" {
			t.Errorf("%s: %+v", name, got)
		}
		if p.SuperAdmin || slices.Contains(p.Scopes, string(access.Account)) || slices.Contains(p.Scopes, string(access.WorkspacesRead)) != c.mayRead {
			t.Errorf("%s may do too much or too little: %+v", name, p)
		}
	}
}

// A token is for workspaces, pages and files, for some seconds, and for as long as the session goes on.
func TestBounds(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	admin := h.admin()
	token := h.sign(tokens.Call{Caller: admin, WorkspaceID: "w", CorrelationID: "c"})
	status := func(path, token string) int { return h.call(http.MethodGet, path, token, "").Code }
	for path, want := range map[string]int{
		"/v2/workspaces": 200, "/v2/files/x/y": 200, "/v2/pages/x": 200, "/v2/apps": 200, "/workspaces/x/versions": 200,
		"/v2/me": 401, "/v2/user": 401, "/v2/accesstokens": 401, "/git/x": 401, "/sys/schedules": 401, "/": 401,
	} {
		if got := status(path, token); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	other := tokens.New(tokens.Deps{Keys: h.keys, Clock: h.clock, Issuer: "https://other.example", Audience: h.config.PublicURL()})
	foreign, err := other.Sign(tokens.Call{WorkspaceID: "w", Life: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	somebody := admin
	somebody.UserID = "somebody-else"
	gone := admin
	gone.SessionID = "gone"
	nobody := access.Principal{Kind: access.User, UserID: "nobody-has-this-id"}
	for name, bad := range map[string]string{
		"of another installation": foreign,
		"of another user":         h.sign(tokens.Call{Caller: somebody, WorkspaceID: "w"}),
		"of no session":           h.sign(tokens.Call{Caller: gone, WorkspaceID: "w"}),
		"of no account":           h.sign(tokens.Call{Caller: nobody, WorkspaceID: "w"}),
		"of no workspace":         h.sign(tokens.Call{Caller: admin}),
		"for hours":               h.sign(tokens.Call{Caller: admin, WorkspaceID: "w", Life: time.Hour}),
		"changed":                 token[:len(token)-4] + "AAAA",
	} {
		if got := status(webhook, bad); got != http.StatusUnauthorized {
			t.Errorf("a token %s: %d", name, got)
		}
	}
	r := h.call(http.MethodGet, webhook, "", "")
	if r.Code != http.StatusOK || strings.Contains(r.Body.String(), "sourceWorkspace") {
		t.Errorf("without a token: %d %s", r.Code, r.Body)
	}
	h.clock.Advance(14 * time.Second)
	if got := status(webhook, token); got != http.StatusOK {
		t.Errorf("clocks that are a little apart: %d", got)
	}
	h.clock.Advance(2 * time.Second)
	if got := h.call(http.MethodGet, webhook, token, ""); got.Code != http.StatusUnauthorized || !strings.Contains(got.Body.String(), "token_expired") {
		t.Errorf("after its time: %d %s", got.Code, got.Body)
	}
	fresh := h.sign(tokens.Call{Caller: admin, WorkspaceID: "w"})
	h.revoke(admin)
	h.clock.Advance(3 * time.Second) // what is known of a session is believed for two
	if got := status(webhook, fresh); got != http.StatusUnauthorized {
		t.Errorf("after the session: %d", got)
	}
}

// What the runtime would never sign is refused, also with a good signature.
func TestForgedClaims(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	now := h.clock.Now().Unix()
	good := map[string]any{
		"workspaceId": "w", "correlationId": "c", "jti": "id", "iat": now, "exp": now + 10, "iss": h.config.Issuer(), "aud": h.config.PublicURL(),
	}
	sign := func(claims map[string]any) string {
		text, _ := json.Marshal(claims)
		token, err := h.keys.Sign(text)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	if got := h.as(sign(good)); got.Principal.SourceWorkspace != "w" {
		t.Fatalf("%+v", got)
	}
	for name, change := range map[string]map[string]any{
		"one more": {"role": "superadmin"}, "another spelling": {"SUB": "x"}, "from the future": {"iat": now + 60, "exp": now + 70}, "never": {"exp": 0},
		"before it began": {"exp": now - 1}, "no id": {"jti": ""}, "a list": {"workspaceId": []string{"w"}}, "for somebody else": {"aud": "https://other.example"},
	} {
		claims := maps.Clone(good)
		maps.Copy(claims, change)
		if got := h.call(http.MethodGet, webhook, sign(claims), ""); got.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d %s", name, got.Code, got.Body)
		}
	}
}

// What automations get: the caller's, whoever acts now; hidden in events; and the proof of the workspace where it is asked for.
func TestInstruction(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	admin := h.admin()
	b := machinetest.New(t, machine.Instructions{"auth": h.mint.Instruction()})
	b.Machine.Clock = h.clock
	b.Run.Caller = admin
	b.Scopes.Become(access.Principal{Kind: access.User, UserID: "somebody-else"})
	b.Add("main", "do:\n  - auth: {output: a}\n  - auth: {workspace: true, output: b}\noutput: ['{{a.jwt}}', '{{b.jwt}}']")
	result := b.Execute("main", value.NewObject(0))
	list, ok := result.Output.([]any)
	if result.Err != nil || !ok || len(list) != 2 {
		t.Fatalf("%+v", result)
	}
	for i, proven := range []string{"", b.Home.WorkspaceID} {
		got := h.as(list[i].(string))
		if got.Principal.UserID != admin.UserID || got.Principal.SourceWorkspace != b.Home.WorkspaceID || got.Principal.ProvenWorkspace != proven || got.CorrelationID != b.Run.CorrelationID {
			t.Errorf("%+v", got)
		}
	}
	for _, record := range b.Recorder.Of("runtime.automations.executed") {
		if strings.Contains(string(record.Body), "eyJ") || !strings.Contains(string(record.Body), "REDACTED") {
			t.Errorf("a token is in an event: %s", record.Body)
		}
	}
	f := b.Frame()
	for _, c := range []struct {
		name, calling, source, proven string
		token                         func(*machine.Frame) (string, error)
	}{
		{"fetch", "", b.Home.WorkspaceID, "", h.mint.Token},
		{"fetch that forwards nothing", "", b.Home.WorkspaceID, "", h.mint.ForwardToken},
		{"fetch that forwards", "calling", "calling", "calling", h.mint.ForwardToken},
	} {
		b.Run.AuthenticatedWorkspaceID = c.calling
		token, err := c.token(f)
		if err != nil {
			t.Fatal(err)
		}
		if got := h.as(token).Principal; got.SourceWorkspace != c.source || got.ProvenWorkspace != c.proven || got.UserID != admin.UserID {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

// A request that goes on does so after its token has expired, and ends with the session.
func TestStreams(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	admin, visitor := h.admin(), h.visitor()
	ctx, cancel := context.WithCancel(t.Context())
	followed := make(chan error, 1)
	go func() { followed <- h.gateway.FollowStreams(ctx) }()
	defer func() { cancel(); <-followed }()
	of := func(p access.Principal) <-chan struct{} {
		return h.stream(ctx, h.sign(tokens.Call{Caller: p, WorkspaceID: "w", CorrelationID: "c"}))
	}
	first, second := of(admin), of(visitor)
	h.clock.Advance(20 * time.Second)
	h.revoke(visitor)
	h.until(second) // so their callers were looked at
	select {
	case <-first:
		t.Fatal("it ended with its token")
	default:
	}
	h.revoke(admin)
	h.until(first)
}
