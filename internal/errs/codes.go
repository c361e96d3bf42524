package errs

import "net/http"

// Code is the machine-readable name of an error. Codes are part of the API: clients match on them, so a code is never
// renamed and never changes its meaning. Messages may change.
type Code string

// The codes of the specification (section 7.3), and payload_too_large, which it lacks.
const (
	InvalidToken           Code = "invalid_token"
	MissingToken           Code = "missing_token"
	InvalidCredentials     Code = "invalid_credentials"
	TokenExpired           Code = "token_expired"
	PermissionDenied       Code = "permission_denied"
	InsufficientScope      Code = "insufficient_scope"
	WorkspaceAccessDenied  Code = "workspace_access_denied"
	OrgAccessDenied        Code = "organization_access_denied"
	NotFound               Code = "resource_not_found"
	AlreadyExists          Code = "resource_already_exists"
	Conflict               Code = "resource_conflict"
	Locked                 Code = "resource_locked"
	InvalidRequest         Code = "invalid_request"
	InvalidParameter       Code = "invalid_parameter"
	MissingParameter       Code = "missing_parameter"
	ValidationFailed       Code = "validation_failed"
	RateLimitExceeded      Code = "rate_limit_exceeded"
	QuotaExceeded          Code = "quota_exceeded"
	ConcurrentRequestLimit Code = "concurrent_request_limit"
	Internal               Code = "internal_error"
	Unavailable            Code = "service_unavailable"
	GatewayTimeout         Code = "gateway_timeout"
	Database               Code = "database_error"
	PayloadTooLarge        Code = "payload_too_large"
)

// Statuses maps each code to the HTTP status the specification gives it.
func Statuses() map[Code]int {
	return map[Code]int{
		InvalidToken:           http.StatusUnauthorized,
		MissingToken:           http.StatusUnauthorized,
		InvalidCredentials:     http.StatusUnauthorized,
		TokenExpired:           http.StatusUnauthorized,
		PermissionDenied:       http.StatusForbidden,
		InsufficientScope:      http.StatusForbidden,
		WorkspaceAccessDenied:  http.StatusForbidden,
		OrgAccessDenied:        http.StatusForbidden,
		NotFound:               http.StatusNotFound,
		AlreadyExists:          http.StatusConflict,
		Conflict:               http.StatusConflict,
		Locked:                 http.StatusLocked,
		InvalidRequest:         http.StatusBadRequest,
		InvalidParameter:       http.StatusBadRequest,
		MissingParameter:       http.StatusBadRequest,
		ValidationFailed:       http.StatusUnprocessableEntity,
		RateLimitExceeded:      http.StatusTooManyRequests,
		QuotaExceeded:          http.StatusTooManyRequests,
		ConcurrentRequestLimit: http.StatusTooManyRequests,
		Internal:               http.StatusInternalServerError,
		Unavailable:            http.StatusServiceUnavailable,
		GatewayTimeout:         http.StatusGatewayTimeout,
		Database:               http.StatusInternalServerError,
		PayloadTooLarge:        http.StatusRequestEntityTooLarge,
	}
}
