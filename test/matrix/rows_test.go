package matrix_test

import (
	"maps"
	"net/http"
	"strconv"

	"atelier/internal/access"
	"atelier/internal/app/apptest"
)

// row says how an operation is called, and what those get who may call it.
type row struct {
	body any
	form string // a urlencoded body, for the protocols
	// upload is a multipart body with the boundary b.
	upload string
	// status is what an admitted caller gets; 200 when zero.
	status int
	// query is appended to the path.
	query string
	// needs is the action and subject that the workspace's rules must allow.
	action, subject string
	// params replace those of the world.
	params map[string]string
	// prepare makes what the call uses up, for callers that are admitted, and gives the parameters that name it.
	prepare func(w *world) map[string]string
	// fresh gives a caller of the same kind whose session, or account, the call may use up.
	fresh func(w *world, name string) *apptest.Client
	// policy replaces that of the operation, where the handler decides.
	policy access.Policy
	// only names the admitted callers, where neither the policy nor a rule says it all.
	only string
	// without names those whose token is a good one that lacks the scope of the protocol: they get 403.
	without string
	// platform tells that the workspace is that of the platform, which is the super admins'.
	platform bool
	// protocol operations read the Authorization header in their own way: everybody gets the same.
	protocol bool
}

// rows is the matrix, by method and path. An operation without a row fails the test.
func rows() map[string]row {
	all := map[string]row{}
	for _, part := range []map[string]row{publicRows(), protocolRows(), pageRows(), accountRows(), adminRows(), workspaceRows(), definitionRows(), fileRows(), appRows(), shownRows(), archiveRows(), bulkRows(), gitRows(), versioningRows(), webhookRows(), automationRows()} {
		maps.Copy(all, part)
	}
	return all
}

const (
	// signedIn are the people in a session of their own.
	signedIn      = "other exmember reader editor admin super"
	bad           = http.StatusBadRequest
	unauthorized  = http.StatusUnauthorized
	unprocessable = http.StatusUnprocessableEntity
)

func publicRows() map[string]row {
	return map[string]row{
		"GET /{$}":                 {},
		"GET /oidc/jwks":           {protocol: true},
		"GET /socket.io":           {protocol: true, status: http.StatusBadRequest},
		"POST /socket.io":          {protocol: true, status: http.StatusBadRequest},
		"GET /socket.io/{$}":       {protocol: true, status: http.StatusBadRequest},
		"POST /socket.io/{$}":      {protocol: true, status: http.StatusBadRequest},
		"POST /v2/login":           {body: map[string]any{"email": "x"}, status: unprocessable},
		"POST /v2/login/anonymous": {},
		"GET /v2/login/providers":  {},
		"GET /v2/login":            {query: "?domain=example.test"},
		"GET /v2/login/callback":   {status: bad},
		"POST /v2/login/callback":  {form: "state=x", status: http.StatusSeeOther},
		"POST /v2/login/token-exchange": {
			body: map[string]any{"provider": "nobody", "subject_token": "x"}, status: http.StatusNotFound,
		},
		"POST /v2/login/passkey/options": {body: map[string]any{}},
		"POST /v2/login/passkey":         {body: map[string]any{}, status: unprocessable},
		"POST /v2/signup":                {body: map[string]any{"email": "x"}, status: unprocessable},
		"POST /v2/user/password":         {body: map[string]any{"email": "nobody@example.test"}},
		"POST /v2/user/validate":         {body: map[string]any{"token": "no such token"}, status: bad},
		"POST /v2/user/delete":           {body: map[string]any{"token": "no such token"}, status: bad},
		"GET /v2/photos/{hash}":          {params: map[string]string{"hash": "none"}, status: http.StatusNotFound},
		"POST /v2/service-accounts/{slug}/token": {
			params: map[string]string{"slug": "nobody"}, body: map[string]any{"clientSecret": "wrong"}, status: unauthorized,
		},
		"GET /openapi.json": {},
		"GET /docs":         {},
		"GET /docs/{file}":  {params: map[string]string{"file": "docs.css"}},
	}
}

// protocolRows are the endpoints of OpenID Connect: who calls is told by the protocol, not by our credentials.
func protocolRows() map[string]row {
	here := map[string]string{"uid": "no-such-interaction", "clientId": "no-such-client"}
	return map[string]row{
		"GET /.well-known/openid-configuration":       {},
		"GET /oidc/.well-known/openid-configuration":  {protocol: true},
		"GET /.well-known/oauth-authorization-server": {},
		"GET /oidc/auth":                       {protocol: true, status: bad},
		"POST /oidc/auth":                      {protocol: true, form: "client_id=x", status: bad},
		"GET /oidc/auth/{uid}":                 {protocol: true, params: here, status: http.StatusNotFound},
		"GET /oidc/interaction/{uid}":          {protocol: true, params: here, status: http.StatusNotFound},
		"GET /oidc/interaction/{uid}/details":  {protocol: true, params: here, status: http.StatusNotFound},
		"POST /oidc/interaction/{uid}/login":   {protocol: true, params: here, form: "login=a&password=b", status: http.StatusNotFound},
		"POST /oidc/interaction/{uid}/consent": {protocol: true, params: here, body: map[string]any{"allow": true}, status: http.StatusNotFound},
		"POST /oidc/token":                     {protocol: true, form: "grant_type=password", status: unauthorized},
		"POST /oidc/token/introspection":       {protocol: true, form: "token=x", status: unauthorized},
		"POST /oidc/token/revocation":          {protocol: true, form: "token=x", status: unauthorized},
		"GET /oidc/me":                         {protocol: true, status: unauthorized, without: "anon " + signedIn},
		"POST /oidc/me":                        {protocol: true, form: "x=y", status: unauthorized, without: "anon " + signedIn},
		"GET /oidc/session/end":                {protocol: true, status: http.StatusSeeOther},
		"POST /oidc/session/end":               {protocol: true, form: "x=y", status: http.StatusSeeOther},
		"POST /oidc/reg":                       {protocol: true, body: map[string]any{}, status: unauthorized},
		"GET /oidc/reg/{clientId}":             {protocol: true, params: here, status: unauthorized},
		"PUT /oidc/reg/{clientId}":             {protocol: true, params: here, body: map[string]any{}, status: unauthorized},
		"DELETE /oidc/reg/{clientId}":          {protocol: true, params: here, status: unauthorized},
		"POST /oidc/device/auth":               {protocol: true, form: "client_id=x", status: unauthorized},
		"GET /oidc/device/details":             {protocol: true, status: unauthorized},
		"POST /oidc/device/verify":             {protocol: true, body: map[string]any{"user_code": "x", "allow": true}, status: unauthorized},
	}
}

func pageRows() map[string]row {
	all := map[string]row{"GET /ui/{file}": {params: map[string]string{"file": "pages.css"}}}
	for _, page := range []string{"signin", "signup", "forgot", "validate", "delete-account", "consent", "device", "account", "signedout"} {
		all["GET /"+page] = row{}
	}
	all["GET /error"] = row{status: bad}
	return all
}

// anotherSession is the same caller in a session that the call may end.
func anotherSession(w *world, name string) *apptest.Client {
	switch name {
	case "super":
		return w.Admin()
	case "anon":
		return w.Visitor()
	default:
		return w.signIn(name)
	}
}

// anotherAccount is a caller of the same kind whose account the call may spoil.
func anotherAccount(w *world, _ string) *apptest.Client {
	return w.user("throwaway" + strconv.Itoa(len(w.ids)))
}

func accountRows() map[string]row {
	gone := map[string]string{"key": "none", "sessionId": "none", "token": "none", "passkeyId": "none", "provider": "none", "clientId": "none"}
	const people = signedIn + " at-reader low-scope"
	return map[string]row{
		"GET /v2/me":                           {},
		"POST /v2/contacts":                    {body: map[string]any{"ids": []string{"none"}}, only: people},
		"POST /v2/logout":                      {status: http.StatusNoContent, fresh: anotherSession},
		"POST /v2/login/mfa":                   {body: map[string]any{"totp": "000000"}, status: http.StatusNotFound},
		"GET /v2/user/mfa":                     {only: signedIn},
		"POST /v2/user/mfa":                    {body: map[string]any{"method": "totp", "currentPassword": "wrong"}, status: unauthorized, only: signedIn},
		"POST /v2/user/mfa/confirm":            {body: map[string]any{"totp": "000000"}, status: http.StatusNotFound, only: signedIn},
		"POST /v2/user/mfa/recovery-codes":     {body: map[string]any{"currentPassword": "wrong"}, status: unauthorized},
		"POST /v2/user/confirm":                {body: map[string]any{"currentPassword": "wrong"}, status: unauthorized},
		"GET /v2/user/passkeys":                {},
		"POST /v2/user/passkeys/options":       {body: map[string]any{}},
		"POST /v2/user/passkeys":               {body: map[string]any{}, status: unprocessable},
		"PATCH /v2/user/passkeys/{passkeyId}":  {params: gone, body: map[string]any{"name": "x"}, status: http.StatusNotFound},
		"DELETE /v2/user/passkeys/{passkeyId}": {params: gone, status: http.StatusNotFound},
		"GET /v2/user/links":                   {},
		"POST /v2/user/links":                  {body: map[string]any{"provider": "none"}, status: http.StatusNotFound},
		"DELETE /v2/user/links/{provider}":     {params: gone, status: http.StatusNotFound},
		"GET /v2/user/consents":                {},
		"DELETE /v2/user/consents/{clientId}":  {params: gone, status: http.StatusNotFound},
		"PATCH /v2/user":                       {body: map[string]any{"lastName": "y"}},
		"DELETE /v2/user":                      {},
		"POST /v2/user/meta":                   {body: map[string]any{"a": 1}},
		"DELETE /v2/user/meta/{key}":           {params: gone, status: http.StatusNotFound},
		"POST /v2/user/photo":                  {body: "no form", status: http.StatusUnsupportedMediaType},
		"GET /v2/user/sessions":                {},
		"DELETE /v2/user/sessions/{sessionId}": {params: gone, status: http.StatusNotFound},
		"DELETE /v2/user/sessions":             {fresh: anotherAccount},
		"POST /v2/user/accessTokens":           {body: map[string]any{"name": "x", "expiresAt": "2026-12-01T00:00:00Z"}, status: http.StatusCreated},
		"GET /v2/user/accessTokens":            {},
		"DELETE /v2/user/accessTokens/{token}": {params: gone, status: http.StatusNotFound},
	}
}

func adminRows() map[string]row {
	none := map[string]string{"userId": "none", "slug": "none"}
	return map[string]row{
		"POST /v2/users":                          {body: map[string]any{"email": "made@example.test", "firstName": "x"}, status: http.StatusCreated},
		"GET /v2/users/{userId}":                  {},
		"PATCH /v2/users/{userId}":                {body: map[string]any{"lastName": "z"}},
		"PATCH /v2/users":                         {body: map[string]any{"query": map[string]any{"ids": []string{"none"}}, "data": map[string]any{"lastName": "z"}}},
		"DELETE /v2/users/{userId}":               {params: none, status: http.StatusNotFound, policy: access.SuperAdmins},
		"DELETE /v2/users/{userId}/mfa":           {params: none, status: http.StatusNotFound},
		"GET /v2/service-accounts":                {},
		"POST /v2/service-accounts":               {body: map[string]any{"slug": "made"}, status: http.StatusCreated},
		"GET /v2/service-accounts/{slug}":         {params: none, status: http.StatusNotFound},
		"PATCH /v2/service-accounts/{slug}":       {params: none, body: map[string]any{"name": "x"}, status: http.StatusNotFound},
		"DELETE /v2/service-accounts/{slug}":      {params: none, status: http.StatusNotFound},
		"POST /v2/service-accounts/{slug}/rotate": {params: none, status: http.StatusNotFound},
		"GET /v2/readiness":                       {},
		"POST /sys/cleanup/indices":               {},
		"POST /sys/cleanup/executed-events":       {},
		"GET /sys/schedules":                      {},
		"GET /sys/subscriptions":                  {},
		"GET /sys/shards":                         {},
		"GET /sys/events/shards":                  {},
		// for other services only: the gateway does not route them
		"GET /sys/readiness/workspaces": {policy: access.Public, status: http.StatusNotFound},
		"GET /sys/readiness/events":     {policy: access.Public, status: http.StatusNotFound},
		"GET /sys/readiness/runtime":    {policy: access.Public, status: http.StatusNotFound},
	}
}

func workspaceRows() map[string]row {
	const ws, ev, secrets = access.SubjectWorkspaces, access.SubjectEvents, access.SubjectSecrets
	secret := map[string]any{"ours": map[string]any{"value": "x"}}
	rule := []any{map[string]any{"action": "read", "subject": "workspaces"}}
	newKey := func(w *world) map[string]string {
		_, id := w.key(w.signIn("admin"), w.w, "files")
		return map[string]string{"apiKey": id}
	}
	return map[string]row{
		"GET /v2/workspaces":                        {},
		"POST /v2/workspaces":                       {body: map[string]any{"name": "made"}, status: http.StatusCreated, only: signedIn + " at-reader"},
		"GET /v2/workspaces/{workspaceId}":          {action: "read", subject: ws},
		"PATCH /v2/workspaces/{workspaceId}":        {action: "update", subject: ws, body: map[string]any{"description": "changed"}},
		"DELETE /v2/workspaces/{workspaceId}":       {action: "delete", subject: ws, prepare: (*world).anotherWorkspace},
		"GET /v2/workspaces/{workspaceId}/security": {action: "read", subject: ws},
		"PUT /v2/workspaces/{workspaceId}/security": {
			action: "manage_security", subject: ws, body: map[string]any{"authorizations": map[string]any{"roles": map[string]any{}, "rules": []any{}}},
		},
		"GET /v2/workspaces/{workspaceId}/security/roles":               {action: "manage_permissions", subject: ws},
		"POST /v2/workspaces/{workspaceId}/security/explain":            {action: "read", subject: ws, body: map[string]any{"action": "read", "subject": "workspaces"}},
		"GET /v2/workspaces/{workspaceId}/security/apikeys":             {action: "manage_permissions", subject: ws},
		"GET /v2/workspaces/{workspaceId}/security/apikeys/{apiKey}":    {action: "manage_permissions", subject: ws},
		"POST /v2/workspaces/{workspaceId}/security/apikeys":            {action: "manage_permissions", subject: ws, body: map[string]any{"name": "k", "rules": rule}, status: http.StatusCreated},
		"PUT /v2/workspaces/{workspaceId}/security/apikeys/{apiKey}":    {action: "manage_permissions", subject: ws, body: map[string]any{"name": "k", "rules": rule}, prepare: newKey},
		"DELETE /v2/workspaces/{workspaceId}/security/apikeys/{apiKey}": {action: "manage_permissions", subject: ws, prepare: newKey},
		"GET /v2/workspaces/{workspaceId}/security/secrets":             {action: "read", subject: secrets},
		"PATCH /v2/workspaces/{workspaceId}/security/secrets":           {action: "update", subject: secrets, body: secret},
		"PUT /v2/workspaces/{workspaceId}/security/secrets":             {action: "update", subject: secrets, body: secret},
		"DELETE /v2/workspaces/{workspaceId}/security/secrets/{secretName}": {
			action: "delete", subject: secrets, prepare: func(w *world) map[string]string {
				w.signIn("admin").Patch("/v2/workspaces/"+w.w+"/security/secrets", secret).Want(http.StatusOK)
				return nil
			},
		},
		"GET /v2/workspaces/{workspaceId}/permissions": {action: "manage_permissions", subject: ws},
		"POST /v2/workspaces/{workspaceId}/permissions": {
			action: "manage_permissions", subject: ws, body: map[string]any{"target": map[string]any{"public": true}, "permissions": map[string]any{"policies": map[string]any{"create": true}}},
		},
		"DELETE /v2/workspaces/{workspaceId}/permissions/{target}": {action: "manage_permissions", subject: ws, prepare: (*world).sharedOnce},
		"POST /v2/workspaces/{workspaceId}/events":                 {action: "create", subject: ev, body: map[string]any{"events": []any{map[string]any{"type": "greeted", "payload": 1}}}},
		"GET /v2/workspaces/{workspaceId}/events":                  {action: "read", subject: ev},
		"POST /v2/workspaces/{workspaceId}/search":                 {action: "read", subject: ev, body: map[string]any{"query": map[string]any{"match_all": map[string]any{}}}},
		"GET /v2/workspaces/{workspaceId}/usage":                   {action: "get_usage", subject: ws, query: "?afterDate=2026-01-01&beforeDate=2026-02-01"},
		"POST /v2/search":                                          {body: map[string]any{"query": map[string]any{"match_all": map[string]any{}}}},
	}
}

// anotherWorkspace is one that the call may delete.
func (w *world) anotherWorkspace() map[string]string {
	w.t.Helper()
	return map[string]string{"workspaceId": w.signIn("admin").Post("/v2/workspaces", map[string]any{"name": "short-lived"}).Want(http.StatusCreated).Text("id")}
}

// sharedOnce is a grant that the call may take away.
func (w *world) sharedOnce() map[string]string {
	w.t.Helper()
	name := "guest" + strconv.Itoa(len(w.ids))
	w.user(name)
	w.share(w.signIn("admin"), name, map[string]any{"policies": map[string]any{"read": true}})
	return map[string]string{"target": w.ids[name]}
}

// rights is what the rules of the workspace give to whom.
func rights() map[string]string {
	const managers = "admin super"
	return map[string]string{
		"read workspaces":               "reader editor admin at-reader super keyW-read",
		"update workspaces":             "editor " + managers,
		"delete workspaces":             managers,
		"manage_security workspaces":    managers + " low-scope", // whose scope is that of files
		"manage_permissions workspaces": managers,
		"read pages":                    "editor " + managers,
		"update pages":                  "editor " + managers,
		"manage_permissions pages":      managers,
		"read secrets":                  managers,
		"update secrets":                managers,
		"delete secrets":                managers,
		"create events":                 "editor " + managers,
		"test automations":              "editor " + managers,
		"read events":                   "editor " + managers,
		"get_usage workspaces":          managers,
		"update apps":                   "editor " + managers,
		"delete apps":                   managers,
		"read files":                    "editor keyW-files low-scope " + managers,
		"create files":                  "editor " + managers,
		"update files":                  "editor " + managers,
		"delete files":                  "editor " + managers,
	}
}
