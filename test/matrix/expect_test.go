package matrix_test

import (
	"net/http"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/restapi"
)

// expect is what a caller of the matrix must get, from the operation's policy and scope, the row, and the rights of the
// workspace. It is written from the specification, not from the code that decides.
func expect(op restapi.Operation, r row, name string) outcome {
	policy := op.Policy
	if r.policy != "" {
		policy = r.policy
	}
	if r.protocol && has(r.without, name) {
		return denied("insufficient_scope")
	}
	if r.protocol {
		return admitted(r)
	}
	switch name {
	case "garbage", "revoked":
		return outcome{status: http.StatusUnauthorized, code: "invalid_token"}
	case "expired":
		return outcome{status: http.StatusUnauthorized, code: "token_expired"}
	}
	switch {
	case policy == access.Public && op.Scope == access.Webhooks && name == "low-scope": // nobody needs a token, but one that is sent must be for it
		return denied("insufficient_scope")
	case policy == access.Public:
		return admitted(r)
	case name == "none":
		return outcome{status: http.StatusUnauthorized, code: "missing_token"}
	case !passes(policy, name):
		return denied("permission_denied")
	case name == "low-scope" && op.Scope != access.NoScope && op.Scope != access.FilesRead:
		return denied("insufficient_scope")
	case name == "anon" && op.Scope != access.NoScope && !slices.Contains(access.VisitorScopes(), string(op.Scope)):
		return denied("insufficient_scope")
	case r.platform && name == "super":
		return admitted(r)
	case r.platform && has("keyW-read keyW-files keyW2", name):
		return outcome{status: http.StatusUnauthorized, code: "invalid_credentials"}
	case r.platform:
		return denied("workspace_access_denied")
	case r.only != "" && !has(r.only, name):
		return denied("permission_denied")
	case r.action == "" || has(rights()[r.action+" "+r.subject], name):
		return admitted(r)
	case has(rights()["read workspaces"], name):
		return denied("permission_denied")
	case name == "keyW2":
		return outcome{status: http.StatusUnauthorized, code: "invalid_credentials"}
	default:
		return denied("workspace_access_denied")
	}
}

func admitted(r row) outcome {
	if r.status != 0 {
		return outcome{admitted: true, status: r.status}
	}
	return outcome{admitted: true, status: http.StatusOK}
}

func denied(code string) outcome { return outcome{status: http.StatusForbidden, code: code} }

func has(list, name string) bool { return slices.Contains(strings.Fields(list), name) }

// passes tells whether somebody with a good credential may call an operation at all.
func passes(policy access.Policy, name string) bool {
	const people, byToken, visitor, keys = signedIn, "at-reader low-scope", "anon", "keyW-read keyW-files keyW2"
	switch policy {
	case access.SigningIn:
		return has(people+" "+visitor, name)
	case access.SignedIn, access.Myself:
		return has(people+" "+byToken+" "+visitor, name)
	case access.Accounts:
		return has(people, name)
	case access.Callers, access.ByRules:
		return has(people+" "+byToken+" "+visitor+" "+keys, name)
	case access.SuperAdmins:
		return name == "super"
	case access.Operators:
		return has("super internal", name)
	case access.InternalOnly:
		return name == "internal"
	case access.Public:
		return true
	default:
		return false
	}
}
