package definitions

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/dsul"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
	"atelier/internal/workspaces"
)

// fact is something that happened to a document.
type fact = catalogue.Payload

// tell stores the events of the changes.
func (e *Edit) tell(ctx context.Context) error {
	var records []bus.Record
	for _, c := range e.changes {
		if e.moves(c.path) && c.after == nil {
			continue // told with the new path
		}
		facts, err := e.facts(ctx, c)
		if err != nil {
			return err
		}
		for _, f := range facts {
			record, err := e.d.record(ctx, e.Workspace.ID, f)
			if err != nil {
				return err
			}
			records = append(records, record)
		}
	}
	return e.d.append(ctx, e.Tx, records...)
}

func (d *Definitions) append(ctx context.Context, tx *sqldb.Tx, records ...bus.Record) error {
	if len(records) == 0 {
		return nil
	}
	_, err := d.Bus.AppendTx(ctx, tx, records...)
	return err
}

// record makes an event. What makes it too large is left out: whoever needs it reads the document.
func (d *Definitions) record(ctx context.Context, workspaceID string, f fact) (bus.Record, error) {
	record, err := envelope.NativeFrom(ctx, service, workspaceID, f, originOf(f))
	if err != nil || !d.tooLarge(record) {
		return record, err
	}
	short, err := catalogue.Short(f, small)
	if err != nil {
		return record, err
	}
	return envelope.NativeFrom(ctx, service, workspaceID, short, originOf(f))
}

// originOf is the app instance that an event is about, so that it can be found without reading what the event says.
func originOf(f fact) (from envelope.Origin) {
	switch f := f.(type) {
	case *catalogue.AppInstance:
		from.AppSlug, from.AppInstanceFullSlug = f.AppSlug, f.Slug
	case *catalogue.AppUninstalled:
		from.AppSlug, from.AppInstanceFullSlug = f.AppSlug, f.Slug
	}
	return from
}

// small is how much of JSON never makes an event too large.
const small = 2000

// Emit stores an event of the service in a transaction.
func (d *Definitions) Emit(ctx context.Context, tx *sqldb.Tx, workspaceID string, payload catalogue.Payload) error {
	record, err := d.record(ctx, workspaceID, payload)
	if err != nil {
		return err
	}
	return d.append(ctx, tx, record)
}

// audit stores the event of a security-relevant act of the caller.
func (d *Definitions) audit(ctx context.Context, tx *sqldb.Tx, workspaceID string, act envelope.Act) error {
	record, err := envelope.Audit(ctx, service, workspaceID, act)
	if err != nil {
		return err
	}
	if d.tooLarge(record) { // whoever needs it reads what it is about
		short, err := catalogue.Short(act.Payload, small)
		if err != nil {
			return err
		}
		if record, err = envelope.Native(ctx, service, workspaceID, short); err != nil {
			return err
		}
	}
	return d.append(ctx, tx, record)
}

// tooLarge tells that an event has more characters than events may have.
func (d *Definitions) tooLarge(record bus.Record) bool {
	return d.EventMaxLen > 0 && utf8.RuneCount(record.Body) > d.EventMaxLen
}

// facts are the events of one change.
func (e *Edit) facts(ctx context.Context, c *change) ([]fact, error) {
	kind, slug, _ := dsul.SplitPath(c.path)
	_, oldSlug, _ := dsul.SplitPath(c.renamed)
	made := c.before == nil && c.renamed == ""
	switch kind {
	case dsul.Automation:
		return e.automationFacts(c, slug, oldSlug, made), nil
	case dsul.Page:
		return e.pageFacts(c, slug, oldSlug, made), nil
	case dsul.Import:
		return e.importFacts(ctx, c, slug, oldSlug)
	case dsul.Index:
		return e.indexFacts(c), nil
	case dsul.Security: // told when the rules were replaced
		return nil, nil
	default:
		return nil, nil
	}
}

func (e *Edit) automationFacts(c *change, slug, oldSlug string, made bool) []fact {
	if c.after == nil {
		return []fact{&catalogue.AutomationDeleted{AutomationSlug: slug}}
	}
	return []fact{&catalogue.Automation{
		Verb: createdOr(made), Slug: slug, OldSlug: oldSlug, Automation: whole(c.after), Events: c.after.Summary().Events,
	}}
}

func (e *Edit) pageFacts(c *change, slug, oldSlug string, made bool) []fact {
	if c.after == nil {
		return []fact{&catalogue.PageDeleted{PageSlug: slug}}
	}
	return []fact{&catalogue.Page{
		Verb: createdOr(made), PageID: c.stored.ObjectID, Slug: slug, OldSlug: oldSlug, Page: whole(c.after), Events: c.after.Summary().Events,
	}}
}

// indexFacts tells of the workspace itself, and of the parts of its index that others listen to.
func (e *Edit) indexFacts(c *change) []fact {
	w := e.Workspace
	updated := &catalogue.WorkspaceUpdated{Workspace: Facts(w)}
	if e.before.Slug != w.Slug {
		updated.OldSlug = e.before.Slug
	}
	facts := []fact{updated}
	before, after := c.beforeText, c.after
	if changed(before, after, "config") {
		facts = append(facts, &catalogue.WorkspaceConfigured{Config: configOf(after, before), OldConfig: configOf(before, after)})
	}
	if changed(before, after, "blocks") {
		facts = append(facts, &catalogue.BlocksUpdated{Blocks: part(after, "blocks"), WorkspaceSlug: w.Slug})
	}
	if changed(before, after, "events") {
		facts = append(facts, &catalogue.EventsUpdated{Events: part(after, "events")})
	}
	return facts
}

// Facts is what events say of a workspace.
func Facts(w workspaces.Workspace) catalogue.Workspace {
	return catalogue.Workspace{ID: w.ID, Slug: w.Slug, Name: w.Name, Description: Description(w), Labels: w.Labels, Photo: w.Photo}
}

// Ref names a workspace in events.
func Ref(w workspaces.Workspace) catalogue.WorkspaceRef {
	return catalogue.WorkspaceRef{ID: w.ID, Slug: w.Slug, Name: w.Name}
}

// Description is that of a workspace as clients see it: a text, or texts by language.
func Description(w workspaces.Workspace) any {
	if w.Localized {
		return json.RawMessage(w.Description)
	}
	return w.Description
}

// SecurityUpdated is the act of replacing a security document; there is nothing before that of a new workspace.
func SecurityUpdated(workspaceID string, before any, after access.Security) envelope.Act {
	return envelope.Act{
		TargetType: access.SubjectWorkspaces, TargetID: workspaceID,
		Before: before, After: after, Payload: &catalogue.SecurityUpdated{Security: after},
	}
}

func createdOr(made bool) catalogue.Verb {
	if made {
		return catalogue.Created
	}
	return catalogue.Updated
}

// whole is a document as events say it.
func whole(doc *dsul.Document) json.RawMessage {
	text, err := doc.JSON()
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// part is one key of a document as events say it.
func part(doc *dsul.Document, key string) json.RawMessage {
	if doc == nil || doc.Get(key) == nil {
		return json.RawMessage("null")
	}
	return dsul.JSON(doc.Get(key))
}

func changed(before, after *dsul.Document, key string) bool {
	return string(part(before, key)) != string(part(after, key))
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
