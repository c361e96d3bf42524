package rest

import (
	"context"
	"net/http"

	"atelier/internal/access"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/vault"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
)

// RepositoryDefinition is what callers may set of a repository.
type RepositoryDefinition struct {
	Name   string            `json:"name" minLength:"1" maxLength:"100" doc:"The name people see."`
	Type   string            `json:"type,omitempty" enum:"git,archive" default:"git" doc:"git, or archive: what imports of archives leave alone."`
	Mode   string            `json:"mode,omitempty" enum:"read-write,read-only,write-only" default:"read-write" doc:"What it may be used for: push and pull, pull alone, or push alone."`
	Config *RepositoryConfig `json:"config,omitempty" doc:"Where it is. A git repository needs it."`
	Pull   *RepositoryPull   `json:"pull,omitempty" doc:"What a pull leaves alone."`
}

// RepositoryConfig says where a git repository is, and what opens it.
type RepositoryConfig struct {
	URL     string          `json:"url" example:"https://git.example.com/team/orders.git" doc:"https://host/path, or git@host:path."`
	Branch  string          `json:"branch" example:"main" doc:"The branch that is pushed to and pulled from."`
	Dirpath string          `json:"dirpath,omitempty" example:"workspaces/orders" doc:"The folder of the workspace; the root when absent."`
	HostKey string          `json:"hostKey,omitempty" doc:"For git@: the keys of the server, as lines of a known_hosts file, with or without the host; those of the first contact count when absent."`
	Auth    *RepositoryAuth `json:"auth,omitempty" doc:"What opens it."`
}

// RepositoryAuth opens a repository.
type RepositoryAuth struct {
	User     string       `json:"user,omitempty" doc:"The user, for https."`
	Password vault.Secret `json:"password,omitempty" doc:"The password or token, for https: {{secret.name}}. A value itself is kept as a secret of the workspace, and named here from then on."`
	SSHKey   vault.Secret `json:"sshkey,omitempty" doc:"The private key, for git@: {{secret.name}}. A value itself is kept as a secret of the workspace, and named here from then on."`
}

// RepositoryPull says what a pull leaves alone.
type RepositoryPull struct {
	Exclude []ExcludedDocument `json:"exclude,omitempty" maxItems:"1000" doc:"Documents that are neither overwritten nor deleted."`
}

// ExcludedDocument is a document that a pull leaves alone.
type ExcludedDocument struct {
	Path string `json:"path" example:"automations/hello" doc:"index, security, or a folder and a slug."`
}

// PlatformRepository is a repository that the operator has configured for all workspaces.
type PlatformRepository struct {
	Name   string        `json:"name" doc:"The name people see."`
	Type   string        `json:"type" enum:"git,filesystem" doc:"What it is."`
	Mode   string        `json:"mode" enum:"read-write,read-only,write-only" doc:"What it may be used for."`
	Groups []string      `json:"groups,omitempty" doc:"The groups of workspaces that can be pushed and imported together; in the workspace platform only."`
	Config PlatformPlace `json:"config" doc:"Where it is."`
}

// PlatformPlace is where a platform repository is.
type PlatformPlace struct {
	URL     string `json:"url,omitempty" doc:"The address of a git repository."`
	Branch  string `json:"branch,omitempty" doc:"Its branch."`
	Dirpath string `json:"dirpath,omitempty" doc:"The folder of all workspaces in it, each in one named after its slug."`
}

// platformRepositories shows those that the operator has configured; where the machine keeps a directory is not for clients.
func platformRepositories(p repositories.Platform, w workspaces.Workspace) map[string]PlatformRepository {
	shown := make(map[string]PlatformRepository, len(p.Repositories))
	for _, r := range p.Repositories {
		one := PlatformRepository{Name: r.Name, Type: string(r.Kind), Mode: string(r.Mode), Groups: groupsFor(r, w)}
		if r.Kind == repositories.Git {
			one.Config = PlatformPlace{URL: r.Address(), Branch: r.Branch, Dirpath: r.Folder}
		}
		shown[r.ID] = one
	}
	return shown
}

func groupsFor(r repositories.Repository, w workspaces.Workspace) []string {
	if w.ID != access.PlatformWorkspace {
		return nil
	}
	return r.Groups
}

// Repository is what a workspace can be pushed to and pulled from.
type Repository struct {
	ID             string   `json:"id" doc:"Its id, by which versions name it."`
	Name           string   `json:"name" doc:"The name people see."`
	Type           string   `json:"type" enum:"git,archive,filesystem" doc:"What it is."`
	Mode           string   `json:"mode" enum:"read-write,read-only,write-only" doc:"What it may be used for."`
	Platform       bool     `json:"platform" doc:"Whether the operator has configured it, for all workspaces."`
	URL            string   `json:"url,omitempty" doc:"The address of a git repository."`
	Branch         string   `json:"branch,omitempty" doc:"Its branch."`
	Dirpath        string   `json:"dirpath,omitempty" doc:"The folder of the workspace in it; the root when absent."`
	Authentication string   `json:"authentication" enum:"password,sshkey,none" doc:"What opens it."`
	Groups         []string `json:"groups,omitempty" doc:"The groups of workspaces that can be pushed and imported together; in the workspace platform only."`
}

func repositoryView(r repositories.Repository, w workspaces.Workspace) Repository {
	shown := Repository{
		ID: r.ID, Name: r.Name, Type: string(r.Kind), Mode: string(r.Mode), Platform: r.Platform, URL: r.Address(), Branch: r.Branch,
		Authentication: r.Authentication(), Groups: groupsFor(r, w),
	}
	if r.Kind != repositories.Filesystem {
		shown.Dirpath = r.Folder
	}
	return shown
}

type repositoriesOutput struct{ Body []Repository }

// RegisterRepositories adds the operations on repositories.
func RegisterRepositories(api *restapi.API, d *definitions.Definitions) {
	restapi.Register(api, restapi.Operation{
		ID: "listRepositories", Method: http.MethodGet, Path: "/v2/workspaces/{workspaceId}/repositories", Tag: "Versions", Policy: access.Callers, Scope: access.WorkspacesRead,
		Summary: "List repositories", Description: "What the workspace can be pushed to and pulled from: its own repositories, which are part of its definition, and those of the platform. What opens them is not shown.",
		Errors: []errs.Code{errs.WorkspaceAccessDenied, errs.NotFound},
	}, func(ctx context.Context, in *InWorkspace) (*repositoriesOutput, error) {
		w, all, err := d.Repositories(ctx, in.WorkspaceID)
		if err != nil {
			return nil, err
		}
		out := &repositoriesOutput{Body: make([]Repository, 0, len(all))}
		for _, r := range all {
			out.Body = append(out.Body, repositoryView(r, w))
		}
		return out, nil
	})
}
