package files

import (
	"context"
	"maps"
	"slices"

	"atelier/internal/access"
	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/restapi"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces/internal/door"
)

// Update changes what is said of a file. ifMatch, when given, is the revision the caller has seen; another one is refused
// with 412. A change that changes nothing is not one: no revision, no event.
func (f *Files) Update(ctx context.Context, ref, file, ifMatch string, o Options) (changed Seen, err error) {
	err = f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, before, err := f.find(ctx, tx, ref, file, access.ActionUpdate)
		if err != nil {
			return err
		}
		if err := restapi.CheckIfMatch(ifMatch, restapi.ETag(before.Revision)); err != nil {
			return err
		}
		after := before
		after.UpdatedAt = f.now()
		if err := after.apply(o); err != nil {
			return err
		}
		if len(changes(before, after)) == 0 {
			changed = f.seen(v, before)
			return nil
		}
		changed.Stored, err = f.save(ctx, tx, v, before, after)
		changed.Changes = true
		return err
	})
	return changed, err
}

// Replacement is another content for a file, on its way.
type Replacement struct {
	files     *Files
	ref, file string
	name      string
	arrived   Stored
}

// BeginReplace opens the replacement of the content of a file that the caller may change. The file's name, and so its
// address, stay.
func (f *Files) BeginReplace(ctx context.Context, ref, file string) (*Replacement, error) {
	_, s, err := f.find(ctx, f.DB, ref, file, access.ActionUpdate)
	if err != nil {
		return nil, err
	}
	return &Replacement{files: f, ref: ref, file: file, name: s.Name}, nil
}

// Add stores the bytes. An error of in.Content comes back as it is.
func (r *Replacement) Add(ctx context.Context, in Incoming) error {
	in.Name = r.name
	arrived, body, err := r.files.inspect(in)
	if err == nil {
		err = r.files.allowed(in.Field, arrived.Mimetype)
	}
	if err == nil {
		err = r.files.store(ctx, &arrived, in.Field, body)
	}
	r.arrived = arrived
	return err
}

// Commit gives the file the bytes. Those that it has already change nothing.
func (r *Replacement) Commit(ctx context.Context) (changed Seen, err error) {
	f := r.files
	err = f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		v, before, err := f.find(ctx, tx, r.ref, r.file, access.ActionUpdate)
		if err != nil {
			return err
		}
		after := before
		after.Hash, after.Size, after.Mimetype = r.arrived.Hash, r.arrived.Size, r.arrived.Mimetype
		if len(changes(before, after)) == 0 {
			changed = f.seen(v, before)
			return nil
		}
		if changed.Stored, err = f.save(ctx, tx, v, before, after); err != nil {
			return err
		}
		changed.Changes = true
		return f.release(ctx, tx, before)
	})
	return changed, err
}

// save stores a changed file as its next revision, for a caller that may change each of its fields, and that may change the
// file that it becomes.
func (f *Files) save(ctx context.Context, tx *sqldb.Tx, v *door.Visit, before, after Stored) (Stored, error) {
	for _, field := range changes(before, after) {
		if err := v.AsNamed(v.Ability.CheckField(access.ActionUpdate, access.SubjectFiles, field, before.fields())); err != nil {
			return after, err
		}
	}
	if err := v.CheckObject(access.ActionUpdate, access.SubjectFiles, after.fields()); err != nil {
		return after, err
	}
	after.Revision++
	after.UpdatedAt, after.UpdatedBy = f.now(), author(ctx)
	if err := update(ctx, tx, after); err != nil {
		return after, err
	}
	return after, f.emit(ctx, tx, catalogue.Updated, after)
}

// changes names the fields in which two states of a file differ.
func changes(a, b Stored) (fields []string) {
	for _, field := range []struct {
		name string
		same bool
	}{
		{"content", a.Hash == b.Hash},
		{"mimetype", a.Mimetype == b.Mimetype},
		{"public", a.Public == b.Public},
		{"shareToken", a.ShareToken == b.ShareToken},
		{"metadata", maps.EqualFunc(a.Metadata, b.Metadata, slices.Equal)},
		{"expiresAfter", a.ExpiresAfter == b.ExpiresAfter && a.ExpiresAt.Equal(b.ExpiresAt)},
	} {
		if !field.same {
			fields = append(fields, field.name)
		}
	}
	return fields
}

// Delete removes a file and gives its id. Its bytes follow later, when nothing else needs them.
func (f *Files) Delete(ctx context.Context, ref, file string) (id string, err error) {
	err = f.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		_, s, err := f.find(ctx, tx, ref, file, access.ActionDelete)
		if err != nil {
			return err
		}
		id = s.ID
		removed, err := remove(ctx, tx, s.ID)
		if err != nil {
			return err
		}
		if !removed { // by another request, just now
			return errs.Missing(access.SubjectFiles, file)
		}
		if err := f.release(ctx, tx, s); err != nil {
			return err
		}
		return f.emit(ctx, tx, catalogue.Deleted, s)
	})
	return id, err
}
