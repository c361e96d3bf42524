package repositories

import (
	"maps"
	"path"
	"path/filepath"
	"slices"

	"atelier/internal/dsul"
)

// Platform is what the operator has configured for all workspaces.
type Platform struct {
	// Repositories are ordered by their ids; the first is the one that counts when none is named.
	Repositories []Repository
	// Groups are sets of workspaces: by their names the labels, any of which a workspace needs to be in them.
	Groups map[string][]string
	// StartupGroups are imported from StartupRepository when the installation starts, in this order.
	StartupGroups     []string
	StartupRepository string
}

// GroupNames lists the groups in alphabetical order.
func (p Platform) GroupNames() []string { return slices.Sorted(maps.Keys(p.Groups)) }

// GroupsOf lists the groups that a workspace with these labels is in, in alphabetical order.
func (p Platform) GroupsOf(labels []string) (names []string) {
	for _, name := range p.GroupNames() {
		if slices.ContainsFunc(p.Groups[name], func(label string) bool { return slices.Contains(labels, label) }) {
			names = append(names, name)
		}
	}
	return names
}

// Folder is where the workspace with the slug is in a platform repository.
func (p Platform) Folder(r Repository, slug string) string {
	if r.Kind == Filesystem {
		return filepath.Join(r.Folder, slug)
	}
	return path.Join(r.Folder, slug)
}

// Available lists what a workspace can be pushed to and pulled from: its own repositories, then those of the platform with
// the workspace's folder in them. Where both have an id, it is the workspace's own.
func (p Platform) Available(index *dsul.Document, slug string) ([]Repository, error) {
	all, err := Of(index)
	if err != nil {
		return nil, err
	}
	for _, r := range p.Repositories {
		if slices.ContainsFunc(all, func(own Repository) bool { return own.ID == r.ID }) {
			continue
		}
		r.Folder = p.Folder(r, slug)
		all = append(all, r)
	}
	return all, nil
}

// Has tells whether the operator has configured a repository with the id.
func (p Platform) Has(id string) bool {
	return slices.ContainsFunc(p.Repositories, func(r Repository) bool { return r.ID == id })
}
