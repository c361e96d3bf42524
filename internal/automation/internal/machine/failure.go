package machine

// Failure is an error of the language: a name that automations and clients match on.
type Failure struct { //nolint:errname // what the language calls it
	Name, Message string
	Details       any // a value, or what JSON can write
	// Cause is for the log only.
	Cause error
	// final failures end the run: no automation can catch them.
	final bool
}

// The names of failures.
const (
	ObjectNotFound     = "ObjectNotFoundError"
	TooManyCalls       = "TooManyCallError"
	InvalidEvent       = "InvalidEventError"
	EventValidation    = "EventValidationError"
	InvalidVariable    = "InvalidVariableNameError"
	InvalidInstruction = "InvalidInstructionError"
	InvalidExpression  = "InvalidExpressionSyntax"
	InvalidOutput      = "InvalidOutputError"
	Suspended          = "SuspendedWorkspaceError"
	InvalidUpload      = "InvalidUploadError"
	InvalidArguments   = "InvalidArgumentsError"
	Forbidden          = "ForbiddenError"
	Configuration      = "ConfigurationError"
	QuotaExceeded      = "WorkspaceQuotaExceeded"
	Timeout            = "WorkflowTimeoutError"
	Broke              = "SvcError"
)

// Fail makes a failure.
func Fail(name, message string) *Failure { return &Failure{Name: name, Message: message} }

// With gives the failure details.
func (e *Failure) With(details any) *Failure { e.Details = details; return e }

// Because records the cause, for the log.
func (e *Failure) Because(err error) *Failure { e.Cause = err; return e }

// Finally makes a failure one that no automation can catch: the run ends with it.
func (e *Failure) Finally() *Failure { e.final = true; return e }

func (e *Failure) Error() string { return e.Name + ": " + e.Message }

// Unwrap gives the cause.
func (e *Failure) Unwrap() error { return e.Cause }
