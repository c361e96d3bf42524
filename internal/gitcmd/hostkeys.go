package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"golang.org/x/crypto/ssh"
)

// keyKinds are the kinds of host keys that are asked for, each with its algorithms. A server shows one key at a time.
func keyKinds() [][]string {
	return [][]string{
		{ssh.KeyAlgoED25519},
		{ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521},
		{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256},
	}
}

// HostKeys asks an SSH server for its host keys, which somebody has to confirm: nothing proves whose they are. They come
// as lines for Remote.KnownHosts and as fingerprints such as "ssh-ed25519 SHA256:...", in the same order. The dial function
// decides where a connection may lead.
func (g *Git) HostKeys(ctx context.Context, a Address, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (knownHosts string, fingerprints []string, err error) {
	if a.Scheme != schemeSSH {
		return "", nil, refusedError("Only SSH servers have host keys; use git@host:path.")
	}
	ctx, cancel := context.WithTimeout(ctx, g.limits.Connect)
	defer cancel()
	var lines strings.Builder
	for _, algorithms := range keyKinds() {
		conn, err := dial(ctx, "tcp", a.hostPort())
		if err != nil {
			return "", nil, err
		}
		key, err := hostKey(ctx, conn, a, algorithms)
		if err != nil {
			return "", nil, err
		}
		if key == nil {
			continue
		}
		fmt.Fprintf(&lines, "%s %s", a.alias(), ssh.MarshalAuthorizedKey(key))
		fingerprints = append(fingerprints, key.Type()+" "+ssh.FingerprintSHA256(key))
	}
	if len(fingerprints) == 0 {
		return "", nil, &Problem{Kind: Unreachable, Message: fmt.Sprintf("%s does not answer like an SSH server.", a.Host)}
	}
	return lines.String(), fingerprints, nil
}

var errSeen = errors.New("the key was seen")

// hostKey begins to shake hands and leaves when the server has shown its key; nil when it has none of this kind.
func hostKey(ctx context.Context, conn net.Conn, a Address, algorithms []string) (ssh.PublicKey, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	defer func() { _ = conn.Close() }()
	var seen ssh.PublicKey
	_, _, _, err := ssh.NewClientConn(conn, a.hostPort(), &ssh.ClientConfig{
		User:              a.User,
		HostKeyAlgorithms: algorithms,
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			seen = key
			return errSeen
		},
	})
	if seen == nil && ctx.Err() != nil {
		return nil, &Problem{Kind: TimedOut, Message: fmt.Sprintf("The SSH server %s did not answer in time.", a.Host), cause: ctx.Err()}
	}
	if seen == nil && !strings.Contains(err.Error(), "no common algorithm") {
		return nil, &Problem{Kind: Unreachable, Message: fmt.Sprintf("%s does not answer like an SSH server.", a.Host)}
	}
	return seen, nil
}
