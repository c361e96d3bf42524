package contexts_test

import (
	"strings"
	"testing"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/catalogue"
	"atelier/internal/sqldb"
)

// grant gives an account a role in the workspace.
func (k *kit) grant(userID string, role access.Role) {
	k.Helper()
	err := k.db.Tx(k.Context(), func(tx *sqldb.Tx) error {
		return access.Grant(access.With(k.Context(), access.Principal{Kind: access.User, UserID: userID}), tx, k.bench.Home.WorkspaceID, role)
	})
	if err != nil {
		k.Fatal(err)
	}
}

func withEmail(id, email string) access.Principal {
	return access.Principal{Kind: access.User, UserID: id, AuthData: map[string]map[string]any{"svc": {"id": id, "email": email}}}
}

// What is computed of a run, whatever was set.
func TestComputedRun(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		run := k.run(k.store, access.Principal{Kind: access.User, UserID: "ann", SessionID: "s-ann", Scopes: []string{"webhooks"}})
		run.Trigger = catalogue.Trigger{Type: "event", Value: "order", ID: "1-1"}
		run.IP, run.SourceWorkspaceID, run.AuthenticatedWorkspaceID, run.SocketID = "203.0.113.9", "src", "aut", "sock"
		var forge strings.Builder
		forge.WriteString("do:\n")
		for _, name := range []string{"date", "ip", "depth", "trigger", "authenticatedWorkspaceId", "appSlug", "permissions", "mine"} {
			forge.WriteString("  - set: {name: run." + name + ", value: forged}\n")
		}
		k.want(k.do(run, forge.String()+"output: '{{run}}'"), `{"mine":"forged","date":"2026-05-01T12:00:00.000Z","correlationId":"correlation-1","depth":1,"automationSlug":"main",`+
			`"trigger":{"type":"event","value":"order","id":"1-1"},"socketId":"sock","ip":"203.0.113.9","sourceWorkspaceId":"src","authenticatedWorkspaceId":"aut","scopes":["webhooks"]}`)
		k.clock.Advance(time.Second)
		k.want(k.do(run, "do: []\noutput: '{{run.date}}'"), `"2026-05-01T12:00:01.000Z"`)
		bare := k.run(k.store, access.Principal{})
		k.want(k.do(bare, "do: []\noutput: ['{{run.ip}}', '{{run.authenticatedWorkspaceId}}', '{{run.scopes}}', '{{run.appSlug}}', '{{run.permissions}}', '{{run.mine}}']"),
			`[null,null,null,null,null,"forged"]`)
	})
}

// What an app sees of its run, of the configuration and of the contexts of the workspace.
func TestComputedOfApps(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		k.bench.Home.Global = machine.Payload("workspaceId", "wks1234")
		outer := k.bench.AddInstance(k.bench.Home, "shop", "Shop")
		inner := k.bench.AddInstance(outer, "pay", "Pay")
		inner.Global = machine.Payload("workspaceId", "wks1234", "endpoints", machine.Payload("in", "https://x"))
		inner.Config = machine.Payload("key", "old", "kept", 1.0)
		k.bench.AddTo(inner, "inside", `
do:
  - set: {name: config.key, value: new}
  - set: {name: global.workspaceId, value: forged}
output: ['{{run.depth}}', '{{run.automationSlug}}', '{{run.appSlug}}', '{{run.appInstanceSlug}}', '{{run.appInstanceFullSlug}}', '{{run.parentAppSlug}}', '{{run.parentAppSlugs}}', '{{run.trigger}}', '{{config}}', '{{global}}']
`)
		k.bench.AddTo(outer, "middle", "do:\n  - pay.inside: {output: it}\noutput: '{{it}}'")
		run := k.run(k.store, user())
		k.want(k.do(run, "do:\n  - set: {name: global.mine, value: 1}\n  - shop.middle: {output: it}\noutput: {it: '{{it}}', global: '{{global}}', config: '{{config}}'}"),
			`{"it":[3,"inside","Pay","pay","shop.pay","Shop",["Shop"],{"type":"automation","value":"shop.middle"},{"key":"new","kept":1},`+
				`{"mine":1,"workspaceId":"wks1234","endpoints":{"in":"https://x"}}],"global":{"mine":1,"workspaceId":"wks1234"},"config":{}}`)
		if got := k.definitions.instance; len(got) != 2 || got[0] != "shop" || got[1] != "pay" {
			k.Errorf("the configuration of %v was changed", got)
		}
	})
}

// A configuration that is refused is not seen as changed.
func TestConfig(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		k.bench.Home.Config = machine.Payload("a", 1.0)
		run := k.run(k.store, user())
		k.want(k.do(run, "do:\n  - all:\n    - set: {name: config.b, value: 2}\n    - set: {name: config.c.d, value: 3}\noutput: ['{{config.a}}', '{{config.b}}', '{{config.c}}']"), `[1,2,{"d":3}]`)
		k.want(k.read(k.run(k.store, user()), "config"), `{"it":{"a":1}}`) // until the definition is taken over
		k.definitions.refuse = true
		if _, err := k.try(run, "do:\n  - set: {name: config.b, value: 9}"); err == nil {
			k.Error("it was not refused")
		}
		k.want(k.read(run, "config.b"), `{"it":2}`)
	})
}

// Who acts is who called, with the role and the data that the caller has.
func TestComputedUser(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		k.grant("ann", access.Owner)
		caller := withEmail("ann", "ann@example.test")
		caller.SessionID = "s-ann"
		run := k.run(k.store, caller)
		k.want(k.do(run, "do:\n  - set: {name: user.email, value: forged}\n  - set: {name: user.role, value: forged}\n  - set: {name: user.x, value: 1}\n  - set: {name: session.y, value: 2}\noutput: ['{{user}}', '{{session}}']"),
			`[{"x":1,"id":"ann","email":"ann@example.test","authData":{"svc":{"email":"ann@example.test","id":"ann"}},"role":"owner"},{"y":2,"id":"s-ann"}]`)
		for _, c := range []struct {
			caller access.Principal
			want   string
		}{
			{access.Principal{}, `[{},{}]`},
			{access.Principal{SessionID: "s"}, `[{"id":"s"},{"id":"s"}]`},
			{access.Principal{Kind: access.User, UserID: "sa:acme:bot"}, `[{"id":"sa:acme:bot"},{"org":{"slug":"acme"}}]`},
			{access.Principal{Kind: access.User, UserID: "f", AuthData: map[string]map[string]any{"corp": {"email": "f@corp.test"}}}, `[{"id":"f","email":"f@corp.test","authData":{"corp":{"email":"f@corp.test"}}},{}]`},
			{access.Principal{Kind: access.User, UserID: "root", SuperAdmin: true}, `[{"id":"root","role":"superadmin"},{}]`},
		} {
			k.want(k.do(k.run(k.store, c.caller), "do: []\noutput: ['{{user}}', '{{session}}']"), c.want)
		}
	})
}

// Who has no session is known by the account, who has no account by the session, and who has neither by the request.
func TestNobody(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		for i, c := range []struct {
			caller        access.Principal
			user, session string
		}{
			{access.Principal{Kind: access.User, UserID: "u", SessionID: "s"}, "u", "s"},
			{access.Principal{Kind: access.User, UserID: "u2"}, "u2", "u2"},
			{access.Principal{SessionID: "s3"}, "s3", "s3"},
			{access.Principal{}, "correlation-1", "correlation-1"},
		} {
			run := k.run(k.store, c.caller)
			k.do(run, "do:\n  - set: {name: user.x, value: 1}\n  - set: {name: session.x, value: 1}\n  - set: {name: socket.x, value: 1}\n")
			var found int
			err := k.db.QueryRow(k.Context(), `SELECT COUNT(*) FROM rt_contexts WHERE (kind = 'user' AND id = $1) OR (kind IN ('session', 'socket') AND id = $2)`, c.user, c.session).Scan(&found)
			if err != nil || found != 3 {
				k.Errorf("%d: %d %v", i, found, err)
			}
		}
	})
}

// Setting user.id or session.id makes somebody else act, without their power over the platform, and not with data of people who have
// nothing to do with the workspace.
func TestSwitch(t *testing.T) {
	t.Parallel()
	each(t, func(k *kit) {
		k.grant("member", access.Editor)
		root := withEmail("s-root", "root@example.test")
		root.SuperAdmin = true
		for _, p := range []access.Principal{withEmail("member", "member@example.test"), withEmail("stranger", "stranger@example.test"), root, withEmail("s-old", "old@example.test")} {
			k.people.accounts[p.UserID] = p
		}
		k.people.sessions["s-root"], k.people.sessions["s-old"] = start().Add(time.Hour), start()
		k.set(k.run(k.store, withEmail("member", "")), "user.color", "red")
		const origin = `"origin":{"userId":"ann","sessionId":"s-ann"}`
		for _, c := range []struct{ name, set, want string }{
			{"a member", "user.id, value: member", `[{"color":"red","id":"member","email":"member@example.test","authData":{"svc":{"email":"member@example.test","id":"member"}},"role":"editor"},{` + origin + `}]`},
			{"a stranger", "user.id, value: stranger", `[{"id":"stranger"},{` + origin + `}]`},
			{"nobody", "user.id, value: nobody", `[{"id":"nobody"},{` + origin + `}]`},
			{"oneself", "user.id, value: ann", `[{"id":"ann"},{"mine":1,"id":"s-ann"}]`},
			{"a session", "session.id, value: s-root", `[{"id":"s-root","email":"root@example.test","authData":{"svc":{"email":"root@example.test","id":"s-root"}}},{"id":"s-root",` + origin + `}]`},
			{"a session that has expired", "session.id, value: s-old", `[{"id":"s-old"},{"id":"s-old",` + origin + `}]`},
			{"a session that is none", "session.id, value: call-7", `[{"id":"call-7"},{"id":"call-7",` + origin + `}]`},
		} {
			run := k.run(k.store, user())
			got := k.do(run, "do:\n  - set: {name: session.mine, value: 1}\n  - set: {name: "+c.set+"}\noutput: ['{{user}}', '{{session}}']")
			if got != c.want {
				k.Errorf("%s:\ngot  %s\nwant %s", c.name, got, c.want)
			}
			if p := run.Scopes.Identity(); p.SuperAdmin || len(p.Scopes) > 0 || run.Caller.UserID != "ann" {
				k.Errorf("%s: %+v", c.name, p)
			}
		}
		for _, bad := range []string{"''", "5", "null", "{a: 1}"} {
			if _, err := k.try(k.run(k.store, user()), "do:\n  - set: {name: user.id, value: "+bad+"}"); err == nil {
				k.Errorf("%s was taken for somebody", bad)
			}
		}
	})
}
