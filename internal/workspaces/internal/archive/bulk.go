package archive

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"

	"atelier/internal/dsul"
	"atelier/internal/errs"
	"atelier/internal/strictjson"
)

// Bulk is an archive of many workspaces.
type Bulk struct {
	// WorkspaceIDs are the ids the workspaces had where they were exported, in order.
	WorkspaceIDs []string `json:"workspaceIds"`
	// PublishApps are the apps to publish afterwards, an app behind those it depends on.
	PublishApps []PublishApp `json:"publishApps"`
	// Archives are the workspaces by id, each as if it had been read alone. Writing does not look at them.
	Archives map[string]*Archive `json:"-"`
}

// PublishApp is an app that a workspace of a bulk archive publishes.
type PublishApp struct {
	WorkspaceID      string `json:"workspaceId"`
	Slug             string `json:"slug"`
	Name             string `json:"name,omitempty"`
	Description      string `json:"description,omitempty"`
	Photo            string `json:"photo,omitempty"`
	WorkspaceVersion string `json:"workspaceVersion,omitempty"`
}

var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`) //nolint:gochecknoglobals // compiled once

func validID(id string) bool { return idPattern.MatchString(id) }

// bulk reads an archive of many workspaces.
func (z *container) bulk(entries []entry, place layout) (*Archive, error) {
	found := &Archive{Bulk: &Bulk{Archives: map[string]*Archive{}}}
	for _, e := range entries {
		role, file := place.of(e)
		text, err := z.content(e, role)
		if err != nil {
			return nil, err
		}
		switch {
		case role == manifest:
			err = z.manifest(e, text, found.Bulk)
		case role == inner:
			found.Bulk.Archives[file.Path], err = z.inside(e, text).archive()
		case !e.dir:
			found.Ignored = append(found.Ignored, e.name)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(found.Ignored)
	return found, z.matches(place.root+manifestName, found.Bulk)
}

// inside is the container of an inner archive. One that is not compressed is read where it stands.
func (z *container) inside(e entry, text []byte) *container {
	within := &container{r: bytes.NewReader(text), size: e.size, prefix: e.name, budget: z.budget, work: z.work}
	if e.method == stored {
		within.r = io.NewSectionReader(z.r, e.data, e.size)
	}
	return within
}

func (z *container) manifest(e entry, text []byte, into *Bulk) error {
	if err := strictjson.Unmarshal(text, into); err != nil {
		if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return z.refuse(e.name, "%s is a %s; a string is expected, or a list where there are several", shown(wrong.Field), wrong.Value)
		}
		return z.refuse(e.name, "it is no valid JSON: %s", err)
	}
	return nil
}

// matches checks that the list of workspaces and the archives are the same, and that apps are published by them.
func (z *container) matches(name string, bulk *Bulk) error {
	listed := map[string]bool{}
	for _, id := range bulk.WorkspaceIDs {
		switch {
		case listed[id]:
			return z.refuse(name, "it lists the workspace %s twice", shown(id))
		case bulk.Archives[id] == nil:
			return z.refuse(name, "it lists the workspace %s, which is not in the archive", shown(id))
		}
		listed[id] = true
	}
	for _, id := range slices.Sorted(maps.Keys(bulk.Archives)) {
		if !listed[id] {
			return z.refuse(innerFolder+id+innerExt, "%s does not list it", manifestName)
		}
	}
	for i, app := range bulk.PublishApps {
		switch {
		case !listed[app.WorkspaceID]:
			return z.refuse(name, "publishApps[%d].workspaceId is none of the workspaces in the archive", i)
		case !dsul.ValidSlug(app.Slug):
			return z.refuse(name, "publishApps[%d].slug is no slug: letters, digits, spaces, _ and -, at most 100 characters", i)
		}
	}
	return nil
}

// WriteBulk writes an archive of many workspaces; each writes the archive of one with Write. Everything is streamed: when
// it fails, the archive has no end and nobody can take it for a whole one.
func WriteBulk(w io.Writer, bulk *Bulk, each func(id string, w io.Writer) error) error {
	listed := map[string]bool{}
	for _, id := range bulk.WorkspaceIDs {
		if key := Fold(id); listed[key] || !validID(id) {
			return errs.Invalid(errs.Field{Field: "workspaceIds", Message: shown(id) + ": no id of a workspace, or listed twice"})
		} else {
			listed[key] = true
		}
	}
	text, err := json.MarshalIndent(Bulk{WorkspaceIDs: nonNil(bulk.WorkspaceIDs), PublishApps: nonNil(bulk.PublishApps)}, "", "  ")
	if err != nil {
		return fmt.Errorf("write a bulk archive: %w", err)
	}
	out := newWriter(w, nil)
	if err := out.file(manifestName, append(text, '\n')); err != nil {
		return err
	}
	for _, id := range bulk.WorkspaceIDs {
		entry, err := out.zip.CreateHeader(out.header(innerFolder+id+innerExt, zip.Store))
		if err != nil {
			return errs.Wrap(err, "write a bulk archive")
		}
		if err := each(id, entry); err != nil {
			return err
		}
	}
	return errs.Wrap(out.zip.Close(), "write a bulk archive")
}

// nonNil makes an absent list an empty one.
func nonNil[T any](list []T) []T { return append([]T{}, list...) }
