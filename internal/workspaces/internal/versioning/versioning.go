// Package versioning keeps workspaces and repositories in step: it pushes, pulls, merges, and settles conflicts. A sync is a
// three-way merge of documents whose base the database keeps; a repository is only where the other side comes from and goes
// to, so that no cache, no forced push and no killed process can take anything away.
package versioning

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"

	"atelier/internal/access"
	"atelier/internal/clock"
	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/archive"
	"atelier/internal/workspaces/internal/archives"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/repositories"
)

// Versioning is the use cases of repositories.
type Versioning struct {
	DB          *sqldb.DB
	Log         *slog.Logger
	Clock       clock.Clock
	Door        *door.Door
	Definitions *definitions.Definitions
	Archives    *archives.Archives
	Secrets     Secrets
	People      People
	Git         *gitcmd.Git
	Network     Network
	Platform    repositories.Platform
	// Folder is where clones are kept. They can be removed at any time.
	Folder string
	// Signer signs commits; nil when they are not signed.
	Signer *gitcmd.Signer
	// WatchEvery is how often each sync is looked at for drift; zero for never.
	WatchEvery time.Duration

	jobs  jobs
	slots sync.Map // by folder of a clone, a semaphore of one
}

// Secrets gives what {{secret.name}} stands for in a workspace.
type Secrets interface {
	Values(ctx context.Context, r sqldb.Reader, w workspaces.Workspace) (map[string]vault.Secret, error)
}

// People knows who somebody is.
type People interface {
	Names(ctx context.Context, r sqldb.Reader, ids []string) (map[string]string, error)
	Principal(ctx context.Context, r sqldb.Reader, userID string) (access.Principal, error)
}

// Network gives addresses that may be connected to.
type Network interface {
	Lookup(ctx context.Context, host string, port uint16) (netip.Addr, error)
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// limits bound what is read from a repository.
func (v *Versioning) limits() archive.Limits {
	limits := v.Archives.Limits
	limits.Clock = v.Clock
	return limits
}

// repository finds a repository of a workspace, or of the platform.
func (v *Versioning) repository(ctx context.Context, r sqldb.Reader, w workspaces.Workspace, id string) (repositories.Repository, error) {
	index, err := v.Definitions.Index(ctx, r, w)
	if err != nil {
		return repositories.Repository{}, err
	}
	all, err := v.Platform.Available(index, w.Slug)
	if err != nil {
		return repositories.Repository{}, err
	}
	found, err := repositories.Find(all, id)
	if err != nil {
		return found, err
	}
	if found.Kind == repositories.Filesystem && !found.Platform { // an index that was imported may say anything
		return found, errs.Invalid(errs.Field{Field: "repositories." + id + ".type", Message: "only the operator of the installation can configure a directory; use git"})
	}
	if found.Kind == repositories.Archive {
		return found, errs.Newf(errs.InvalidRequest, "%s only says what archives leave alone; it cannot be pushed to or pulled from.", id).With("repositoryId", id)
	}
	return found, nil
}

// Person is how commits name somebody.
func (v *Versioning) Person(ctx context.Context, userID string) gitcmd.Person {
	unknown := gitcmd.Person{Name: userID, Email: userID + "@atelier.invalid"}
	if userID == "" {
		return gitcmd.Person{Name: "Atelier", Email: "atelier@atelier.invalid"}
	}
	names, err := v.People.Names(ctx, v.DB, []string{userID})
	if err != nil || names[userID] == "" {
		return unknown
	}
	known := gitcmd.Person{Name: names[userID], Email: unknown.Email}
	if p, err := v.People.Principal(ctx, v.DB, userID); err == nil {
		if email, _ := p.AuthData["svc"]["email"].(string); email != "" {
			known.Email = email
		}
	}
	return known
}

// committer is who writes the commits, on behalf of their authors.
func committer() gitcmd.Person {
	return gitcmd.Person{Name: "Atelier", Email: "atelier@atelier.invalid"}
}
