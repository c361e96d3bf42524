package access

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/maypok86/otter/v2"

	"atelier/internal/clock"
	"atelier/internal/ident"
	"atelier/internal/sqldb"
)

// Enforcer makes abilities. One serves a whole process: it remembers compiled documents by their content, and nothing
// about callers, so that whatever is changed holds for the next request.
type Enforcer struct {
	clock     clock.Clock
	ids       ident.Source
	documents *otter.Cache[documentKey, *document]
	reading   *otter.Cache[documentKey, *document] // what decides about reading the workspace
}

type documentKey struct{ workspaceID, digest string }

// NewEnforcer returns an enforcer.
func NewEnforcer(clk clock.Clock) *Enforcer {
	const most = 500_000
	memory := func() *otter.Cache[documentKey, *document] {
		return otter.Must(&otter.Options[documentKey, *document]{
			MaximumWeight: most,
			Weigher:       func(_ documentKey, d *document) uint32 { return d.weight() },
		})
	}
	return &Enforcer{clock: clk, documents: memory(), reading: memory()}
}

// weight is roughly the memory that a document takes: its rules, their values and the programs of regular expressions.
func (d *document) weight() uint32 {
	const base, bytes = 20, 64
	n := base + d.spent.operands + d.spent.instructions + d.spent.translated/bytes
	for _, rules := range d.rules {
		n += len(rules)
	}
	return uint32(n) //nolint:gosec // bounded by what a document may have
}

// Global is what the caller may do outside of every workspace: people may make one.
func (e *Enforcer) Global(ctx context.Context) *Ability {
	a := &Ability{caller: From(ctx), global: true}
	if a.caller.Kind == User && !a.caller.Pending {
		a.granted = map[string][]*rule{SubjectWorkspaces: {{
			ref: RuleRef{Source: FromRole, Role: RoleEveryone}, part: part{actions: []string{ActionCreate}, subject: SubjectWorkspaces},
		}}}
	}
	return a
}

// Load reads what the caller of ctx may do in a workspace. It fails only when the database does: of a workspace that does
// not exist, or that is not the caller's, the ability allows nothing.
func (e *Enforcer) Load(ctx context.Context, r sqldb.Reader, workspaceID string) (*Ability, error) {
	caller := From(ctx)
	switch caller.Kind {
	case Key:
		return e.loadKey(ctx, r, caller, workspaceID)
	case Internal:
		return &Ability{caller: caller, workspaceID: workspaceID}, nil
	default:
		return e.loadPerson(ctx, r, caller, workspaceID)
	}
}

// loadPerson reads what a user, a visitor or nobody may do.
func (e *Enforcer) loadPerson(ctx context.Context, r sqldb.Reader, caller Principal, workspaceID string) (*Ability, error) {
	if isParked(workspaceID) { // what is kept there is for Unpark, and gives nobody access
		a := &Ability{caller: caller, workspaceID: workspaceID, topics: topicsFrom(ctx), doc: compile(workspaceID, Security{})}
		a.take(nil)
		return a, nil
	}
	grants, err := grantsFor(ctx, r, caller, workspaceID)
	if err != nil {
		return nil, err
	}
	a := &Ability{caller: caller, workspaceID: workspaceID, topics: topicsFrom(ctx), exists: len(grants) > 0}
	if caller.UserID != "" && (caller.Kind == User || caller.Kind == Anonymous) {
		joined, err := Topics(ctx, r, workspaceID, caller.UserID)
		if err != nil {
			return nil, err
		}
		a.topics = append(slices.Clone(a.topics), joined...)
	}
	if caller.SuperAdmin && !a.exists {
		if a.exists, err = hasGrants(ctx, r, workspaceID); err != nil {
			return nil, err
		}
	}
	if a.doc, err = e.document(ctx, r, workspaceID); err != nil {
		return nil, err
	}
	a.take(grants)
	a.readTopics()
	a.readOwn()
	return a, nil
}

// take builds the ability from the document and the grants that are about the caller.
func (a *Ability) take(grants []ObjectGrant) {
	for _, g := range grants {
		switch {
		case g.Role == None || g.Target == superAdmins:
		case !g.onWorkspace():
			a.roleOnPage(g)
		default:
			a.hold(string(g.Role))
		}
	}
	if a.caller.SuperAdmin {
		a.roles = []string{RoleSuperAdmin}
	} else {
		a.assign()
	}
	for _, g := range grants {
		a.grant(g)
		a.note(g)
	}
	a.bind()
}

// note remembers the pages that everyone may read.
func (a *Ability) note(g ObjectGrant) {
	if g.SubjectType == SubjectPages && g.Target == Everyone && (g.Policies.Read || g.Role != None) {
		a.public = append(a.public, g.SubjectID)
	}
}

func (a *Ability) hold(role string) {
	bit, declared := a.doc.bits[role]
	if !declared || slices.Contains(a.roles, role) {
		return
	}
	a.held.add(bit)
	a.roles = append(a.roles, role)
}

// assign adds the roles that the caller's sign-in brings.
func (a *Ability) assign() {
	for i := range a.doc.assigned {
		by := &a.doc.assigned[i]
		data, ok := a.caller.AuthData[by.provider]
		if !ok {
			continue
		}
		if by.conditions.holdFor(Fields{"authData": data}) {
			a.hold(by.role)
		}
	}
}

func (a *Ability) roleOnPage(g ObjectGrant) {
	bit, declared := a.doc.bits[string(g.Role)]
	if !declared {
		return
	}
	id := scalar{kind: isText, text: g.SubjectID}
	for i := range a.onPages {
		if p := &a.onPages[i]; p.bit == bit {
			p.within[0].tests[0].list = append(p.within[0].tests[0].list, id)
			return
		}
	}
	a.onPages = append(a.onPages, pageRole{
		bit:    bit,
		within: conditions{{path: "id", tests: []test{{op: opIn, list: []scalar{id}}}}},
	})
}

// grant adds what sharing allows: each policy the action of its name, and every role reading.
func (a *Ability) grant(g ObjectGrant) {
	role := ""
	if name, ok := g.roleTarget(); ok {
		if !slices.Contains(a.roles, name) {
			return
		}
		role = name
	}
	actions := g.Policies.actions()
	if g.Role != None && !slices.Contains(actions, ActionRead) {
		actions = append(actions, ActionRead)
	}
	if len(actions) == 0 {
		return
	}
	r := &rule{ref: RuleRef{Source: FromGrant, Role: role}, part: part{actions: actions, subject: g.SubjectType}}
	r.bounds = compileForced(forced(g.SubjectType, a.workspaceID, false))
	if !g.onWorkspace() {
		r.written = map[string]any{"id": g.SubjectID}
		r.own = conditions{{path: "id", tests: []test{{op: opEq, value: scalar{kind: isText, text: g.SubjectID}}}}}
	}
	if a.granted == nil {
		a.granted = map[string][]*rule{}
	}
	a.granted[g.SubjectType] = append(a.granted[g.SubjectType], r)
}

// document gives the compiled document of a workspace; one without rules when none is stored.
func (e *Enforcer) document(ctx context.Context, r sqldb.Reader, workspaceID string) (*document, error) {
	var digest string
	err := r.QueryRow(ctx, `SELECT digest FROM access_security WHERE workspace_id = $1`, workspaceID).Scan(&digest)
	if err != nil && !sqldb.IsNotFound(err) {
		return nil, err
	}
	return e.compiled(ctx, r, documentKey{workspaceID, digest})
}

// compiled gives the compiled document with a digest, from memory when it is there.
func (e *Enforcer) compiled(ctx context.Context, r sqldb.Reader, key documentKey) (*document, error) {
	if key.digest == "" { // nothing is stored; asking again would take longer than for a workspace that exists
		return compile(key.workspaceID, Security{}), nil
	}
	if d, ok := e.documents.GetIfPresent(key); ok {
		return d, nil
	}
	stored, err := LoadSecurity(ctx, r, key.workspaceID)
	if err != nil {
		return nil, err
	}
	key.digest = stored.digest // it may have changed in between
	d := compile(key.workspaceID, stored.Security)
	if stored.digest != "" { // otherwise it was deleted meanwhile
		e.documents.Set(key, d)
	}
	return d, nil
}

// loadKey reads what an API key may do: what its rules say, in its own workspace, and nothing else.
func (e *Enforcer) loadKey(ctx context.Context, r sqldb.Reader, caller Principal, workspaceID string) (*Ability, error) {
	a := &Ability{caller: caller, workspaceID: workspaceID}
	if caller.KeyWorkspace != workspaceID || caller.KeyID == "" {
		return a, nil
	}
	key, err := keyByID(ctx, r, workspaceID, caller.KeyID)
	if sqldb.IsNotFound(err) || err == nil && !key.usable(e.clock.Now()) {
		a.refused = true
		return a, nil
	}
	if err != nil {
		return nil, err
	}
	if key.Role == "" {
		a.key = compileKey(workspaceID, key.Rules)
		return a, nil
	}
	if a.doc, err = e.document(ctx, r, workspaceID); err != nil {
		return nil, err
	}
	grants, err := grantsFor(ctx, r, caller, workspaceID)
	if err != nil {
		return nil, err
	}
	for _, g := range grants { // nothing is shared with a key, but its rules may ask what is shared with everyone
		a.note(g)
	}
	a.keyOnly = true
	a.hold(key.Role)
	a.bind()
	return a, nil
}

func compileKey(workspaceID string, rules []KeyRequestRule) map[string][]*rule {
	out := map[string][]*rule{}
	for i, written := range rules {
		for _, p := range parts(written.Action.All, written.Subject.All, workspaceID) {
			out[p.subject] = append(out[p.subject], &rule{
				ref: RuleRef{Source: FromKey, Index: &i}, part: p, bounds: compileForced(p.forced),
			})
		}
	}
	return out
}

// hasGrants tells whether a workspace exists: every one has an owner.
func hasGrants(ctx context.Context, r sqldb.Reader, workspaceID string) (bool, error) {
	var one int
	err := r.QueryRow(ctx, `SELECT 1 FROM access_grants WHERE subject_type = 'workspaces' AND subject_id = $1 LIMIT 1`, workspaceID).Scan(&one)
	if sqldb.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// grantsFor reads the grants of a workspace and its pages that may be about the caller. A role: grant is about whoever
// turns out to have the role. They are put in order here: SQLite would read the statement anew each time it runs, because its
// plan for an order depends on the values.
func grantsFor(ctx context.Context, r sqldb.Reader, caller Principal, workspaceID string) ([]ObjectGrant, error) {
	grants, err := sqldb.All(ctx, r, scanGrant, `SELECT `+grantColumns+` FROM access_grants
		WHERE workspace_id = $1 AND (target IN ($2, '*') OR target LIKE 'role:%')`, workspaceID, grantTarget(caller))
	slices.SortFunc(grants, func(a, b ObjectGrant) int {
		return cmp.Or(cmp.Compare(storedTarget(b.Target), storedTarget(a.Target)), cmp.Compare(a.SubjectType, b.SubjectType), cmp.Compare(a.SubjectID, b.SubjectID))
	})
	return grants, err
}

const grantColumns = `workspace_id, subject_type, subject_id, target, role, policies`

func scanGrant(rows *sql.Rows) (g ObjectGrant, err error) {
	var policies int64
	if err := rows.Scan(&g.WorkspaceID, &g.SubjectType, &g.SubjectID, &g.Target, &g.Role, &policies); err != nil {
		return g, fmt.Errorf("read a grant: %w", err)
	}
	g.Policies = policiesOf(policies)
	g.Target = shownTarget(g.Target)
	return g, nil
}
