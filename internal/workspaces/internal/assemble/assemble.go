// Package assemble reads everything that a workspace is made of when it runs. It is for services, on behalf of the workspace:
// no caller is checked.
package assemble

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/dsul"
	"atelier/internal/dsul/assembly"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces"
	"atelier/internal/workspaces/internal/secrets"
	"atelier/internal/workspaces/internal/store"
)

// Reader reads workspaces as they run.
type Reader struct {
	Secrets *secrets.Secrets
	// Environ gives the environment variables that begin with a prefix, by the rest of their names; nil when there are none.
	Environ func(prefix string) map[string]string
}

// Stamp tells whether anything has changed of which a tree with these apps is made. It is one query. For a workspace that
// does not exist it is resource_not_found.
func Stamp(ctx context.Context, r sqldb.Reader, workspaceID string, apps []string) (assembly.Stamp, error) {
	mark, err := markOf(ctx, r, workspaceID, apps)
	return stampOf(mark), err
}

func markOf(ctx context.Context, r sqldb.Reader, workspaceID string, apps []string) (store.Mark, error) {
	mark, err := store.MarkOf(ctx, r, workspaceID, apps)
	if sqldb.IsNotFound(err) {
		err = errs.Missing(access.SubjectWorkspaces, workspaceID)
	}
	return mark, err
}

func stampOf(m store.Mark) assembly.Stamp {
	return assembly.Stamp{
		Workspace: fmt.Sprintf("%d/%d/%d/%s/%s/%s", m.Revision, m.SuspendedAt, m.DeletedAt, m.Slug, m.Name, m.SuspendedReason),
		Secrets:   m.Secrets, Apps: sorted(strings.Split(m.Apps, ",")), Registry: m.Registry,
	}
}

// sorted puts marks together in an order that no database has a say in.
func sorted(marks []string) string {
	slices.Sort(marks)
	return strings.Join(marks, ",")
}

// Tree reads a workspace with everything in it. The stamp is read first: what changes while the rest is read differs from it,
// so that whoever compares finds out.
func (a *Reader) Tree(ctx context.Context, r sqldb.Reader, workspaceID string) (*assembly.Tree, error) {
	return a.tree(ctx, r, workspaceID, true)
}

// Configuration is Tree without the automations.
func (a *Reader) Configuration(ctx context.Context, r sqldb.Reader, workspaceID string) (*assembly.Tree, error) {
	return a.tree(ctx, r, workspaceID, false)
}

func (a *Reader) tree(ctx context.Context, r sqldb.Reader, workspaceID string, automations bool) (*assembly.Tree, error) {
	mark, err := markOf(ctx, r, workspaceID, nil)
	if err != nil {
		return nil, err
	}
	tree := &assembly.Tree{
		ID: workspaceID, Slug: mark.Slug, Name: mark.Name, Suspended: mark.SuspendedAt != 0, SuspendedReason: mark.SuspendedReason,
		Deleted: mark.DeletedAt != 0, Root: &assembly.Place{}, Registry: registry(mark.Registry),
	}
	if err := a.secretsOf(ctx, r, tree); err != nil {
		return nil, err
	}
	parts, err := store.Parts(ctx, r, workspaceID, automations)
	if err != nil {
		return nil, err
	}
	w := &walk{reader: a, r: r, tree: tree, automations: automations, versions: map[use]*version{}, marks: map[string]string{}}
	tree.Root.Environment = a.environ("WORKSPACE_CONFIG_" + mark.Slug + "_")
	if err := w.fill(ctx, tree.Root, w.parse("", parts), nil); err != nil {
		return nil, err
	}
	tree.Apps, mark.Apps = w.apps()
	tree.Stamp = stampOf(mark)
	return tree, nil
}

// secretsOf reads the secrets of the workspace.
func (a *Reader) secretsOf(ctx context.Context, r sqldb.Reader, tree *assembly.Tree) error {
	w := workspaces.Workspace{ID: tree.ID, Slug: tree.Slug}
	values, err := a.Secrets.Values(ctx, r, w)
	if err != nil {
		return err
	}
	system, err := a.Secrets.System(ctx, r, w)
	if err != nil {
		return err
	}
	tree.Root.Secrets, tree.System = revealed(values), revealed(system)
	return nil
}

func revealed(values map[string]vault.Secret) assembly.Texts {
	texts := make(assembly.Texts, len(values))
	for name, value := range values {
		texts[name] = value.Reveal()
	}
	return texts
}

// environ is what the operator gives; an empty variable is not set.
func (a *Reader) environ(prefix string) map[string]string {
	given := map[string]string{}
	if a.Environ == nil {
		return given
	}
	for name, text := range a.Environ(prefix) {
		if name != "" && text != "" {
			given[name] = text
		}
	}
	return given
}

// registry reads the lines of a mark: slug, id and name.
func registry(text string) (all []assembly.Registered) {
	for line := range strings.SplitSeq(text, "\n") {
		slug, rest, ok := strings.Cut(line, "/")
		id, name, _ := strings.Cut(rest, "/")
		if ok {
			all = append(all, assembly.Registered{Slug: slug, ID: id, Name: name})
		}
	}
	return all
}

// split sorts documents by their kind.
func split(documents []*dsul.Document, into *assembly.Place) {
	for _, doc := range documents {
		switch doc.Kind {
		case dsul.Index:
			into.Index = doc
		case dsul.Automation:
			into.Automations = append(into.Automations, assembly.Automation{Slug: doc.Slug, Text: doc.Text})
		case dsul.Import:
			into.Imports = append(into.Imports, doc)
		case dsul.Page, dsul.Security:
		}
	}
}
