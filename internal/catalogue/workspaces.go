package catalogue

import "time"

// WorkspaceRef names a workspace.
type WorkspaceRef struct {
	ID   string `json:"id" doc:"Its id."`
	Slug string `json:"slug" doc:"Its slug."`
	Name string `json:"name" doc:"Its name."`
}

// Workspace is what events say of a workspace.
type Workspace struct {
	ID          string   `json:"id" doc:"Its id."`
	Slug        string   `json:"slug" doc:"Its slug."`
	Name        string   `json:"name" doc:"Its name."`
	Description any      `json:"description,omitempty" doc:"What it is for: a text, or texts by language."`
	Labels      []string `json:"labels,omitzero" doc:"Its labels."`
	Photo       string   `json:"photo,omitempty" doc:"Its picture."`
}

// WorkspaceCreated is the payload of workspaces.created.
type WorkspaceCreated struct {
	Workspace Workspace `json:"workspace" doc:"The workspace."`
	Stripped
}

// EventType names the event.
func (*WorkspaceCreated) EventType() string { return "workspaces.created" }

// WorkspaceUpdated is the payload of workspaces.updated.
type WorkspaceUpdated struct {
	Workspace Workspace `json:"workspace,omitzero" doc:"The workspace as it is now."`
	OldSlug   string    `json:"oldSlug,omitempty" doc:"Its former slug, when that changed."`
	Stripped
}

// EventType names the event.
func (*WorkspaceUpdated) EventType() string { return "workspaces.updated" }

// WorkspaceDeleted is the payload of workspaces.deleted.
type WorkspaceDeleted struct {
	WorkspaceID   string `json:"workspaceId" doc:"Its id."`
	WorkspaceSlug string `json:"workspaceSlug" doc:"Its slug."`
	Name          string `json:"name" doc:"Its name."`
	Stripped
}

// EventType names the event.
func (*WorkspaceDeleted) EventType() string { return "workspaces.deleted" }

// WorkspaceRestored is the payload of workspaces.restored.
type WorkspaceRestored struct {
	Audited
	Workspace Workspace `json:"workspace,omitzero" doc:"The workspace."`
}

// EventType names the event.
func (*WorkspaceRestored) EventType() string { return "workspaces.restored" }

// WorkspaceSuspended is the payload of workspaces.suspended.
type WorkspaceSuspended struct {
	Audited
	WorkspaceID string `json:"workspaceId" doc:"Its id."`
	Suspended   bool   `json:"suspended" doc:"Whether it is suspended now."`
	Reason      string `json:"reason" doc:"Why."`
}

// EventType names the event.
func (*WorkspaceSuspended) EventType() string { return "workspaces.suspended" }

// WorkspaceConfigured is the payload of workspaces.configured. Values that the schema calls secret have no place in it.
type WorkspaceConfigured struct {
	Config    any `json:"config" doc:"The configuration as it is now; null when there is none."`
	OldConfig any `json:"oldConfig" doc:"The configuration as it was; null when there was none."`
	Stripped
}

// EventType names the event.
func (*WorkspaceConfigured) EventType() string { return "workspaces.configured" }

// WorkspaceDuplicated is the payload of workspaces.duplicated.
type WorkspaceDuplicated struct {
	Workspace     Workspace    `json:"workspace,omitzero" doc:"The duplicate."`
	FromWorkspace WorkspaceRef `json:"fromWorkspace" doc:"What it is a duplicate of."`
	Stripped
}

// EventType names the event.
func (*WorkspaceDuplicated) EventType() string { return "workspaces.duplicated" }

// WorkspaceImported is the payload of workspaces.imported. Lists are cut: the counts tell how long they were.
type WorkspaceImported struct {
	Workspace          Workspace `json:"workspace,omitzero" doc:"The workspace."`
	Files              []string  `json:"files,omitzero" doc:"The documents that were written."`
	ImportedFilesCount int       `json:"importedFilesCount" doc:"How many were written."`
	Deleted            []string  `json:"deleted,omitzero" doc:"The documents that were removed."`
	DeletedFilesCount  int       `json:"deletedFilesCount" doc:"How many were removed."`
	Errors             []Finding `json:"errors,omitzero" doc:"What was left out, and what is worth a look."`
	Version            *Version  `json:"version,omitempty" doc:"The version that it is."`
	PublishedAppSlug   string    `json:"publishedAppSlug,omitempty" doc:"The app that the workspace publishes."`
	Stripped
}

// EventType names the event.
func (*WorkspaceImported) EventType() string { return "workspaces.imported" }

// Finding is something that an import found.
type Finding struct {
	Msg                    string `json:"msg" doc:"What it is, in words."`
	Err                    string `json:"err" doc:"A short stable name of it."`
	Path                   string `json:"path,omitempty" doc:"The document that it is about."`
	Line                   int    `json:"line,omitempty" doc:"The line in the text."`
	Slug                   string `json:"slug,omitempty" doc:"The slug that is taken."`
	ConflictingWorkspaceID string `json:"conflictingWorkspaceId,omitempty" doc:"The workspace that has it."`
}

// WorkspaceExported is the payload of workspaces.exported.
type WorkspaceExported struct {
	Audited
	Workspace WorkspaceRef `json:"workspace" doc:"The workspace."`
	Version   Version      `json:"version" doc:"What was handed out."`
}

// EventType names the event.
func (*WorkspaceExported) EventType() string { return "workspaces.exported" }

// SecurityUpdated is the payload of workspaces.security.updated.
type SecurityUpdated struct {
	Audited
	Security any `json:"security,omitempty" doc:"The security document, or the part of it that changed."`
}

// EventType names the event.
func (*SecurityUpdated) EventType() string { return "workspaces.security.updated" }

// SecretsUpdated is the payload of workspaces.secrets.updated. Values have no place in it.
type SecretsUpdated struct {
	Audited
	Created []string `json:"created,omitempty" doc:"The names of secrets that were made."`
	Updated []string `json:"updated,omitempty" doc:"The names of secrets that have another value."`
	Deleted []string `json:"deleted,omitempty" doc:"The names of secrets that were removed."`
}

// EventType names the event.
func (*SecretsUpdated) EventType() string { return "workspaces.secrets.updated" }

// Permission is the payload of workspaces.permissions.* and workspaces.pages.permissions.*.
type Permission struct {
	Verb Verb `json:"-"`
	// OfPage tells that it is about a page.
	OfPage bool `json:"-"`
	Audited
	SubjectID   string       `json:"subjectId" doc:"The workspace, or the page."`
	Permissions *Permissions `json:"permissions,omitempty" doc:"What the target may do now."`
}

// Permissions are what somebody may do with what was shared.
type Permissions struct {
	Role     string `json:"role,omitempty" doc:"The role."`
	Policies any    `json:"policies,omitempty" doc:"What is allowed besides, by name."`
}

// EventType names the event.
func (e *Permission) EventType() string {
	if e.OfPage {
		return "workspaces.pages.permissions." + string(e.Verb)
	}
	return "workspaces.permissions." + string(e.Verb)
}

// WriteLock is the payload of workspaces.writeLock.*.
type WriteLock struct {
	Verb Verb `json:"-"`
	Audited
	WriteLock Lock `json:"writeLock,omitzero" doc:"The lock."`
}

// Lock is a lock on a workspace.
type Lock struct {
	Reason   string    `json:"reason" doc:"Why it is there."`
	LockedBy string    `json:"lockedBy" doc:"Who took it."`
	LockedAt time.Time `json:"lockedAt" doc:"When it was taken."`
}

// EventType names the event.
func (e *WriteLock) EventType() string { return "workspaces.writeLock." + string(e.Verb) }

// APIKey is the payload of apikeys.*. The secret has no place in it.
type APIKey struct {
	Verb Verb `json:"-"`
	Audited
	ID          string `json:"id" doc:"The id of the key."`
	APIKey      string `json:"apiKey" doc:"The beginning and the end of the key, by which its owner recognises it."` //nolint:gosec // not the key
	Name        string `json:"name" doc:"Its name."`
	SubjectType string `json:"subjectType" doc:"What it is a key of."`
	SubjectID   string `json:"subjectId" doc:"Which one."`
	Rules       any    `json:"rules,omitempty" doc:"What it may do."`
}

// EventType names the event.
func (e *APIKey) EventType() string { return "apikeys." + string(e.Verb) }

// File is the payload of workspaces.files.*. The token that opens the file has no place in it.
type File struct {
	Verb         Verb       `json:"-"`
	ID           string     `json:"id" doc:"The file."`
	Name         string     `json:"name" doc:"Its name."`
	URL          string     `json:"url" doc:"Where it is downloaded."`
	Mimetype     string     `json:"mimetype" doc:"Its media type."`
	Size         int64      `json:"size" doc:"Its size in bytes."`
	WorkspaceID  string     `json:"workspaceId" doc:"Its workspace."`
	Path         string     `json:"path" doc:"The end of its address."`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty" doc:"When it ends; never when absent."`
	ExpiresAfter int64      `json:"expiresAfter,omitempty" doc:"How many seconds it was given."`
	Metadata     any        `json:"metadata,omitempty" doc:"What its uploader says of it."`
	Public       bool       `json:"public" doc:"Whether everybody who knows its address may read it."`
	CreatedAt    time.Time  `json:"createdAt" doc:"When it was uploaded."`
	CreatedBy    string     `json:"createdBy" doc:"Who uploaded it."`
	UpdatedAt    time.Time  `json:"updatedAt" doc:"When it was last changed."`
	UpdatedBy    string     `json:"updatedBy" doc:"Who changed it last."`
}

// EventType names the event.
func (e *File) EventType() string { return "workspaces.files." + string(e.Verb) }
