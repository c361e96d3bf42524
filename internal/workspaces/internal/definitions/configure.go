package definitions

import (
	"context"
	"slices"

	"go.yaml.in/yaml/v3"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/dsul/splice"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// Configuring is a change of the configuration of a workspace, or of an app instance in it.
type Configuring struct {
	WorkspaceID string
	// Instance is the slug of the app instance; empty for the workspace itself.
	Instance string
	// Path is where in the configuration of the document the value is: empty, or the slugs of app instances inside the app.
	Path []string
	// Change makes what shall be written there of what is: undefined when nothing is.
	Change func(ctx context.Context, r sqldb.Reader, written any) (any, error)
}

// Configure changes a configuration for a service, on behalf of the workspace: what the caller may do is not asked. Events
// tell of it as of any other edit, and it is refused while somebody holds the write lock.
func (d *Definitions) Configure(ctx context.Context, tx *sqldb.Tx, c Configuring) error {
	kind, at := dsul.Index, []string{"config", "value"}
	if c.Instance != "" {
		kind, at = dsul.Import, append([]string{"config"}, c.Path...)
	}
	_, err := d.EditIn(ctx, tx, c.WorkspaceID, Purpose{Service: true}, func(ctx context.Context, e *Edit) error {
		if e.Workspace.Revision == 0 {
			return errs.Missing(access.SubjectWorkspaces, c.WorkspaceID)
		}
		before, err := e.Get(ctx, dsul.Path(kind, c.Instance))
		if err != nil {
			return err
		}
		if before == nil {
			return missing(dsul.Path(kind, c.Instance))
		}
		written, err := valueAt(before.Parsed, at)
		if err != nil {
			return err
		}
		wanted, err := c.Change(ctx, e.Tx, written)
		if err != nil {
			return err
		}
		doc, err := withValue(before.Parsed, at, written, wanted)
		if err != nil {
			return err
		}
		return e.Put(ctx, doc, before.Ext)
	})
	return err
}

// valueAt is what is written at a path of a document.
func valueAt(doc *dsul.Document, path []string) (any, error) {
	n := doc.Get(path...)
	if n == nil {
		return value.Undefined{}, nil
	}
	return value.Decode(string(dsul.JSON(n)))
}

// withValue is a document with another value at a path. Only what differs is written anew, so that the rest stays as it is
// written, comments included.
func withValue(doc *dsul.Document, path []string, before, after any) (*dsul.Document, error) {
	text, err := edited(doc.Text, path, before, after)
	if err != nil {
		return nil, misplaced(err, path...)
	}
	changed, problems := dsul.Parse(doc.Kind, doc.Slug, text)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return changed, checked(changed, Write{Kind: doc.Kind, YAML: true}, []string{path[0]})
}

// edited is a text with another value at a path.
func edited(text []byte, path []string, before, after any) ([]byte, error) {
	was, wasObject := before.(*value.Object)
	is, isObject := after.(*value.Object)
	switch {
	case value.DeepEqual(before, after):
		return text, nil
	case after == any(value.Undefined{}):
		return splice.Delete(text, path)
	case !wasObject || !isObject:
		return set(text, path, after)
	}
	var err error
	for key := range was.All() {
		if !is.Has(key) {
			if text, err = splice.Delete(text, append(slices.Clone(path), key)); err != nil {
				return nil, err
			}
		}
	}
	for key, v := range is.All() {
		if text, err = edited(text, append(slices.Clone(path), key), was.Get(key), v); err != nil {
			return nil, err
		}
	}
	return text, nil
}

// maxWritten is how many bytes of JSON a value may have that is written into a document; no document is larger.
const maxWritten = 1 << 20

func set(text []byte, path []string, v any) ([]byte, error) {
	n, err := nodeOf(v)
	if err != nil {
		return nil, err
	}
	return splice.Set(text, path, n)
}

// nodeOf makes a node of a value.
func nodeOf(v any) (*yaml.Node, error) {
	said, fits := value.JSON(v, "", maxWritten)
	if !fits {
		return nil, errs.Newf(errs.PayloadTooLarge, "A configuration has at most %d bytes; keep large data in a collection or a file.", maxWritten)
	}
	wrapped, problems := dsul.FromJSON(dsul.Index, "", []byte(`{"value":`+said+`}`))
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return wrapped.Get("value"), nil
}
