// Package assembly is a workspace with everything that it is made of when it runs: its documents, those of the apps that are
// installed in it and in each other, its secrets, and what the operator configures. It has no I/O: the service that keeps
// definitions fills it, the one that runs them reads it, and both find the same configuration in it.
package assembly

import (
	"fmt"
	"io"

	"go.yaml.in/yaml/v3"

	"atelier/internal/dsul"
)

// Stamp tells what a tree was made of. Two equal stamps are of the same tree.
type Stamp struct {
	// Workspace is about the workspace itself: its revision, its slug, whether it is suspended or in the bin.
	Workspace string
	// Secrets are the secrets and how often each was set, Apps the newest versions of the apps in the tree, and Registry the
	// workspaces that are registered.
	Secrets, Apps, Registry string
}

// Tree is a workspace as it runs.
type Tree struct {
	// Stamp is never newer than what is in the tree.
	Stamp Stamp
	// Apps are the slugs of all apps that the tree depends on, in order: also of those that do not exist, and could.
	Apps            []string
	ID, Slug, Name  string
	Suspended       bool
	SuspendedReason string
	Deleted         bool
	Root            *Place
	// System are the platform's own settings of the workspace.
	System Texts
	// Registry are the workspaces that let others find them, by slug.
	Registry []Registered
	// Skipped says which documents are left out, and why: app instances mostly.
	Skipped []Skip
	// Size is how many bytes the documents have.
	Size int64
}

// Registered is a workspace that lets others find it.
type Registered struct{ Slug, ID, Name string }

// Skip is a document that is left out: its path, the app that it names or is of, and why.
type Skip struct{ What, App, Reason string }

// Place is the workspace, or an app instance in it.
type Place struct {
	// App is the app and Version its version; both are empty for the workspace. Instance is the slug in the parent.
	App, Version, Instance string
	// Builtin tells that the app is part of the platform, and has no documents.
	Builtin bool
	// Index is the index of the workspace or of the app; nil without one.
	Index *dsul.Document
	// Import is the app instance as its parent has it; nil for the workspace.
	Import      *dsul.Document
	Automations []Automation
	// Imports are all app instances, Instances those of them that are there and not disabled.
	Imports   []*dsul.Document
	Instances []*Place
	// Environment is the configuration that the operator gives, by name; Secrets are what {{secret.name}} stands for.
	Environment map[string]string
	Secrets     Texts
}

// Automation is an automation as it is written. It is not read yet: who has read the same text before need not do it again.
type Automation struct {
	Slug string
	Text []byte
}

// Texts are texts by name that are never shown by accident.
type Texts map[string]string

// Format hides the texts from every verb.
func (t Texts) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// MarshalText hides the texts from encoders.
func (t Texts) MarshalText() ([]byte, error) { return []byte("***"), nil }

// At gives a node below another one, by keys; nil when there is none.
func At(n *yaml.Node, path ...string) *yaml.Node { return (&dsul.Document{Root: n}).Get(path...) }

// said is a part of a document; nil without one.
func said(doc *dsul.Document, path ...string) *yaml.Node {
	if doc == nil {
		return nil
	}
	return doc.Get(path...)
}
