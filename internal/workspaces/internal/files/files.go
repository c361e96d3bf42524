// Package files keeps the files of workspaces: who may upload, read, share and delete them. A file is a row; its bytes are
// a content of the blob store, which files with the same bytes share. Whatever a file is called, its name is never the name
// of anything else.
package files

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/blob"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/clock"
	"atelier/internal/envelope"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
)

// Files is the use cases of files.
type Files struct {
	DB    *sqldb.DB
	Bus   bus.Log
	Clock clock.Clock
	IDs   ident.Source
	Log   *slog.Logger
	Door  *door.Door
	Blobs blob.Store
	Links *Links
	// Referenced tells whether anything but a file uses a content of the blob store.
	Referenced Referenced
	Settings   Settings
}

// Referenced tells whether somebody uses a content of the blob store, and so whether it must stay.
type Referenced func(ctx context.Context, r sqldb.Reader, hash string) (bool, error)

// Settings are the operator's.
type Settings struct {
	// MaxSize is that of the largest file.
	MaxSize int64
	// Private makes files private that do not say what they are.
	Private bool
	// Allowed and Forbidden are media types; image/* is every one of images. Forbidden counts more.
	Allowed, Forbidden []string
	// URL is where files are downloaded, ending in /v2.
	URL string
}

// service is how the events of this service name it.
const service = "workspaces"

// Stored is a file as it is stored.
type Stored struct {
	ID, WorkspaceID, Name, Mimetype string
	Size                            int64
	Hash                            string
	Public                          bool
	// ShareToken opens the file for everybody who has it; empty when there is none.
	ShareToken string
	Metadata   Metadata
	// ExpiresAfter is how many seconds it was given; ExpiresAt is zero when it never ends.
	ExpiresAfter         int64
	ExpiresAt            time.Time
	Revision             int64
	CreatedAt, UpdatedAt time.Time
	CreatedBy, UpdatedBy string
}

// Metadata is what uploaders say of a file, as it was written.
type Metadata map[string]json.RawMessage

// Path names the file in its address. The id alone finds it; the name is for people.
func (s Stored) Path() string { return s.WorkspaceID + "/" + s.ID + "." + s.Name }

// expired tells that the file is gone, whether or not it was removed yet.
func (s Stored) expired(now time.Time) bool { return !s.ExpiresAt.IsZero() && !now.Before(s.ExpiresAt) }

// fields is what the conditions of rules on files look at.
func (s Stored) fields() access.Fields {
	metadata := make(map[string]any, len(s.Metadata))
	for name, text := range s.Metadata {
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		var value any
		if decoder.Decode(&value) == nil {
			metadata[name] = value
		}
	}
	return access.Fields{
		"id": s.ID, "workspaceId": s.WorkspaceID, "name": s.Name, "mimetype": s.Mimetype, "size": s.Size, "public": s.Public,
		"createdBy": s.CreatedBy, "metadata": metadata,
	}
}

// File is a file as clients and events show it.
type File struct {
	ID           string     `json:"id" doc:"The file's id."`
	Name         string     `json:"name" doc:"Its name: without accents and anything that has a meaning in addresses."`
	URL          string     `json:"url" doc:"Where it is downloaded."`
	Mimetype     string     `json:"mimetype" doc:"Its media type, held against its content."`
	Size         int64      `json:"size" doc:"Its size in bytes."`
	WorkspaceID  string     `json:"workspaceId" doc:"The id of its workspace."`
	Path         string     `json:"path" doc:"The end of its address: {workspaceId}/{id}.{name}."`
	ExpiresAt    *time.Time `json:"expiresAt,omitempty" doc:"When it ends; never when absent."`
	ExpiresAfter int64      `json:"expiresAfter,omitempty" doc:"How many seconds it was given."`
	Metadata     Metadata   `json:"metadata,omitempty" doc:"What its uploader says of it."`
	Public       bool       `json:"public" doc:"Whether everybody who knows its address may read it."`
	ShareToken   string     `json:"shareToken,omitempty" doc:"Opens the file as ?token= in its address. Only shown to those who may change the file."`
	CreatedAt    time.Time  `json:"createdAt" doc:"When it was uploaded."`
	CreatedBy    string     `json:"createdBy" doc:"Who uploaded it; empty when nobody was signed in."`
	UpdatedAt    time.Time  `json:"updatedAt" doc:"When it was last changed."`
	UpdatedBy    string     `json:"updatedBy" doc:"Who changed it last."`
}

// Show gives the file as clients see it; its share token only to those who may change it.
func (f *Files) Show(s Stored, changes bool) File {
	shown := File{
		ID: s.ID, Name: s.Name, URL: f.address(s), Mimetype: s.Mimetype, Size: s.Size, WorkspaceID: s.WorkspaceID, Path: s.Path(),
		ExpiresAfter: s.ExpiresAfter, Metadata: s.Metadata, Public: s.Public,
		CreatedAt: s.CreatedAt, CreatedBy: s.CreatedBy, UpdatedAt: s.UpdatedAt, UpdatedBy: s.UpdatedBy,
	}
	if !s.ExpiresAt.IsZero() {
		shown.ExpiresAt = &s.ExpiresAt
	}
	if changes {
		shown.ShareToken = s.ShareToken
	}
	return shown
}

func (f *Files) address(s Stored) string {
	return f.Settings.URL + (&url.URL{Path: "/files/" + s.Path()}).EscapedPath()
}

// now is the time as it is stored, so that an answer shows what a later read will show.
func (f *Files) now() time.Time { return sqldb.Time(sqldb.Millis(f.Clock.Now())) }

// author names the caller as whoever changed something: a user by the id, a key by its own, nobody by nothing.
func author(ctx context.Context) string {
	caller := access.From(ctx)
	switch {
	case caller.UserID != "":
		return caller.UserID
	case caller.Kind == access.Nobody:
		return ""
	default:
		return caller.Key()
	}
}

// told is what events say of a file.
func (f *Files) told(what catalogue.Verb, s Stored) *catalogue.File {
	shown := f.Show(s, false)
	said := &catalogue.File{
		Verb: what, ID: shown.ID, Name: shown.Name, URL: shown.URL, Mimetype: shown.Mimetype, Size: shown.Size, WorkspaceID: shown.WorkspaceID,
		Path: shown.Path, ExpiresAt: shown.ExpiresAt, ExpiresAfter: shown.ExpiresAfter, Public: shown.Public,
		CreatedAt: shown.CreatedAt, CreatedBy: shown.CreatedBy, UpdatedAt: shown.UpdatedAt, UpdatedBy: shown.UpdatedBy,
	}
	if len(shown.Metadata) > 0 {
		said.Metadata = shown.Metadata
	}
	return said
}

// emit tells what happened to files, in the transaction in which it did. Share tokens are not told.
func (f *Files) emit(ctx context.Context, tx *sqldb.Tx, what catalogue.Verb, files ...Stored) error {
	records := make([]bus.Record, 0, len(files))
	for _, s := range files {
		record, err := envelope.Native(ctx, service, s.WorkspaceID, f.told(what, s))
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	if len(records) == 0 {
		return nil
	}
	_, err := f.Bus.AppendTx(ctx, tx, records...)
	return err
}
