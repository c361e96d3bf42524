// Package builtin lists the apps that every installation has without anybody having published them. What they do is made by
// the service that runs automations; whoever keeps definitions only has to know that they exist.
package builtin

import "strings"

// App is an app that is part of the platform.
type App struct {
	// Slug is what an app instance names it by; Name and Description are for people.
	Slug, Name, Description string
	// Config is the JSON schema of what its instances can set: typed arguments by name.
	Config string
	// Automations are what its instances offer, by slug: the JSON of an object with a description and arguments.
	Automations map[string]string
}

// The slugs of the built-in apps.
const (
	CustomCode = "Custom Code"
	Collection = "Collection"
)

// Version is the name of the one version that a built-in app has: that of the installation.
const Version = "current"

// All lists the built-in apps by their slugs.
func All() []App {
	return []App{collection(), customCode()}
}

// Find gives the built-in app with a slug.
func Find(slug string) (App, bool) {
	for _, app := range All() {
		if app.Slug == slug {
			return app, true
		}
	}
	return App{}, false
}

// Taken tells whether a slug is that of a built-in app, or differs from it in case alone, so that nobody can publish under it.
func Taken(slug string) bool {
	for _, app := range All() {
		if strings.EqualFold(app.Slug, slug) {
			return true
		}
	}
	return false
}
