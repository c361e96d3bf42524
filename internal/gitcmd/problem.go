package gitcmd

// Kind is why a remote operation failed, for the caller to decide what comes next.
type Kind string

// The kinds of problems.
const (
	// Failed is everything the others are not: the message holds git's words.
	Failed Kind = "failed"
	// Unreachable means that nobody answered, or that the conversation broke off: whether a push arrived is not known.
	Unreachable Kind = "unreachable"
	// TimedOut means that the other side was too slow: whether a push arrived is not known.
	TimedOut Kind = "timed_out"
	// Missing means that there is no repository at the address, or none that these credentials may see.
	Missing Kind = "missing"
	// Denied means that the credentials are wrong or do not suffice.
	Denied Kind = "denied"
	// Certificate means that the server's certificate is not trusted.
	Certificate Kind = "certificate"
	// HostKey means that the SSH server's key is not the one that is known, or that none is known.
	HostKey Kind = "host_key"
	// Moved means that a ref is not where the push expected it.
	Moved Kind = "moved"
	// Rejected means that the server refused the push: a hook, a protected branch.
	Rejected Kind = "rejected"
	// TooLarge means that a limit was reached.
	TooLarge Kind = "too_large"
	// NoRef means that a ref or a commit does not exist.
	NoRef Kind = "no_ref"
	// Damaged means that what the other side sent is not sound.
	Damaged Kind = "damaged"
)

// Problem is why a remote operation failed. Message says so in plain words and is safe to show: it holds no secret and
// nothing that does something to a terminal.
type Problem struct { //nolint:errname // it reads as what it is
	Kind    Kind
	Message string
	cause   error
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

// Unwrap is the error behind it, nil for most.
func (p *Problem) Unwrap() error { return p.cause }
