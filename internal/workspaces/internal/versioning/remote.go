package versioning

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/gitcmd"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/repositories"
	"atelier/internal/workspaces/internal/store"
)

// openGit gives a branch of a git repository: its address is checked, its credentials are filled in, its host is known.
func (v *Versioning) openGit(ctx context.Context, w workspaces.Workspace, r repositories.Repository) (*branch, error) {
	if v.Git == nil {
		return nil, errs.New(errs.Unavailable, "This installation has no git; ask the operator to install it.")
	}
	if !r.Platform {
		values, err := v.Secrets.Values(ctx, v.DB, w)
		if err != nil {
			return nil, err
		}
		if r, err = repositories.Fill(r, values); err != nil {
			return nil, err
		}
	}
	address, err := gitcmd.ParseAddress(r.URL)
	if err != nil {
		return nil, errs.Invalid(errs.Field{Field: "repositories." + r.ID + ".config.url", Message: err.Error()})
	}
	if err := gitcmd.CheckBranch(r.Branch); err != nil { // a text that was imported may say anything
		return nil, errs.Invalid(errs.Field{Field: "repositories." + r.ID + ".config.branch", Message: err.Error()})
	}
	if err := gitcmd.CheckFolder(r.Folder); r.Folder != "" && err != nil {
		return nil, errs.Invalid(errs.Field{Field: "repositories." + r.ID + ".config.dirpath", Message: err.Error()})
	}
	ip, err := v.Network.Lookup(ctx, address.Host, address.PortOrDefault())
	if err != nil {
		return nil, unreachable(err, r)
	}
	remote := gitcmd.Remote{URL: address.String(), User: r.User, Password: r.Password, SSHKey: r.SSHKey, IP: ip}
	if address.Scheme == "ssh" {
		if remote.KnownHosts, err = v.knownHosts(ctx, w, r, address); err != nil {
			return nil, failed(err, r)
		}
	}
	clone, err := v.clone(ctx, remote.URL)
	if err != nil {
		return nil, err
	}
	names := branchesOf(w, r)
	b := &branch{
		clone: clone, remote: remote, repository: r, folder: r.Folder, limits: v.limits(), signer: v.Signer, slot: v.slot(remote.URL),
		target: "refs/heads/" + names.Target, intermediate: "refs/heads/" + names.Intermediate,
	}
	if r.Platform {
		b.tags = w.Slug + "/" // one repository for many workspaces
	}
	return b, nil
}

// unreachable says why the address of a repository cannot be connected to.
func unreachable(err error, r repositories.Repository) error {
	problem := errs.From(err)
	if problem.Code == errs.ValidationFailed && len(problem.Fields) > 0 {
		return errs.Invalid(errs.Field{Field: "repositories." + r.ID + ".config.url", Message: problem.Fields[0].Message}).With("repositoryId", r.ID)
	}
	return errs.New(errs.NotFound, "The server of the repository cannot be reached; check its address.").
		With("subjectType", "repositories").With("repositoryId", r.ID).Because(err)
}

// knownHosts are the keys of an SSH server: those that the configuration names, or those that were pinned at first contact.
func (v *Versioning) knownHosts(ctx context.Context, w workspaces.Workspace, r repositories.Repository, a gitcmd.Address) (string, error) {
	if r.HostKey != "" {
		return r.HostKey, nil
	}
	owner := w.ID
	if r.Platform {
		owner = platformKeys
	}
	host := fmt.Sprintf("%s:%d", a.Host, a.PortOrDefault())
	pinned, err := store.HostKeys(ctx, v.DB, owner, host)
	if err != nil || pinned != "" {
		return pinned, err
	}
	keys, _, err := v.Git.HostKeys(ctx, a, v.Network.DialContext)
	if err != nil {
		return "", err
	}
	err = v.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		pinned, err = store.PinHostKeys(ctx, tx, store.Pin{WorkspaceID: owner, Host: host, KnownHosts: keys, At: v.Definitions.Now(), By: definitions.Author(ctx)})
		return err
	})
	return pinned, err
}

// platformKeys owns the host keys of platform repositories; no workspace has that id.
const platformKeys = "platform:repositories"

// clone gives the local clone of a repository. One that cannot be used any more is made anew: nothing is only there.
func (v *Versioning) clone(ctx context.Context, url string) (*gitcmd.Repository, error) {
	folder := v.cloneFolder(url)
	if err := os.MkdirAll(filepath.Dir(folder), 0o700); err != nil {
		return nil, errs.Wrap(err, "make the folder of clones")
	}
	clone, err := v.Git.Repository(ctx, folder)
	if !errors.Is(err, gitcmd.ErrBroken) {
		return clone, err
	}
	if err := os.RemoveAll(folder); err != nil {
		return nil, errs.Wrap(err, "remove a broken clone")
	}
	return v.Git.Repository(ctx, folder)
}

func (v *Versioning) cloneFolder(url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(v.Folder, "clones", hex.EncodeToString(sum[:16])+".git")
}

// slot is the semaphore of a clone: one fetch at a time, the others find what it has fetched.
func (v *Versioning) slot(url string) chan struct{} {
	made, _ := v.slots.LoadOrStore(v.cloneFolder(url), make(chan struct{}, 1))
	slot, _ := made.(chan struct{})
	return slot
}

// failed is the error that a client sees when a repository could not be used.
func failed(err error, r repositories.Repository) error {
	problem, ok := errors.AsType[*gitcmd.Problem](err)
	if !ok {
		return err
	}
	return shownProblem(problem).With("repositoryId", r.ID).With("repository", r.Name).Because(err)
}

func shownProblem(p *gitcmd.Problem) *errs.Error {
	switch p.Kind {
	case gitcmd.Denied:
		return errs.New(errs.PermissionDenied, p.Message)
	case gitcmd.Certificate, gitcmd.HostKey:
		return errs.New(errs.InvalidRequest, p.Message).With("reason", strings.ToLower(string(p.Kind)))
	case gitcmd.Moved:
		return errs.New(errs.Conflict, p.Message).WithStatus(http.StatusConflict)
	case gitcmd.Rejected:
		return errs.New(errs.PermissionDenied, p.Message)
	case gitcmd.TooLarge:
		return errs.New(errs.PayloadTooLarge, p.Message)
	case gitcmd.TimedOut:
		return errs.New(errs.GatewayTimeout, p.Message)
	case gitcmd.Damaged:
		return errs.New(errs.InvalidRequest, p.Message)
	case gitcmd.Failed:
		return errs.New(errs.Unavailable, p.Message)
	case gitcmd.Unreachable, gitcmd.Missing, gitcmd.NoRef:
	}
	return errs.New(errs.NotFound, p.Message).With("subjectType", "repositories")
}

// writable tells whether anything may be written to a repository: one that is only read keeps no intermediate branch.
func writable(r repositories.Repository) bool { return r.MayPush() == nil }
