// Package repositories knows where workspaces are pushed to and pulled from: what the index of a workspace says of its
// repositories, and what the operator has configured for all workspaces. It does no I/O.
package repositories

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"atelier/internal/errs"
	"atelier/internal/gitcmd"
)

// Kind is what a repository is.
type Kind string

// The kinds of repositories. An archive is no place: it says what imports of archives leave alone.
const (
	Git        Kind = "git"
	Archive    Kind = "archive"
	Filesystem Kind = "filesystem"
)

// Mode is what a repository may be used for.
type Mode string

// The modes of repositories.
const (
	ReadWrite Mode = "read-write"
	ReadOnly  Mode = "read-only"
	WriteOnly Mode = "write-only"
)

// Repository is a place that a workspace is pushed to and pulled from.
type Repository struct {
	ID, Name string
	Kind     Kind
	Mode     Mode
	// Platform tells that the operator configured it, for all workspaces.
	Platform bool
	// URL and Branch are those of a git repository, Folder is where the workspace is in it; the root when empty. Of a
	// filesystem repository Folder is a directory of the machine.
	URL, Branch, Folder string
	// User, Password and SSHKey may be {{secret.name}} until Fill has replaced that.
	User     string
	Password string `json:"-"`
	SSHKey   string `json:"-"`
	// HostKey is how the SSH server proves itself: lines as in a known_hosts file, where the host may be left out. When it is
	// empty, the keys that it had at the first contact count.
	HostKey string
	// Exclude are the documents that pulls and imports leave alone, Groups those that the platform knows.
	Exclude, Groups []string

	// authenticated tells that the configuration has an auth, whatever is in it.
	authenticated bool
}

// Format shows which repository it is, whatever the verb: its credentials are for nobody's eyes.
func (r Repository) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, "repository "+r.ID+" ("+r.Address()+")")
}

// LogValue keeps the credentials out of logs.
func (r Repository) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", r.ID), slog.String("url", r.Address()))
}

// Fingerprint tells one place from another: what was pushed to one says nothing about what another has. However an address
// is spelt, it is the same place. Credentials are no part of it.
func (r Repository) Fingerprint() string {
	url := r.URL
	if parsed, err := gitcmd.ParseAddress(url); err == nil {
		if parsed.Port == (gitcmd.Address{Scheme: parsed.Scheme}).PortOrDefault() {
			parsed.Port = 0
		}
		url = parsed.String()
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{string(r.Kind), url, r.Branch, strings.Trim(r.Folder, "/")}, "\x00")))
	return hex.EncodeToString(sum[:])
}

// MayPull refuses to pull from a repository that is only pushed to.
func (r Repository) MayPull() error { return r.may("pulled from", WriteOnly) }

// MayPush refuses to push to a repository that is only pulled from.
func (r Repository) MayPush() error { return r.may("pushed to", ReadOnly) }

func (r Repository) may(what string, not Mode) error {
	switch {
	case r.Kind != Git && r.Kind != Filesystem:
		return errs.Newf(errs.InvalidRequest, "The repository %q is of type %s, which cannot be %s; choose one of type git.", r.ID, r.Kind, what).
			With("repositoryId", r.ID)
	case r.Mode == not:
		return errs.Newf(errs.PermissionDenied, "The repository %q is %s: it cannot be %s. Choose another one, or change its mode.", r.ID, r.Mode, what).
			With("repositoryId", r.ID).With("mode", string(r.Mode))
	case r.Mode != ReadWrite && r.Mode != ReadOnly && r.Mode != WriteOnly:
		return errs.Invalid(errs.Field{Field: place(r.ID, "mode"), Message: knownModes})
	}
	return nil
}

// Excludes tells that pulls and imports leave a document alone, which is named as in automations/hello.
func (r Repository) Excludes(path string) bool { return slices.Contains(r.Exclude, path) }

// Authentication is how the repository is opened: password, sshkey or none.
func (r Repository) Authentication() string {
	switch {
	case r.SSHKey != "":
		return "sshkey"
	case r.Password != "":
		return "password"
	default:
		return "none"
	}
}

// Address is the URL as it may be shown: without a password or a token that somebody wrote into it.
func (r Repository) Address() string {
	scheme, rest, ok := strings.Cut(r.URL, "://")
	if !ok {
		return r.URL
	}
	authority, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return r.URL
	}
	user, _, _ := strings.Cut(authority[:at], ":")
	if strings.EqualFold(scheme, "ssh") {
		return scheme + "://" + user + authority[at:] + "/" + path
	}
	return scheme + "://" + authority[at+1:] + "/" + path
}

// Find gives the repository with the id; resource_not_found names those that there are.
func Find(all []Repository, id string) (Repository, error) {
	ids := make([]string, 0, len(all))
	for _, r := range all {
		if r.ID == id {
			return r, nil
		}
		ids = append(ids, r.ID)
	}
	return Repository{}, errs.Missing("repositories", id).With("repositoryId", id).With("availableRepositories", ids)
}
