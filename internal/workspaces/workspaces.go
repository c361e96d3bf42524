// Package workspaces is the service that keeps workspaces.
package workspaces

import (
	"fmt"
	"regexp"
	"time"

	"atelier/internal/errs"
)

// Workspace is a workspace's own record.
type Workspace struct {
	ID          string
	Slug        string
	Name        string
	Description string
	Labels      []string
	// Revision grows with every change; it is the entity tag.
	Revision int64
	// ContentRevision is the last revision that changed versioned content, PushedRevision the last one that was pushed.
	ContentRevision, PushedRevision int64
	CreatedAt, UpdatedAt            time.Time
	CreatedBy, UpdatedBy            string
}

// Dirty tells that the content has changed since the last push. It is derived, so an edit made during a push stays dirty.
func (w Workspace) Dirty() bool { return w.ContentRevision > w.PushedRevision }

// Draft is what a caller may set. A nil field is left alone.
type Draft struct {
	Name        *string
	Slug        *string
	Description *string
	Labels      *[]string
}

// ListQuery filters and orders the list of workspaces.
type ListQuery struct {
	Search string
	Slug   string
	Dirty  *bool
	// Sort is name, slug, createdAt or updatedAt; Descending reverses it.
	Sort       string
	Descending bool
	Limit      int
	Offset     int
}

// SlugPattern is what a slug may look like: also a folder name in a repository, so it cannot be anything that a file
// system or git gives a meaning to.
const SlugPattern = `^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$`

// ValidSlug tells whether a new workspace may have the slug: its form, and that it is not reserved.
func ValidSlug(slug string) bool {
	switch slug {
	case "platform", "svc", "git", "con", "prn", "aux", "nul", "api", "docs", "oidc", "workspaces", "labels", "import", "export":
		return false
	}
	return slugForm.MatchString(slug)
}

// CheckLabels refuses labels that filters and groups could not name; validation_failed says which.
func CheckLabels(labels []string) error {
	for i, label := range labels {
		if !labelForm.MatchString(label) {
			return errs.Invalid(errs.Field{Field: fmt.Sprintf("labels[%d]", i), Message: "use 2 to 60 letters, digits and . _ : -"})
		}
	}
	return nil
}

var labelForm = regexp.MustCompile(`^[0-9A-Za-z._:-]{2,60}$`) //nolint:gochecknoglobals // compiled once, never changed

var slugForm = regexp.MustCompile(SlugPattern) //nolint:gochecknoglobals // compiled once, never changed
