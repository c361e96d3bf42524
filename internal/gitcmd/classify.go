package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// sign is a phrase of git, curl, ssh or a well-known server, and what it means.
type sign struct {
	kind    Kind
	phrases []string
}

// signs are looked for in this order, in lower case: what comes first is more certain. Words that a server can choose
// (lines that begin with "remote:") are read only for the kinds that a server decides.
func signs() []sign {
	return []sign{
		{Certificate, []string{
			"server certificate verification failed", "ssl certificate problem", "certificate subject name", "no alternative certificate subject name",
			"ssl peer certificate", "certificate verify failed", "peer's certificate",
		}},
		{HostKey, []string{"host key verification failed", "remote host identification has changed", "host key is known for", "no hostkey alg", "no matching host key type"}},
		{Damaged, []string{"fsck error", "error in packed object", "error in object", "did not receive expected object", "pack is corrupted", "sha1 collision"}},
		{TooLarge, []string{"exceeds maximum allowed size", "attempting to allocate", "returned error: 413", "out of memory", "memory exhausted"}},
		{NoRef, []string{"couldn't find remote ref", "not our ref", "unadvertised object", "no such remote ref"}},
		{Denied, []string{
			"authentication failed for", "could not read username", "could not read password", "returned error: 401", "returned error: 403",
			"permission denied (", "too many authentication failures", "no supported authentication methods",
		}},
		{Missing, []string{
			"' not found", "returned error: 404", "returned error: 410", "does not appear to be a git repository", "is this a git repository?", "did you run git update-server-info",
			"unable to update url base from redirection", "returned error: 301", "returned error: 302", "returned error: 303", "returned error: 307", "returned error: 308",
		}},
		{TimedOut, []string{"operation too slow", "timed out", "timeout, server", "returned error: 504", "returned error: 408"}},
		{Unreachable, []string{
			"failed to connect", "couldn't connect", "could not resolve", "connection refused", "connection reset", "connection closed", "network is unreachable", "no route to host",
			"empty reply", "recv failure", "send failure", "kex_exchange_identification", "hung up unexpectedly", "early eof", "unexpected disconnect", "rpc failed",
			"transfer closed", "ssl_error_syscall", "gnutls", "tls connect error", "ssl connect error", "broken pipe", "returned error: 429", "returned error: 5",
		}},
		{Damaged, []string{"index-pack failed", "invalid index-pack output", "bad pack", "bad object", "protocol error", "bad line length", "unpack-objects", "invalid server response", "expected flush", "unexpected line"}},
	}
}

// serverSigns are in the words that a server chose.
func serverSigns() []sign {
	return []sign{
		{Missing, []string{"repository not found", "repository does not exist", "project you were looking for could not be found", "could not find repository", "not found"}},
		{Denied, []string{
			"permission to ", "access denied", "not allowed to", "insufficient permission", "write access to repository not granted", "read only", "read-only", "unauthorized", "forbidden",
		}},
	}
}

//nolint:gochecknoglobals // compiled once, never changed
var statusForm = regexp.MustCompile(`returned error: (\d{3})`)

// classify makes a problem of the failure of a command that talked to the remote.
func (c *contact) classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if problem, ok := errors.AsType[*Problem](err); ok {
		return problem
	}
	if ctx.Err() != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &Problem{Kind: TimedOut, Message: fmt.Sprintf("The Git server %s did not answer in time.", c.address.Host), cause: ctx.Err()}
		}
		return fmt.Errorf("talk to the Git server: %w", ctx.Err())
	}
	exit, ok := errors.AsType[*ExitError](err)
	if !ok {
		return &Problem{Kind: Failed, Message: "Git could not be run.", cause: errors.New(c.words(err.Error()))}
	}
	return c.problem(exit)
}

func (c *contact) problem(exit *ExitError) *Problem {
	own, server := splitWords(exit.Stderr)
	kind := find(signs(), own)
	if kind == Failed || kind == Unreachable && c.address.Scheme == schemeSSH {
		// An SSH server says why and hangs up.
		if found := find(serverSigns(), server); found != Failed {
			kind = found
		}
	}
	return &Problem{
		Kind:    kind,
		Message: c.message(kind, own, server),
		cause:   &ExitError{Command: exit.Command, Code: exit.Code, Stderr: c.redact(exit.Stderr)},
	}
}

// splitWords tells git's own words from those that a server chose.
func splitWords(text string) (own, server string) {
	var ours, theirs []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if words, ok := strings.CutPrefix(line, "remote:"); ok {
			theirs = append(theirs, strings.TrimSpace(words))
			continue
		}
		if _, words, ok := strings.Cut(line, "remote error: "); ok {
			theirs = append(theirs, words)
		}
		if words, ok := strings.CutPrefix(line, "ERROR: "); ok {
			theirs = append(theirs, words)
			continue
		}
		ours = append(ours, line)
	}
	return strings.Join(ours, "\n"), strings.Join(theirs, "\n")
}

func find(all []sign, text string) Kind {
	text = strings.ToLower(text)
	for _, sign := range all {
		for _, phrase := range sign.phrases {
			if strings.Contains(text, phrase) {
				return sign.kind
			}
		}
	}
	return Failed
}

// message says what went wrong and what to do.
func (c *contact) message(kind Kind, own, server string) string {
	host := c.address.Host
	said := ""
	if words := c.words(server); words != "" {
		said = " The server says: " + words
	}
	switch kind {
	case Denied:
		return fmt.Sprintf("The Git server %s refuses the credentials, or they do not allow this. Check the user, the password or token, or the SSH key.", host) + said
	case Missing:
		if strings.Contains(own, "redirection") || strings.Contains(own, "returned error: 30") {
			return fmt.Sprintf("The Git server %s sends to another address, which is not followed. Use the address that it sends to.", host)
		}
		return fmt.Sprintf("There is no repository at this address of %s, or the credentials do not show it. Check the address and the credentials.", host) + said
	case HostKey:
		return fmt.Sprintf("The key of the SSH server %s is not the one that is known. Make sure that it was changed on purpose, then confirm the new one.", host)
	case TimedOut:
		return fmt.Sprintf("The Git server %s is too slow or does not answer.", host)
	case Unreachable:
		if status := statusForm.FindStringSubmatch(own); status != nil {
			return fmt.Sprintf("The Git server %s is not ready: it answered %s. Try again later.", host, status[1]) + said
		}
		return fmt.Sprintf("The Git server %s cannot be reached, or it broke the connection.", host) + said
	case TooLarge:
		return "The repository is larger than is allowed."
	case NoRef:
		return "The branch, tag or commit does not exist in the repository."
	case Damaged:
		return fmt.Sprintf("The Git server %s sent what is no sound repository: %s", host, c.words(own))
	default:
		return fmt.Sprintf("The Git server %s could not do it: %s", host, c.words(own+"\n"+server))
	}
}

// tooSlow ends an operation that took longer than d.
func (c *contact) tooSlow(d time.Duration) *Problem {
	return &Problem{Kind: TimedOut, Message: fmt.Sprintf("The Git server %s did not answer or finish within %s.", c.address.Host, d)}
}
