package machine

import (
	"iter"
	"sync/atomic"

	"atelier/internal/dsul/expr/value"
)

// Home is a workspace, or an app instance in it: where automations find each other, their configuration and their secrets. It is
// made by package model and never changed afterwards.
type Home struct {
	// WorkspaceID is the workspace that runs, also for the apps in it.
	WorkspaceID, WorkspaceSlug, WorkspaceName string
	// AppSlug is the app, Instance the slug of the instance in its parent, FullSlug that of all of them joined by dots, Depth how
	// many they are. A workspace has none: empty, and 0.
	AppSlug, AppVersion, Instance, FullSlug string
	Depth                                   int
	Parent                                  *Home
	Automations                             map[string]*Automation
	Instances                               map[string]*Home
	// Config is the configuration with everything in it put in; Definition is what $workspace shows.
	Config, Definition *value.Object
	// Global is what is computed of the global context: workspaceId, workspaceName, apiUrl, endpoints and so on.
	Global *value.Object
	// Secrets are {{secret.name}}.
	Secrets *value.Object
	// Hidden are texts that must not be seen in native events: the values of secrets and of secret configuration.
	Hidden []string
	// EventTypes are the types of events that the workspace declares: their numbers are available to aggregations.
	EventTypes map[string]bool
	// System are the settings that super admins give a workspace by secrets: svc_ratelimit_* and the like.
	System map[string]string

	ready atomic.Pointer[redactor] // of Hidden; nil until somebody needs it
}

// Automation is a compiled automation.
type Automation struct {
	Slug string
	Home *Home
	// Private ones cannot be called by the parent of an app instance; disabled ones not at all.
	Private, Disabled bool
	// Action is authorizations.action: who runs it must be allowed to.
	Action string
	// Arguments checks what it is called with; nil when nothing is said about it.
	Arguments Arguments
	// Body is what it does, Output what it gives back; nil when it gives nothing.
	Body   Block
	Output Value
	// Streams tells that it may answer a request bit by bit: it has the variable for that in its text.
	Streams bool
	// Native is an automation of a built-in app: it does this instead of Body and Output.
	Native func(f *Frame, payload *value.Object) (any, error)
	// Broken is why it cannot run: a mistake that was found when it was compiled.
	Broken error
}

// Arguments is what an automation says of its payload. Package schemas makes it.
type Arguments interface {
	// Check tells what is wrong with a payload: a *Failure named InvalidArgumentsError. It is asked only when the automation
	// validates its arguments.
	Check(payload *value.Object) error
	// Secrets gives the texts in a payload that are marked as secret.
	Secrets(payload *value.Object) iter.Seq[string]
	// Redact gives payload and output without what is marked to be left out of runtime.automations.executed.
	Redact(payload, output any) (any, any)
}

// FullSlug is the slug as the workspace that runs sees it: prefixed by its app instances.
func (a *Automation) FullSlug() string {
	if a.Home.FullSlug == "" {
		return a.Slug
	}
	return a.Home.FullSlug + "." + a.Slug
}
