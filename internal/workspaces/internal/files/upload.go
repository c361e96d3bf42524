package files

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"atelier/internal/access"
	"atelier/internal/blob"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
)

// Incoming is a file that is being uploaded.
type Incoming struct {
	// Field is where it is in the form, for messages.
	Field string
	// Name and Type are what the uploader says.
	Name, Type string
	Content    io.Reader
	// Options are those that are known by now.
	Options Options
}

// Options are what an uploader may say of a file. A nil field is left as it is, or as it is by default.
type Options struct {
	Public *bool
	// ExpiresAfter is in seconds; 0 means never.
	ExpiresAfter *int64
	// ShareToken is the token itself; empty means none.
	ShareToken *string
	Metadata   *Metadata
}

// Batch is the files of one upload. Their bytes are stored as they come; the files themselves exist when all of them do.
type Batch struct {
	files *Files
	ref   string
	visit *door.Visit
	all   []Stored
}

// Begin opens an upload into a workspace.
func (f *Files) Begin(ctx context.Context, ref string) (*Batch, error) {
	v, err := f.Door.Visit(ctx, f.DB, ref)
	if err != nil {
		return nil, err
	}
	return &Batch{files: f, ref: ref, visit: v}, nil
}

// Len is how many files there are so far.
func (b *Batch) Len() int { return len(b.all) }

// Add stores the bytes of the next file, unless it is certain that the caller may not upload it: what is said about files
// only after their bytes is looked at by Commit. An error of in.Content comes back as it is.
func (b *Batch) Add(ctx context.Context, in Incoming) error {
	s, body, err := b.files.inspect(in)
	if err != nil {
		return err
	}
	s.ID, s.WorkspaceID, s.CreatedBy = b.files.IDs.File(), b.visit.Workspace.ID, author(ctx)
	if in.Options.Metadata != nil {
		s.Metadata = *in.Options.Metadata
	}
	if err := b.admits(s, in.Options.Public); err != nil {
		return err
	}
	if err := b.files.allowed(in.Field, s.Mimetype); err != nil {
		return err
	}
	if err := b.files.store(ctx, &s, in.Field, body); err != nil {
		return err
	}
	b.all = append(b.all, s)
	return nil
}

// admits refuses a file that the caller may not upload, whether it is to be public or not, as long as that is not known.
func (b *Batch) admits(s Stored, public *bool) (refusal error) {
	choices := []bool{!b.files.Settings.Private, b.files.Settings.Private}
	if public != nil {
		choices = []bool{*public}
	}
	for i, choice := range choices {
		s.Public = choice
		err := b.visit.CheckObject(access.ActionCreate, access.SubjectFiles, s.fields())
		if err == nil {
			return nil
		}
		if i == 0 {
			refusal = err
		}
	}
	return refusal
}

// inspect names a file and tells its type, from its beginning. The body gives all of it.
func (f *Files) inspect(in Incoming) (Stored, io.Reader, error) {
	body := bufio.NewReaderSize(in.Content, sniffed)
	head, err := body.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return Stored{}, nil, err
	}
	name := cleanName(in.Name)
	return Stored{Name: name, Mimetype: mediaType(in.Type, name, head)}, body, nil
}

// allowed refuses types that the operator does not want.
func (f *Files) allowed(field, kind string) error {
	if f.Settings.allows(kind) {
		return nil
	}
	return errs.Invalid(errs.Field{Field: field, Message: fmt.Sprintf("files of the type %s are not taken here; allowed: %s", kind, strings.Join(f.Settings.Allowed, ", "))})
}

// store keeps the bytes of a file.
func (f *Files) store(ctx context.Context, s *Stored, field string, body io.Reader) error {
	info, err := f.put(ctx, body)
	if errors.Is(err, blob.ErrTooLarge) {
		return errs.Newf(errs.PayloadTooLarge, "A file is too large; the limit is %d bytes.", f.Settings.MaxSize).With("limit", f.Settings.MaxSize).With("field", field)
	}
	s.Hash, s.Size = info.Hash, info.Size
	return err
}

// Commit makes the files, with what was said of each, in one transaction: all of them, or none.
func (b *Batch) Commit(ctx context.Context, options []Options) ([]Stored, error) {
	f := b.files
	made := make([]Stored, 0, len(b.all))
	err := f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		made = made[:0]
		v, err := f.Door.Visit(ctx, tx, b.ref)
		if err != nil {
			return err
		}
		for i, s := range b.all {
			s.WorkspaceID, s.Public, s.Metadata = v.Workspace.ID, !f.Settings.Private, Metadata{}
			s.CreatedAt, s.Revision = f.now(), 1
			s.UpdatedAt, s.UpdatedBy = s.CreatedAt, s.CreatedBy
			if err := s.apply(options[i]); err != nil {
				return err
			}
			if err := v.CheckObject(access.ActionCreate, access.SubjectFiles, s.fields()); err != nil {
				return err
			}
			if err := insert(ctx, tx, s); err != nil {
				return err
			}
			made = append(made, s)
		}
		return f.emit(ctx, tx, catalogue.Uploaded, made...)
	})
	return made, err
}

// longestLife is how long a file that ends may live: ten years.
const longestLife = 10 * 365 * 24 * 60 * 60

// apply changes what was said of a file. UpdatedAt must be the time of the change.
func (s *Stored) apply(o Options) error {
	if o.Public != nil {
		s.Public = *o.Public
	}
	if o.ShareToken != nil {
		s.ShareToken = *o.ShareToken
	}
	if o.Metadata != nil {
		s.Metadata = *o.Metadata
	}
	if o.ExpiresAfter == nil {
		return nil
	}
	if *o.ExpiresAfter < 0 || *o.ExpiresAfter > longestLife {
		return errs.Invalid(errs.Field{Field: "expiresAfter", Message: fmt.Sprintf("give seconds, from 1 to %d, or 0 for never", longestLife)})
	}
	s.ExpiresAfter, s.ExpiresAt = *o.ExpiresAfter, time.Time{}
	if s.ExpiresAfter > 0 {
		s.ExpiresAt = s.UpdatedAt.Add(time.Duration(s.ExpiresAfter) * time.Second)
	}
	return nil
}
