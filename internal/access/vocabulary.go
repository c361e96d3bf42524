package access

import (
	"slices"
	"strings"
)

// The subjects that rules are about.
const (
	SubjectWorkspaces    = "workspaces"
	SubjectApps          = "apps"
	SubjectPages         = "pages"
	SubjectFiles         = "files"
	SubjectEvents        = "events"
	SubjectAutomations   = "automations"
	SubjectSecrets       = "secrets"
	SubjectSecureSecrets = "secure_secrets"
)

// The actions that rules allow or deny. Manage stands for all of them. Automations have actions of their own besides.
const (
	ActionManage             = "manage"
	ActionCreate             = "create"
	ActionRead               = "read"
	ActionUpdate             = "update"
	ActionDelete             = "delete"
	ActionManagePermissions  = "manage_permissions"
	ActionManageSecurity     = "manage_security"
	ActionManageRepositories = "manage_repositories"
	ActionReadAppDSUL        = "read_app_dsul"
	ActionGetUsage           = "get_usage"
	ActionAggregateSearch    = "aggregate_search"
	ActionExecute            = "execute"
	ActionTest               = "test"
	// ActionWrite is what the policy of that name grants besides update.
	ActionWrite = "write"
)

// TopicEmit is the source.serviceTopic of events that people and automations emit, as opposed to those of the services.
const TopicEmit = "topic:runtime:emit"

// The roles that need no declaration. RoleSuperAdmin is never granted by a workspace.
const (
	RoleSuperAdmin = "superadmin"
	RoleEveryone   = "default"
)

// Subjects lists what rules of a workspace and of its keys may be about.
func Subjects() []string {
	return []string{
		SubjectWorkspaces, SubjectApps, SubjectPages, SubjectFiles, SubjectEvents, SubjectAutomations, SubjectSecrets, SubjectSecureSecrets,
	}
}

// Actions lists the actions that every subject knows.
func Actions() []string {
	return []string{
		ActionManage, ActionCreate, ActionRead, ActionUpdate, ActionDelete, ActionManagePermissions, ActionManageSecurity,
		ActionManageRepositories, ActionReadAppDSUL, ActionGetUsage, ActionAggregateSearch, ActionExecute, ActionTest, ActionWrite,
	}
}

// ConditionFields lists the fields of a subject that conditions may look at. A field may be a whole object: conditions go
// inside with a dotted path. Every list of the subject must map all of them to columns, so that what is listed is what
// may be read.
func ConditionFields(subject string) []string {
	switch subject {
	case SubjectWorkspaces:
		return []string{"id", "slug", "name", "labels", "createdBy"}
	case SubjectApps:
		return []string{"id", "workspaceId", "slug", "name", "labels", "createdBy"}
	case SubjectPages:
		return []string{"id", "workspaceId", "slug", "name", "labels", "public", "createdBy"}
	case SubjectFiles:
		return []string{"id", "workspaceId", "name", "mimetype", "size", "public", "createdBy", "metadata"}
	case SubjectEvents:
		return []string{"type", "source", "target", "payload"}
	case SubjectAutomations:
		return []string{"id", "workspaceId", "runningWorkspaceId", "slug", "name", "labels", "authorizations"}
	case SubjectSecrets, SubjectSecureSecrets:
		return []string{"workspaceId", "name", "scope"}
	default:
		return nil
	}
}

// knownField tells whether conditions on the subject may use the path.
func knownField(subject, path string) bool {
	root, _, _ := strings.Cut(path, ".")
	return slices.Contains(ConditionFields(subject), root)
}
