package gitcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Remote is a repository elsewhere. Password and SSHKey never get into arguments, files, logs or errors.
type Remote struct {
	URL            string     // as Address.String wrote it
	User, Password string     //nolint:gosec // for https, never encoded; a personal access token is a password
	SSHKey         string     // for ssh: a private key in PEM form
	KnownHosts     string     // for ssh: the keys that the host may have, as HostKeys returned them
	IP             netip.Addr // the checked address of the host: nothing else is connected to
}

// userName is never empty: servers that want only a token take any name.
func (r Remote) userName() string { return cmp.Or(r.User, "git") }

// contact is a remote that was checked, with what git must know to talk to it.
type contact struct {
	Remote
	address Address
	until   time.Time // for all of the operation
	more    surroundings
	close   func()
}

// contact checks a remote and prepares its credentials. Its close must be called.
func (g *Git) contact(remote Remote) (*contact, error) {
	address, err := ParseAddress(remote.URL)
	if err != nil {
		return nil, &Problem{Kind: Missing, Message: err.Error()}
	}
	if !remote.IP.IsValid() || remote.IP.Zone() != "" {
		return nil, errors.New("a remote needs the address that its host was resolved to")
	}
	remote.IP = remote.IP.Unmap()
	if literal, err := netip.ParseAddr(address.Host); err == nil && literal.Unmap() != remote.IP {
		return nil, errors.New("a remote that is named by its address must be found there")
	}
	c := &contact{Remote: remote, address: address, until: time.Now().Add(g.limits.Total), close: func() {}}
	if address.Scheme == schemeHTTPS {
		return c, c.overHTTPS(g.limits)
	}
	return c, c.overSSH(g.limits)
}

// helper is a credential helper for git that answers from the environment, and only for the host that was meant: what
// git asks for stands on its input, one attribute a line.
const helper = `!f() { test "$1" = get || return 0; while read -r line; do test "$line" = "host=$ATELIER_GIT_HOST" && ` +
	`printf 'username=%s\npassword=%s\n' "$ATELIER_GIT_USER" "$ATELIER_GIT_PASSWORD"; done; return 0; }; f`

func (c *contact) overHTTPS(limits Limits) error {
	c.more.settings = []setting{
		{"http.lowSpeedLimit", strconv.Itoa(limits.LowSpeed)},
		{"http.lowSpeedTime", strconv.Itoa(max(1, int(limits.LowSpeedTime.Seconds())))},
	}
	if _, err := netip.ParseAddr(c.address.Host); err != nil { // an address needs no resolving
		c.more.settings = append(c.more.settings, setting{"http.curloptResolve", fmt.Sprintf("%s:%d:%s", c.address.Host, c.address.PortOrDefault(), bracketed(c.IP))})
	}
	if c.Password == "" {
		return nil
	}
	if CheckPassword(c.Password) != nil || CheckPassword(c.User) != nil {
		return &Problem{Kind: Denied, Message: errPassword.Error()}
	}
	host := c.address.bracketed()
	if c.address.Port != 0 {
		host += ":" + strconv.Itoa(int(c.address.Port))
	}
	c.more.settings = append(c.more.settings, setting{"credential.helper", ""}, setting{"credential.helper", helper})
	c.more.variables = []string{"ATELIER_GIT_HOST=" + host, "ATELIER_GIT_USER=" + c.userName(), "ATELIER_GIT_PASSWORD=" + c.Password}
	return nil
}

func bracketed(addr netip.Addr) string {
	if addr.Is6() {
		return "[" + addr.String() + "]"
	}
	return addr.String()
}

func (c *contact) overSSH(limits Limits) error {
	known, err := knownHosts(c.KnownHosts, c.address)
	if err != nil {
		return &Problem{Kind: HostKey, Message: fmt.Sprintf("The key of the SSH server %s is not known yet: look at it and confirm it. (%s)", c.address.Host, err)}
	}
	if c.SSHKey == "" {
		return &Problem{Kind: Denied, Message: "An address of SSH needs an SSH key in the authentication."}
	}
	key, err := parseKey(c.SSHKey)
	if err != nil {
		return &Problem{Kind: Denied, Message: err.Error()}
	}
	agent, err := startAgent(key, known)
	if err != nil {
		return fmt.Errorf("hand the SSH key over: %w", err)
	}
	c.close = agent.close
	c.more.variables = []string{"GIT_SSH_VARIANT=ssh", "GIT_SSH_COMMAND=" + c.sshCommand(agent, limits)}
	return nil
}

// sshCommand is read by a shell. It connects to the checked address, believes only the known keys, and signs only with
// the agent's.
func (c *contact) sshCommand(agent *keyAgent, limits Limits) string {
	options := []string{
		"HostName=" + c.IP.String(), "HostKeyAlias=" + c.address.alias(), "UserKnownHostsFile=" + agent.knownHosts, "GlobalKnownHostsFile=/dev/null",
		"StrictHostKeyChecking=yes", "UpdateHostKeys=no", "CheckHostIP=no", "CanonicalizeHostname=no", "BatchMode=yes",
		"PreferredAuthentications=publickey", "IdentityAgent=" + agent.socket, "IdentityFile=none",
		"ConnectTimeout=" + strconv.Itoa(max(1, int(limits.Connect.Seconds()))), "ConnectionAttempts=1",
		"ServerAliveInterval=10", "ServerAliveCountMax=3", "ProxyCommand=none", "ControlMaster=no", "ControlPath=none", "ClearAllForwardings=yes",
		"ForwardAgent=no", "PermitLocalCommand=no", "EscapeChar=none", "LogLevel=ERROR",
	}
	for i, option := range options {
		options[i] = "-o '" + strings.ReplaceAll(option, "'", `'\''`) + "'"
	}
	return "ssh -F /dev/null " + strings.Join(options, " ")
}

// talk runs a command that talks to the remote, watched: its time, its first contact and, when it has one, its
// quarantine. Every failure but the end of ctx is a *Problem.
func (r *Repository) talk(ctx context.Context, c *contact, command Command, out io.Writer) error {
	timed, done := context.WithDeadlineCause(ctx, c.until, c.tooSlow(r.git.limits.Total))
	defer done()
	watched, cancel := context.WithCancelCause(timed)
	var watchers sync.WaitGroup
	probed := &probe{git: r.git, contact: c}
	probing, stopProbing := context.WithCancel(watched)
	watchers.Go(func() { probed.run(probing, cancel) })
	watching, stopWatching := context.WithCancel(watched)
	watchers.Go(func() { r.watch(watching, cancel) })

	err := r.git.run(watched, call{repository: r.folder, command: command, out: out, more: r.surroundings().and(c.more)})
	stopWatching()
	problem := c.classify(ctx, err)
	if !isKind(problem, Certificate) {
		stopProbing() // only a bad certificate is worth the wait
	}
	watchers.Wait()
	stopProbing()
	cancel(nil)
	if isKind(problem, Certificate) {
		return &Problem{Kind: Certificate, Message: c.words(probed.explain()), cause: errors.Unwrap(problem)}
	}
	return problem
}

func isKind(err error, kind Kind) bool {
	problem, ok := errors.AsType[*Problem](err)
	return ok && problem.Kind == kind
}
