package model

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/expr/value"
)

// Addresses are those of the installation.
type Addresses struct {
	// API is the public address of the API, ending in /v2; Studio that of the console.
	API, Studio string
	// PagesHost is the suffix of the hosts of pages, such as .pages.example.com; PagesScheme what stands before them, such as
	// https://. Without a host there are no addresses of pages.
	PagesHost, PagesScheme string
}

// additional are the variables that the operator gives all workspaces.
func additional(environ func(prefix string) map[string]string) *value.Object {
	if environ == nil {
		return value.NewObject(0)
	}
	given := environ("ADDITIONAL_GLOBAL_VARS_")
	made := value.NewObject(len(given))
	for _, name := range slices.Sorted(maps.Keys(given)) {
		made.Set(name, given[name])
	}
	return made
}

// global is what is computed of the global context of a home. What the operator gives cannot replace what the platform says.
func (b *builder) global(h *hall) *value.Object {
	t, at := b.tree, b.models.deps.Addresses
	made := value.NewObject(10 + b.models.variable.Len())
	for name, v := range b.models.variable.All() {
		made.Set(name, v)
	}
	for _, one := range []struct{ name, text string }{
		{"workspaceId", t.ID},
		{"workspaceName", t.Name},
		{"apiUrl", at.API},
		{"studioUrl", at.Studio},
		{"pagesUrl", b.pagesURL()},
		{"pagesHost", at.PagesHost},
	} {
		if one.text != "" {
			made.Set(one.name, one.text)
		}
	}
	made.Set("endpoints", b.endpoints(h))
	made.Set("workspacesRegistry", registry(t.Registry))
	return made
}

// endpoints are the addresses of the endpoints of a home, by their paths.
func (b *builder) endpoints(h *hall) *value.Object {
	base := b.models.deps.Addresses.API + "/workspaces/" + b.tree.ID + "/webhooks/"
	prefix := ""
	if h.home.FullSlug != "" {
		prefix = h.home.FullSlug + "."
	}
	paths := slices.Collect(maps.Keys(h.endpoints))
	for _, p := range h.patterns {
		paths = append(paths, p.source)
	}
	slices.Sort(paths)
	made := value.NewObject(len(paths))
	for _, path := range paths {
		made.Set(path, base+escaped(prefix+path))
	}
	return made
}

// escaped is a path as it stands in an address; parameters stay readable.
func escaped(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		segments[i] = strings.ReplaceAll(url.PathEscape(segment), "%2A", "*")
	}
	return strings.Join(segments, "/")
}

// pagesURL is where the pages of the workspace are: at its first own domain, or at its slug.
func (b *builder) pagesURL() string {
	at := b.models.deps.Addresses
	if index := b.tree.Root.Index; index != nil {
		if domains := texts(index.Get("customDomains")); len(domains) > 0 {
			return at.PagesScheme + domains[0]
		}
	}
	if at.PagesHost == "" {
		return ""
	}
	return at.PagesScheme + b.tree.Slug + at.PagesHost
}

func registry(all []assembly.Registered) *value.Object {
	made := value.NewObject(len(all))
	for _, one := range all {
		of := value.NewObject(2)
		of.Set("id", one.ID)
		of.Set("name", one.Name)
		made.Set(one.Slug, of)
	}
	return made
}
