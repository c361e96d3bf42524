package repositories

import (
	"fmt"
	"strings"

	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/gitcmd"
)

// The most that a workspace may have of repositories, and one of excluded documents.
const (
	mostRepositories = 50
	mostExcluded     = 1000
)

const (
	schemeHTTPS = "https"
	schemeSSH   = "ssh"
	knownModes  = "this must be one of: read-write, read-only, write-only"
)

// Check tells everything that is wrong with the repositories of a workspace, each by where it stands. It repeats no value.
func Check(index *dsul.Document) []errs.Field {
	written, err := read(index)
	if err != nil {
		return errs.From(err).Fields
	}
	if len(written.ids) > mostRepositories {
		return []errs.Field{{Field: section, Message: fmt.Sprintf("a workspace has at most %d repositories", mostRepositories)}}
	}
	var wrong []errs.Field
	for _, id := range written.ids {
		c := &checker{repository: written.repository(id)}
		c.check(written.text(id, "config", "branch"))
		wrong = append(wrong, c.wrong...)
	}
	return wrong
}

type checker struct {
	repository Repository
	wrong      []errs.Field
}

// add notes a problem, unless there is none.
func (c *checker) add(message string, path ...string) {
	if message != "" {
		c.wrong = append(c.wrong, errs.Field{Field: place(c.repository.ID, path...), Message: message})
	}
}

func (c *checker) failed(err error, path ...string) {
	if err != nil {
		c.add(err.Error(), path...)
	}
}

func (c *checker) check(branch string) {
	r := c.repository
	switch r.Kind {
	case Git:
		if r.URL == "" {
			c.add("a git repository needs an address: https://... or git@host:path", "config", "url")
		}
		if branch == "" {
			c.add("a git repository needs a branch, such as main", "config", "branch")
		}
	case Archive:
	case Filesystem:
		c.add("only the operator of the installation can configure a directory; use git", "type")
	default:
		c.add("this must be one of: git, archive", "type")
	}
	if r.Mode != ReadWrite && r.Mode != ReadOnly && r.Mode != WriteOnly {
		c.add(knownModes, "mode")
	}
	c.name()
	if branch != "" {
		c.failed(gitcmd.CheckBranch(branch), "config", "branch")
	}
	if r.Folder != "" {
		c.failed(gitcmd.CheckFolder(r.Folder), "config", "dirpath")
	}
	c.address()
	c.exclusions()
}

func (c *checker) name() {
	const longest = 100
	if len(c.repository.Name) > longest {
		c.add("use at most 100 characters", "name")
	}
}

// address checks the URL, and that the credentials fit it.
func (c *checker) address() {
	r := c.repository
	scheme := "" // of an address that cannot be read: the others are checked for themselves
	if r.Address() != r.URL {
		c.add("leave the user and the password out of the address; give them as auth.user and auth.password", "config", "url")
	} else if r.URL != "" {
		address, err := gitcmd.ParseAddress(r.URL)
		c.failed(err, "config", "url")
		scheme = address.Scheme
	}
	c.credentials(scheme)
	if r.HostKey == "" {
		return
	}
	if scheme == schemeHTTPS {
		c.add("a host key is for addresses such as git@host:path; https proves itself with a certificate", "config", "hostKey")
	} else {
		c.failed(gitcmd.CheckKnownHosts(r.HostKey), "config", "hostKey")
	}
}

// credentials checks what opens the repository. What only names a secret is looked at when it is used.
func (c *checker) credentials(scheme string) {
	r := c.repository
	if r.Password != "" && scheme == schemeSSH {
		c.add("a password needs an address that begins with https://; for this one use auth.sshkey", "config", "auth", "password")
	}
	if r.SSHKey != "" && scheme == schemeHTTPS {
		c.add("a key needs an address such as git@host:path; for this one use auth.password", "config", "auth", "sshkey")
	}
	for _, auth := range [][2]string{{"user", r.User}, {"password", r.Password}, {"sshkey", r.SSHKey}} {
		if isLiteral(auth[1]) && strings.Contains(auth[1], "{{") {
			c.add("write {{secret.name}} and nothing else, or the value itself", "config", "auth", auth[0])
		}
	}
	if isLiteral(r.User) {
		c.add(wrongUser(r.User), "config", "auth", "user")
	}
	if isLiteral(r.Password) {
		c.failed(gitcmd.CheckPassword(r.Password), "config", "auth", "password")
	}
	if isLiteral(r.SSHKey) && !strings.Contains(r.SSHKey, "{{") {
		c.failed(gitcmd.CheckSSHKey(r.SSHKey), "config", "auth", "sshkey")
	}
}

func (c *checker) exclusions() {
	if len(c.repository.Exclude) > mostExcluded {
		c.add(fmt.Sprintf("exclude at most %d documents", mostExcluded), "pull", "exclude")
		return
	}
	for i, path := range c.repository.Exclude {
		if _, _, ok := dsul.SplitPath(path); !ok {
			c.add("this must be index, security, or a folder and a slug, such as pages/home, automations/hello or imports/app", "pull", fmt.Sprintf("exclude[%d]", i), "path")
		}
	}
}
