package access

// notPlatformSecret matches the names that do not begin with svc_, which are the platform's own.
const notPlatformSecret = `^(?:$|[^s]|s(?:$|[^v]|v(?:$|[^c]|c(?:$|[^_]))))` //nolint:gosec // a pattern, not a credential

// forced are the conditions that the service adds to every rule of a workspace and of its keys, so that none reaches
// beyond the workspace. They are written the way the API shows them.
func forced(subject, workspaceID string, create bool) map[string]any {
	switch subject {
	case SubjectWorkspaces:
		return map[string]any{"id": workspaceID}
	case SubjectAutomations:
		return map[string]any{"runningWorkspaceId": workspaceID}
	case SubjectEvents:
		if create {
			return map[string]any{"source.workspaceId": workspaceID, "source.serviceTopic": TopicEmit}
		}
		return map[string]any{"source.workspaceId": workspaceID}
	case SubjectSecrets:
		return map[string]any{"workspaceId": workspaceID, "name": map[string]any{regexOperator: notPlatformSecret}}
	case SubjectSecureSecrets:
		return map[string]any{"workspaceId": workspaceID, "scope": "workspace"}
	default:
		return map[string]any{"workspaceId": workspaceID}
	}
}

// part is what one written rule says about one subject. Creating events is a part of its own, because other conditions
// are forced on it.
type part struct {
	actions []string
	subject string
	forced  map[string]any
	// notCreate takes create out of manage, where it is a part of its own.
	notCreate bool
}

// parts splits a rule by subject.
func parts(actions, subjects []string, workspaceID string) []part {
	var out []part
	for _, subject := range subjects {
		if subject != SubjectEvents {
			out = append(out, part{actions: actions, subject: subject, forced: forced(subject, workspaceID, false)})
			continue
		}
		var rest []string
		creates, manages := false, false
		for _, action := range actions {
			manages = manages || action == ActionManage
			creates = creates || action == ActionCreate || action == ActionManage
			if action != ActionCreate {
				rest = append(rest, action)
			}
		}
		if len(rest) > 0 {
			out = append(out, part{actions: rest, subject: subject, forced: forced(subject, workspaceID, false), notCreate: manages})
		}
		if creates {
			out = append(out, part{actions: []string{ActionCreate}, subject: subject, forced: forced(subject, workspaceID, true)})
		}
	}
	return out
}
