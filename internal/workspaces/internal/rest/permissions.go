package rest

import (
	"context"
	"net/http"
	"strings"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/workspaces/internal/engine"
)

// ShareTarget says with whom something is to be shared: exactly one of them.
type ShareTarget struct {
	ID     string `json:"id,omitempty" maxLength:"200" doc:"The id of a user."`
	Public bool   `json:"public,omitempty" doc:"True for everyone."`
	Role   string `json:"role,omitempty" maxLength:"100" doc:"The holders of this role in the workspace."`
}

// grantTarget is how grants name the target. Ids may also be those that the list of permissions shows.
func (t ShareTarget) grantTarget() (string, error) {
	given := 0
	for _, set := range []bool{t.ID != "", t.Public, t.Role != ""} {
		if set {
			given++
		}
	}
	switch {
	case given != 1:
		return "", errs.Invalid(errs.Field{Field: "target", Message: "give exactly one of id, public: true and role"})
	case t.Public:
		return access.Everyone, nil
	case t.Role != "":
		return engine.RolePrefix + t.Role, nil
	default:
		return t.ID, nil
	}
}

// Permissions are what a target may do.
type Permissions struct {
	Role     string          `json:"role,omitempty" maxLength:"100" doc:"A role of the workspace: owner, editor or one that its security document declares."`
	Policies map[string]bool `json:"policies,omitempty" doc:"Single permissions, each true or false: read, write, update, create, manage_permissions."`
}

// policies reads the single permissions.
func (p Permissions) policies() (access.Policies, error) {
	var policies access.Policies
	for name, granted := range p.Policies {
		switch name {
		case "read":
			policies.Read = granted
		case "write":
			policies.Write = granted
		case "update":
			policies.Update = granted
		case "create":
			policies.Create = granted
		case "manage_permissions":
			policies.ManagePermissions = granted
		default:
			return policies, errs.Invalid(errs.Field{
				Field: "permissions.policies." + shortened(name), Message: "unknown policy; use read, write, update, create or manage_permissions",
			})
		}
	}
	return policies, nil
}

func shortened(name string) string {
	const longest = 60
	if len(name) <= longest {
		return name
	}
	return strings.ToValidUTF8(name[:longest], "") + "…"
}

// SharePermissions is the body of a sharing.
type SharePermissions struct {
	Target      ShareTarget `json:"target" doc:"With whom."`
	Permissions Permissions `json:"permissions" doc:"What the target may do; it replaces what the target had before."`
}

// SharedTarget is with whom something is shared.
type SharedTarget struct {
	ID          string `json:"id" doc:"A user id, * for everyone, or role:{name}."`
	DisplayName string `json:"displayName,omitempty" doc:"What people call it."`
	Public      bool   `json:"public,omitempty" doc:"True for everyone."`
	Role        string `json:"role,omitempty" doc:"The role whose holders it is shared with."`
}

// SharedPermissions is what somebody was given.
type SharedPermissions struct {
	Target      SharedTarget `json:"target" doc:"With whom it is shared."`
	Permissions Permissions  `json:"permissions" doc:"What the target may do."`
}

func sharedView(s engine.Shared) SharedPermissions {
	view := SharedPermissions{
		Target:      SharedTarget{ID: s.Target, DisplayName: s.DisplayName, Public: s.Target == access.Everyone},
		Permissions: Permissions{Role: string(s.Role), Policies: policiesView(s.Policies)},
	}
	if role, ok := strings.CutPrefix(s.Target, engine.RolePrefix); ok {
		view.Target.Role = role
	}
	return view
}

func policiesView(p access.Policies) map[string]bool {
	shown := map[string]bool{}
	for name, granted := range map[string]bool{
		"read": p.Read, "write": p.Write, "update": p.Update, "create": p.Create, "manage_permissions": p.ManagePermissions,
	} {
		if granted {
			shown[name] = true
		}
	}
	return shown
}

// PermissionList is with whom something is shared.
type PermissionList struct {
	Result []SharedPermissions `json:"result" nullable:"false" doc:"With whom it is shared."`
}

type permissionsOutput struct{ Body PermissionList }

type shareInput struct {
	InWorkspace

	Body SharePermissions
}

type sharedOutput struct{ Body SharedPermissions }

type unshareInput struct {
	InWorkspace

	Target string `path:"target" maxLength:"200" doc:"A user id, * for everyone, or role:{name}."`
}

// RegisterPermissions adds the operations on sharing.
func RegisterPermissions(api *restapi.API, e *engine.Engine) {
	const path = "/v2/workspaces/{workspaceId}/permissions"
	denied := []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound}
	restapi.Register(api, restapi.Operation{
		ID: "listPermissions", Method: http.MethodGet, Path: path, Tag: "Sharing", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List permissions", Description: "With whom a workspace is shared, and what they may do.", Errors: denied,
	}, func(ctx context.Context, in *InWorkspace) (*permissionsOutput, error) {
		shared, err := e.Permissions(ctx, in.WorkspaceID)
		out := &permissionsOutput{Body: PermissionList{Result: make([]SharedPermissions, 0, len(shared))}}
		for _, s := range shared {
			out.Body.Result = append(out.Body.Result, sharedView(s))
		}
		return out, err
	})
	restapi.Register(api, restapi.Operation{
		ID: "sharePermissions", Method: http.MethodPost, Path: path, Tag: "Sharing", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Share a workspace", Description: "Gives a user, the holders of a role, or everyone permissions on a workspace. Nobody can give more than they have.",
		Errors: append(denied, errs.Conflict),
	}, func(ctx context.Context, in *shareInput) (*sharedOutput, error) { return share(ctx, e, in) })
	restapi.Register(api, restapi.Operation{
		ID: "deletePermissions", Method: http.MethodDelete, Path: path + "/{target}", Tag: "Sharing", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Summary: "Stop sharing", Description: "Takes the permissions of a target away. The last owner stays.", Errors: append(denied, errs.Conflict),
	}, func(ctx context.Context, in *unshareInput) (*deletedOutput, error) {
		out := &deletedOutput{}
		out.Body.ID = in.Target
		return out, e.Unshare(ctx, in.WorkspaceID, in.Target)
	})
}

func share(ctx context.Context, e *engine.Engine, in *shareInput) (*sharedOutput, error) {
	target, err := in.Body.Target.grantTarget()
	if err != nil {
		return nil, err
	}
	policies, err := in.Body.Permissions.policies()
	if err != nil {
		return nil, err
	}
	shared, err := e.Share(ctx, in.WorkspaceID, access.ObjectGrant{
		Target: target, Role: access.Role(in.Body.Permissions.Role), Policies: policies,
	})
	if err != nil {
		return nil, err
	}
	return &sharedOutput{Body: sharedView(shared)}, nil
}
