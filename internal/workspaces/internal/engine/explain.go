package engine

import (
	"context"
	"maps"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
)

// Question asks what a caller may do in a workspace, and why.
type Question struct {
	Action, Subject string
	// Object is what is known of the thing it is about.
	Object map[string]any
	// Of is whom it is about; the zero value is the caller itself.
	Of Subject
}

// Subject is whom a question is about: exactly one is set.
type Subject struct {
	UserID, Role, APIKeyID string
	Public                 bool
}

// Explain tells which rule decides, and why. Callers may ask about themselves when they may read the workspace, and about
// others, with whom it is shared, when they may manage its permissions.
func (e *Engine) Explain(ctx context.Context, ref string, question Question) (access.Explanation, error) {
	if id := access.From(ctx).UserID; id != "" && question.Of == (Subject{UserID: id}) {
		question.Of = Subject{}
	}
	needed := access.ActionRead
	if question.Of != (Subject{}) {
		needed = access.ActionManagePermissions
	}
	v, err := e.may(ctx, e.DB, ref, needed)
	if err != nil {
		return access.Explanation{}, err
	}
	ability, err := e.abilityOf(ctx, e.DB, v, question.Of)
	if err != nil {
		return access.Explanation{}, err
	}
	return ability.Explain(question.Action, question.Subject, objectOf(v, question, ability.Principal())), nil
}

// abilityOf loads what somebody may do in the workspace.
func (e *Engine) abilityOf(ctx context.Context, r sqldb.Reader, v *door.Visit, of Subject) (*access.Ability, error) {
	id := v.Workspace.ID
	switch {
	case of.UserID != "":
		p, err := e.member(ctx, r, v, of.UserID)
		if err != nil {
			return nil, err
		}
		return e.Access.Load(access.With(ctx, p), r, id)
	case of.Role != "":
		return e.Access.LoadRole(ctx, r, id, of.Role)
	case of.APIKeyID != "":
		key, err := e.Keys.Get(ctx, r, id, of.APIKeyID)
		if err != nil {
			return nil, err
		}
		return e.Access.Load(access.With(ctx, access.Principal{
			Kind: access.Key, Credential: access.ByAPIKey, KeyID: key.ID, KeyWorkspace: id,
		}), r, id)
	case of.Public:
		return e.Access.Load(access.With(ctx, access.Principal{}), r, id)
	default:
		return v.Ability, nil
	}
}

// member gives a user with whom the workspace is shared. Of anybody else, who they are and what their sign-in says of them is
// no business of the workspace's, and whether somebody is a super admin never is; super admins may ask about everyone.
func (e *Engine) member(ctx context.Context, r sqldb.Reader, v *door.Visit, userID string) (access.Principal, error) {
	if v.Ability.Principal().SuperAdmin {
		return e.People.Principal(ctx, r, userID)
	}
	grant, err := e.granted(ctx, r, access.ObjectGrant{SubjectType: access.SubjectWorkspaces, SubjectID: v.Workspace.ID, Target: userID})
	if err != nil {
		return access.Principal{}, err
	}
	if grant == nil {
		return access.Principal{}, errs.Missing("users", userID)
	}
	p, err := e.People.Principal(ctx, r, userID)
	p.SuperAdmin = false
	return p, err
}

// objectOf is what the question is about: what is given of it, on top of what is known. It is always of this workspace.
func objectOf(v *door.Visit, question Question, asked access.Principal) access.Fields {
	id := v.Workspace.ID
	object := access.Fields{}
	if question.Subject == access.SubjectWorkspaces {
		object = door.FieldsOf(v.Workspace)
	}
	maps.Copy(object, question.Object)
	switch question.Subject {
	case access.SubjectWorkspaces:
		object["id"] = id
	case access.SubjectEvents:
		object["source"] = sourceOf(question, asked, id)
	case access.SubjectSecrets, access.SubjectSecureSecrets:
		object["workspaceId"], object["scope"] = id, "workspace"
		if _, named := object["name"]; !named { // one of the workspace's own, none of the platform's
			object["name"] = ""
		}
	default:
		object["workspaceId"], object["runningWorkspaceId"] = id, id
	}
	return object
}

// sourceOf is the source of an event that the question is about. Of one that is to be created the service fills it in.
func sourceOf(question Question, asked access.Principal, workspaceID string) map[string]any {
	source := map[string]any{}
	if given, ok := question.Object["source"].(map[string]any); ok {
		maps.Copy(source, given)
	}
	source["workspaceId"] = workspaceID
	if question.Action == access.ActionCreate {
		source["serviceTopic"], source["userId"], source["sessionId"] = access.TopicEmit, asked.UserID, asked.SessionID
	}
	return source
}
