package files

import (
	"context"
	"errors"
	"io"
	"strings"

	"atelier/internal/access"
	"atelier/internal/blob"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
)

// Seen is a file and whether the caller may change it, and so see its share token.
type Seen struct {
	Stored

	Changes bool
}

// Get reads a file of a workspace that the caller may read. It is named by its id or its path.
func (f *Files) Get(ctx context.Context, ref, file string) (Seen, error) {
	v, s, err := f.find(ctx, f.DB, ref, file, access.ActionRead)
	if err != nil {
		return Seen{}, err
	}
	return f.seen(v, s), nil
}

func (f *Files) seen(v *door.Visit, s Stored) Seen {
	return Seen{Stored: s, Changes: v.Ability.Decide(access.ActionUpdate, access.SubjectFiles, s.fields()).Allowed}
}

// find looks up a file of a workspace for a caller that may do something with it. Whoever has no business in the workspace
// is not told whether the file exists.
func (f *Files) find(ctx context.Context, r sqldb.Reader, ref, file, action string) (*door.Visit, Stored, error) {
	v, err := f.Door.Visit(ctx, r, ref)
	if err != nil {
		return nil, Stored{}, err
	}
	s, err := byID(ctx, r, idOf(v.Workspace.ID, file))
	if sqldb.IsNotFound(err) || err == nil && (s.WorkspaceID != v.Workspace.ID || file != s.ID && file != s.Path() || s.expired(f.Clock.Now())) {
		return nil, Stored{}, missing(v, file, action)
	}
	if err != nil {
		return nil, Stored{}, err
	}
	if action == access.ActionRead {
		return v, s, readable(v, s)
	}
	return v, s, v.CheckObject(action, access.SubjectFiles, s.fields())
}

// idOf is the id in a name of a file: the id itself, or {workspaceId}/{id}.{name}.
func idOf(workspaceID, file string) string {
	rest, isPath := strings.CutPrefix(file, workspaceID+"/")
	if !isPath {
		return file
	}
	id, _, _ := strings.Cut(rest, ".")
	return id
}

// missing is the answer about a file that does not exist.
func missing(v *door.Visit, file, action string) error {
	if v.Ability.Decide(action, access.SubjectFiles, nil).Allowed && v.Workspace.Revision != 0 {
		return errs.Missing(access.SubjectFiles, file)
	}
	if err := v.Ability.CheckVisible(); err != nil {
		return v.AsNamed(err)
	}
	return errs.Missing(access.SubjectFiles, file)
}

// readable refuses a caller that may not read the file. A public one is everybody's to read, unless a rule denies it.
func readable(v *door.Visit, s Stored) error {
	if decision := v.Ability.Decide(access.ActionRead, access.SubjectFiles, s.fields()); s.Public && decision.Rule == nil && v.Workspace.Revision != 0 {
		return nil
	}
	return v.CheckObject(access.ActionRead, access.SubjectFiles, s.fields())
}

// Download is a file that is about to be sent.
type Download struct {
	Stored

	// Linked tells that a token opened it.
	Linked bool

	files *Files
}

// Open finds the file at a path for a caller that may read it, or that has a token that opens it. One that does not exist
// is resource_not_found for everybody: nothing about the workspace can be learnt from that.
func (f *Files) Open(ctx context.Context, path, token string) (*Download, error) {
	gone := errs.New(errs.NotFound, "There is no such file, or not any more.")
	_, name, _ := strings.Cut(path, "/")
	id, _, _ := strings.Cut(name, ".")
	s, err := byID(ctx, f.DB, id)
	if sqldb.IsNotFound(err) || err == nil && (s.Path() != path || s.expired(f.Clock.Now())) {
		return nil, gone
	}
	if err != nil {
		return nil, err
	}
	v, err := f.Door.Visit(ctx, f.DB, s.WorkspaceID)
	if err != nil {
		return nil, err
	}
	if v.Workspace.Revision == 0 {
		return nil, gone
	}
	opened := &Download{Stored: s, Linked: f.opens(s, token), files: f}
	if !opened.Linked {
		if err := readable(v, s); err != nil {
			return nil, err
		}
	}
	info, err := f.Blobs.Stat(ctx, s.Hash)
	if err == nil && info.Size != s.Size {
		err = blob.ErrCorrupt
	}
	return opened, errs.Wrap(err, "find the content of a file")
}

// Content reads the bytes. The reader works as long as ctx does; the caller closes it.
func (d *Download) Content(ctx context.Context) *Content {
	return &Content{ctx: ctx, blobs: d.files.Blobs, hash: d.Hash, size: d.Size}
}

// Content reads the bytes of a file from any place. They are opened when they are first read, there.
type Content struct {
	ctx    context.Context //nolint:containedctx // the reader's interface has no other place for it
	blobs  blob.Store
	hash   string
	size   int64
	offset int64
	open   io.ReadCloser
	failed error
}

// Failed is why the bytes could not be read to their end; nil when they could.
func (c *Content) Failed() error { return c.failed }

// Read implements io.Reader.
func (c *Content) Read(p []byte) (int, error) {
	if c.open == nil {
		opened, err := c.blobs.Open(c.ctx, c.hash, c.offset, -1)
		if err != nil {
			c.failed = err
			return 0, err
		}
		c.open = opened
	}
	n, err := c.open.Read(p)
	c.offset += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}

// Seek implements io.Seeker.
func (c *Content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.offset
	case io.SeekEnd:
		offset += c.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of a content")
	}
	if offset == c.offset {
		return offset, nil
	}
	c.offset = offset
	return offset, c.Close()
}

// Close implements io.Closer.
func (c *Content) Close() error {
	if c.open == nil {
		return nil
	}
	err := c.open.Close()
	c.open = nil
	return err
}
