package webhooks

import (
	"time"

	"atelier/internal/events/internal/query"
	"atelier/internal/vault"
)

// The states of a subscription.
const (
	Active = "active"
	// Paused is active, but its endpoint has failed so often that only now and then something is sent to it.
	Paused = "paused"
	// Disabled gets no events.
	Disabled = "disabled"
)

// Why a subscription is not active.
const (
	// ReasonManual is that somebody has switched it off.
	ReasonManual = "manual"
	// ReasonFailing is that its endpoint fails: for the moment when it is paused, for days when it is disabled.
	ReasonFailing = "failing"
	// ReasonGone is that its endpoint has answered 410.
	ReasonGone = "gone"
	// ReasonNoAccess is that whoever made or last changed it may not read the events of the workspace any more.
	ReasonNoAccess = "access_lost"
)

// The kinds of signatures.
const (
	HMAC    = "hmac"
	Ed25519 = "ed25519"
)

// Filters narrow a subscription down, beyond the types of events.
type Filters = query.Options

// LastDelivery is the newest attempt of a subscription.
type LastDelivery struct {
	ID      string    `json:"id" doc:"The delivery."`
	At      time.Time `json:"at" doc:"When it was attempted."`
	State   string    `json:"state" enum:"pending,delivered,failed" doc:"What came of it."`
	Status  int       `json:"status,omitempty" doc:"The status that the endpoint answered with; absent when it did not."`
	EventID string    `json:"eventId,omitempty" doc:"The event."`
}

// Subscription is an address that is told of events.
type Subscription struct {
	ID, WorkspaceID, URL, Description string
	Types                             []string
	Filters                           Filters
	OrderBy                           string
	Concurrency                       int
	Signature                         string
	// State is active or disabled as it is stored; Status also knows paused.
	State, Reason string
	StateAt       time.Time
	CreatedAt     time.Time
	CreatedBy     string
	UpdatedAt     time.Time
	UpdatedBy     string
	// RetryAt is when a paused one is tried again.
	RetryAt      time.Time
	FailingSince time.Time
	Last         *LastDelivery

	// What is sealed, opened: Headers are sent along, PublicKeys verify signatures of Ed25519, PreviousUntil is when the
	// older of two secrets ends. Secrets are set only where they are shown, once.
	Headers       map[string]string
	PublicKeys    []string
	PreviousUntil time.Time
	Secrets       []string

	reader   reader
	since    int64
	revision int64
	failures int
	sealed   vault.Sealed
	content  *content
}

// Status is the state as people see it.
func (s Subscription) Status(now time.Time) (state, reason string) {
	if s.State == Active && s.RetryAt.After(now) {
		return Paused, ReasonFailing
	}
	return s.State, s.Reason
}

// Draft is a new subscription.
type Draft struct {
	URL, Description string
	Types            []string
	Filters          Filters
	Headers          map[string]string
	OrderBy          string
	Concurrency      int
	Signature        string
	Secrets          []string
	Disabled         bool
}

// Change is what is to be different about a subscription; nil stays.
type Change struct {
	URL         *string
	Types       *[]string
	Filters     *Filters
	Headers     *map[string]string
	Description *string
	Enabled     *bool
	OrderBy     *string
	Concurrency *int
}
