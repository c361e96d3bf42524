package service

import (
	"context"
	"slices"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/clock"
	"atelier/internal/dsul/assembly"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/errs"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
	"atelier/internal/vault"
	"atelier/internal/workspaces/internal/apps"
	"atelier/internal/workspaces/internal/assemble"
	"atelier/internal/workspaces/internal/definitions"
	"atelier/internal/workspaces/internal/door"
	"atelier/internal/workspaces/internal/secrets"
)

// DefinitionsDeps is what Definitions need. There is no service among it: whoever has the database has the definitions.
type DefinitionsDeps struct {
	DB     *sqldb.DB
	Bus    bus.Log
	Clock  clock.Clock
	IDs    ident.Source
	Access *access.Enforcer
	// Vault opens the secrets of workspaces; Environ gives the environment variables that begin with a prefix, by the rest of
	// their names.
	Vault   *vault.Vault
	Environ func(prefix string) map[string]string
	// EventMaxLen is the largest event, in characters.
	EventMaxLen int
}

// Definitions are workspaces as they run, for the service that runs them. They act on behalf of a workspace: what a caller may
// do is not asked.
type Definitions struct {
	db     *sqldb.DB
	kept   *definitions.Definitions
	reader *assemble.Reader
}

// NewDefinitions makes them.
func NewDefinitions(deps DefinitionsDeps) *Definitions {
	entrance := &door.Door{Access: deps.Access}
	kept := &definitions.Definitions{
		DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Access: deps.Access, Door: entrance, EventMaxLen: deps.EventMaxLen,
	}
	sealed := &secrets.Secrets{DB: deps.DB, Bus: deps.Bus, Clock: deps.Clock, IDs: deps.IDs, Door: entrance, Vault: deps.Vault, Environ: deps.Environ}
	kept.References = references{secrets: sealed, Apps: &apps.Apps{DB: deps.DB, Access: deps.Access, Definitions: kept}}
	return &Definitions{db: deps.DB, kept: kept, reader: &assemble.Reader{Secrets: sealed, Environ: deps.Environ}}
}

// Stamp tells whether anything has changed of which a tree of these apps is made: it differs from the tree's own then. It is
// one query. A workspace that does not exist is resource_not_found; one in the bin does.
func (d *Definitions) Stamp(ctx context.Context, workspaceID string, of []string) (assembly.Stamp, error) {
	return assemble.Stamp(ctx, d.db, workspaceID, of)
}

// Load reads a workspace with everything that it is made of.
func (d *Definitions) Load(ctx context.Context, workspaceID string) (*assembly.Tree, error) {
	return d.reader.Tree(ctx, d.db, workspaceID)
}

// SetConfig changes the configuration of a workspace or, when instance names one, of an app instance: the slugs from the
// outermost one inwards. It gives the whole configuration as it is then, which apply makes of the one before; path is not
// needed for that. Only what differs is written into the definition, and what stands there as {{secret.name}} stays so.
func (d *Definitions) SetConfig(ctx context.Context, tx *sqldb.Tx, workspaceID string, instance, _ []string, apply func(old any) (any, error)) (after any, err error) {
	change := definitions.Configuring{WorkspaceID: workspaceID}
	if len(instance) > 0 {
		change.Instance, change.Path = instance[0], instance[1:]
	}
	change.Change = func(ctx context.Context, r sqldb.Reader, written any) (any, error) {
		before, err := d.config(ctx, r, workspaceID, instance)
		if err != nil {
			return nil, err
		}
		if after, err = apply(before); err != nil {
			return nil, err
		}
		if _, object := after.(*value.Object); !object {
			return nil, errs.Invalid(errs.Field{Field: "config", Message: "a configuration is an object; set a key of it"})
		}
		if value.DeepEqual(before, after) {
			return written, nil
		}
		if !value.Exists(written) {
			written = value.NewObject(0)
		}
		return assembly.Rewrite(written, before, after), nil
	}
	err = d.kept.Configure(ctx, tx, change)
	return after, err
}

// config is the configuration of the workspace or of an app instance in it, with everything put in.
func (d *Definitions) config(ctx context.Context, r sqldb.Reader, workspaceID string, instance []string) (*value.Object, error) {
	tree, err := d.reader.Configuration(ctx, r, workspaceID)
	if err != nil {
		return nil, err
	}
	place, config := tree.Root, tree.Root.Root()
	for _, slug := range instance {
		i := slices.IndexFunc(place.Instances, func(p *assembly.Place) bool { return p.Instance == slug })
		if i < 0 {
			return nil, errs.Missing(access.SubjectApps, slug)
		}
		place = place.Instances[i]
		config = place.Under(config)
	}
	return config.Value, nil
}
