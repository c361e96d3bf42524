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
	// Photo is the address of its picture.
	Photo string
	// Localized tells that Description is the JSON of a text in several languages.
	Localized bool
	// LastPush and LastPull tell of the last successful push and pull; nil when there was none.
	LastPush, LastPull *Sync
	Lock               Lock
	// SuspendedAt is when it was suspended, and why; zero when it is not.
	SuspendedAt     time.Time
	SuspendedReason string
	// DeletedAt is when it went into the bin, by whom, and which slug it had; zero when it is not there.
	DeletedAt              time.Time
	DeletedBy, DeletedSlug string
}

// Sync is a successful push to a repository or pull from one.
type Sync struct {
	CreatedAt    time.Time `json:"createdAt" doc:"When it was."`
	CreatedBy    string    `json:"createdBy,omitempty" doc:"The id of the user who did it."`
	Version      string    `json:"version" doc:"The name of the version."`
	RepositoryID string    `json:"repositoryId,omitempty" doc:"The repository."`
}

// Lock is the write lock of a workspace. The epoch grows whenever the lock changes hands, so that whoever lost it cannot write.
type Lock struct {
	Reason string
	By     string
	At     time.Time
	// Until is when it expires; zero when it never does.
	Until time.Time
	Epoch int64
}

// MergeConflict is the reason of the lock that never expires.
const MergeConflict = "merge_conflict"

// Held tells whether somebody holds the lock.
func (l Lock) Held(now time.Time) bool {
	return l.Reason != "" && (l.Until.IsZero() || now.Before(l.Until))
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
	// Name is text in the name alone.
	Name string
	Slug string
	// Labels asks for any of them, IDs for these workspaces, SharedWith and OwnedBy for those of a user.
	Labels, IDs         []string
	SharedWith, OwnedBy string
	Dirty               *bool
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
