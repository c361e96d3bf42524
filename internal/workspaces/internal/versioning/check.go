package versioning

import (
	"context"
	"fmt"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// Checked is what a repository looks like from here.
type Checked struct {
	Branches

	RepositoryID string `json:"repositoryId" doc:"The repository."`
	BranchExists *bool  `json:"branchExists,omitempty" doc:"Whether the target branch is there; the first push makes it. Absent for a directory."`
	Commit       string `json:"commit,omitempty" doc:"The newest commit of the target branch; absent when there is none yet."`
	Documents    int    `json:"documents" doc:"How many documents of a workspace are in its folder."`
}

// Check tries to reach a repository with the credentials that are configured, for a caller that may update the workspace. With
// forget, the keys of its SSH server that were pinned at the first contact are forgotten first: those that it shows now are
// pinned instead. That is for who may manage the repositories.
func (v *Versioning) Check(ctx context.Context, ref, repositoryID string, forget bool) (Checked, error) {
	visit, err := v.Door.May(ctx, v.DB, ref, access.ActionUpdate)
	if err != nil {
		return Checked{}, err
	}
	w := visit.Workspace
	repository, err := v.repository(ctx, v.DB, w, repositoryID)
	if err != nil {
		return Checked{}, err
	}
	if forget {
		if err := visit.Check(access.ActionManageRepositories); err != nil {
			return Checked{}, err
		}
		if err := v.forgetHost(ctx, w, repository); err != nil {
			return Checked{}, err
		}
	}
	leave, err := v.Look()
	if err != nil {
		return Checked{}, err
	}
	defer leave()
	other, err := v.open(ctx, w, repository)
	if err != nil {
		return Checked{}, err
	}
	seen, err := other.look(ctx, latest, "")
	if err != nil {
		return Checked{}, err
	}
	found := Checked{Branches: branchesOf(w, repository), RepositoryID: repository.ID, Commit: seen.Commit}
	if _, is := other.(*branch); is {
		found.BranchExists = new(seen.Head != "")
	}
	for _, name := range seen.Names {
		if hasDocuments([]string{name}) {
			found.Documents++
		}
	}
	return found, nil
}

// forgetHost forgets the pinned keys of a repository's server.
func (v *Versioning) forgetHost(ctx context.Context, w workspaces.Workspace, r repositories.Repository) error {
	if r.Platform {
		return errs.New(errs.PermissionDenied, "The keys of platform repositories are the operator's: set HOSTKEY of the repository.")
	}
	address, err := gitcmd.ParseAddress(r.URL)
	if err != nil {
		return errs.Invalid(errs.Field{Field: "repositories." + r.ID + ".config.url", Message: err.Error()})
	}
	host := fmt.Sprintf("%s:%d", address.Host, address.PortOrDefault())
	return v.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		were, err := store.UnpinHostKeys(ctx, tx, w.ID, host)
		if err != nil || !were {
			return err
		}
		return v.Definitions.Audit(ctx, tx, w.ID, envelope.Act{
			TargetType: access.SubjectWorkspaces, TargetID: w.ID, Payload: &catalogue.HostKeysForgotten{RepositoryID: r.ID, Host: host},
		})
	})
}
