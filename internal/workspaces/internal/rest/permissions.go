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

type sharedOutput struct{ Body SharedPermissions }

// InPage names the page of an operation by its id; inputs embed it.
type InPage struct {
	PageID string `path:"pageId" maxLength:"80" doc:"The page's id."`
}

// ToTarget names with whom something is shared; inputs embed it.
type ToTarget struct {
	Target string `path:"target" maxLength:"200" doc:"A user id, * for everyone, or role:{name}."`
}

type shareInput struct {
	InWorkspace

	Body SharePermissions
}

type sharePageInput struct {
	InPage

	Body SharePermissions
}

type unshareInput struct {
	InWorkspace
	ToTarget
}

type unsharePageInput struct {
	InPage
	ToTarget
}

func (in InWorkspace) shareable() engine.Shareable {
	return engine.Shareable{Type: access.SubjectWorkspaces, Ref: in.WorkspaceID}
}

func (in InPage) shareable() engine.Shareable {
	return engine.Shareable{Type: access.SubjectPages, Ref: in.PageID}
}

// RegisterPermissions adds the operations on sharing.
func RegisterPermissions(api *restapi.API, e *engine.Engine) {
	s := sharing{engine: e, path: "/v2/workspaces/{workspaceId}/permissions", name: "workspace"}
	restapi.Register(api, s.list("listPermissions"), func(ctx context.Context, in *InWorkspace) (*permissionsOutput, error) {
		return s.permissions(ctx, in.shareable())
	})
	restapi.Register(api, s.share("sharePermissions"), func(ctx context.Context, in *shareInput) (*sharedOutput, error) {
		return s.give(ctx, in.shareable(), in.Body)
	})
	restapi.Register(api, s.unshare("deletePermissions", "The last owner stays."), func(ctx context.Context, in *unshareInput) (*deletedOutput, error) {
		return s.take(ctx, in.shareable(), in.Target)
	})
	p := sharing{engine: e, path: "/v2/pages/{pageId}/permissions", name: "page"}
	restapi.Register(api, p.list("listPagePermissions"), func(ctx context.Context, in *InPage) (*permissionsOutput, error) {
		return p.permissions(ctx, in.shareable())
	})
	restapi.Register(api, p.share("sharePagePermissions"), func(ctx context.Context, in *sharePageInput) (*sharedOutput, error) {
		return p.give(ctx, in.shareable(), in.Body)
	})
	restapi.Register(api, p.unshare("deletePagePermissions", "What it may do in the workspace stays."),
		func(ctx context.Context, in *unsharePageInput) (*deletedOutput, error) {
			return p.take(ctx, in.shareable(), in.Target)
		})
}

// sharing is the operations on with whom one kind of things is shared.
type sharing struct {
	engine *engine.Engine
	// path is that of the list, name what people call the thing.
	path, name string
}

func (s sharing) operation(id, method, path string) restapi.Operation {
	return restapi.Operation{
		ID: id, Method: method, Path: path, Tag: "Sharing", Policy: access.Callers, Scope: access.WorkspacesWrite,
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
	}
}

func (s sharing) list(id string) restapi.Operation {
	op := s.operation(id, http.MethodGet, s.path)
	op.Scope = access.WorkspacesRead
	op.Summary, op.Description = "List permissions of a "+s.name, "With whom a "+s.name+" is shared, and what they may do."
	return op
}

func (s sharing) share(id string) restapi.Operation {
	op := s.operation(id, http.MethodPost, s.path)
	op.Summary = "Share a " + s.name
	op.Description = "Gives a user, the holders of a role, or everyone permissions on a " + s.name + ". Nobody can give more than they have."
	op.Errors = append(op.Errors, errs.Conflict)
	return op
}

func (s sharing) unshare(id, and string) restapi.Operation {
	op := s.operation(id, http.MethodDelete, s.path+"/{target}")
	op.Summary, op.Description = "Stop sharing a "+s.name, "Takes the permissions of a target away. "+and
	op.Errors = append(op.Errors, errs.Conflict)
	return op
}

func (s sharing) permissions(ctx context.Context, of engine.Shareable) (*permissionsOutput, error) {
	shared, err := s.engine.Permissions(ctx, of)
	out := &permissionsOutput{Body: PermissionList{Result: make([]SharedPermissions, 0, len(shared))}}
	for _, one := range shared {
		out.Body.Result = append(out.Body.Result, sharedView(one))
	}
	return out, err
}

func (s sharing) give(ctx context.Context, of engine.Shareable, given SharePermissions) (*sharedOutput, error) {
	target, err := given.Target.grantTarget()
	if err != nil {
		return nil, err
	}
	policies, err := given.Permissions.policies()
	if err != nil {
		return nil, err
	}
	shared, err := s.engine.Share(ctx, of, access.ObjectGrant{Target: target, Role: access.Role(given.Permissions.Role), Policies: policies})
	if err != nil {
		return nil, err
	}
	return &sharedOutput{Body: sharedView(shared)}, nil
}

func (s sharing) take(ctx context.Context, of engine.Shareable, target string) (*deletedOutput, error) {
	out := &deletedOutput{}
	out.Body.ID = target
	return out, s.engine.Unshare(ctx, of, target)
}
