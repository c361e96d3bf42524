package access

// DefaultSecurity is the security.yml of a new workspace. Whoever is not in the workspace can do nothing; the rules that
// open it are there as comments.
func DefaultSecurity() []byte {
	return []byte(`# Who may do what in this workspace.
#
# Owners may do everything and super admins too; rules cannot say anything about them by name.
# The last rule that matches decides, so write exceptions below what they are exceptions from.
# A rule without a role is for everyone, also for people who are not signed in.
authorizations:
  roles:
    editor: {}
    # A role for everybody who has an account here:
    # user:
    #   auth:
    #     svc: {}
  rules:
    - role: editor
      action: [read, get_usage, aggregate_search, update]
      subject: workspaces
    - role: editor
      action: manage
      subject: files
    - role: editor
      action: [read, update]
      subject: pages
    - role: editor
      action: [read, update]
      subject: apps
    - role: editor
      action: [read, create]
      subject: events
    - role: editor
      action: read
      subject: events
      inverted: true
      conditions:
        type:
          $regex: ^apikeys\.
    - role: editor
      action: [execute, test]
      subject: automations

    # Let everyone emit events, for instance from a public page:
    # - action: create
    #   subject: events
    #   conditions:
    #     source.serviceTopic: topic:runtime:emit

    # Let everyone read the events of their own session:
    # - action: read
    #   subject: events
    #   conditions:
    #     source.serviceTopic: topic:runtime:emit
    #     source.sessionId: "{{session.id}}"

    # Let everyone upload files:
    # - action: create
    #   subject: files
    #   conditions:
    #     mimetype:
    #       $regex: ^(.*)$
`)
}
