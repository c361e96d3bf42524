package access

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// StoredSecurity is the security document of a workspace as it was written, and what it means.
type StoredSecurity struct {
	Security
	Document  []byte
	Revision  int64
	UpdatedAt time.Time
	UpdatedBy string

	digest string
}

// LoadSecurity reads the document of a workspace; one that says nothing when there is none.
func LoadSecurity(ctx context.Context, r sqldb.Reader, workspaceID string) (s StoredSecurity, err error) {
	var document, client string
	var updated int64
	err = r.QueryRow(ctx, `SELECT document, digest, revision, updated_at, updated_by, client_id FROM access_security WHERE workspace_id = $1`,
		workspaceID).Scan(&document, &s.digest, &s.Revision, &updated, &s.UpdatedBy, &client)
	if sqldb.IsNotFound(err) {
		return StoredSecurity{}, nil
	}
	if err != nil {
		return StoredSecurity{}, err
	}
	s.Document, s.UpdatedAt = []byte(document), sqldb.Time(updated)
	if s.Security, err = ParseSecurity(s.Document); err != nil {
		// Not the caller's mistake: it was valid when it was stored.
		return StoredSecurity{}, errs.New(errs.Internal, "The security document of the workspace cannot be read. Quote the correlation id when you report it.").Because(err)
	}
	s.Authentication = nil // which client the pages have is not for the document to say
	if client != "" {
		s.Authentication = &Authentication{ClientID: client}
	}
	return s, nil
}

// SetClient notes the OpenID Connect client of a workspace's pages.
func SetClient(ctx context.Context, tx *sqldb.Tx, workspaceID, clientID string) error {
	_, err := tx.Exec(ctx, `UPDATE access_security SET client_id = $1 WHERE workspace_id = $2`, clientID, workspaceID)
	return err
}

// SecurityChange replaces the security document of a workspace. Workspace gives the fields of the workspace itself, for
// rules with conditions on it.
type SecurityChange struct {
	WorkspaceID string
	Document    []byte
	Workspace   Object
}

// SaveSecurity replaces the document for the caller of ctx, who has been allowed to manage_security. It refuses a document
// that is not valid; one that drops a role somebody still has; one after which the caller could not change it back, or the
// owners could not govern their workspace; and one that gives anybody a right that the caller does not have.
func (e *Enforcer) SaveSecurity(ctx context.Context, tx *sqldb.Tx, change SecurityChange) (StoredSecurity, error) {
	sec, err := ParseSecurity(change.Document)
	if err != nil {
		return StoredSecurity{}, err
	}
	if err := lockSecurity(ctx, tx, change.WorkspaceID); err != nil {
		return StoredSecurity{}, err
	}
	if err := e.mayReplace(ctx, tx, change.WorkspaceID, sec); err != nil {
		return StoredSecurity{}, err
	}
	if err := keepsRoles(ctx, tx, change.WorkspaceID, sec); err != nil {
		return StoredSecurity{}, err
	}
	stored, err := e.store(ctx, tx, change.WorkspaceID, change.Document, sec)
	if err != nil {
		return StoredSecurity{}, err
	}
	return stored, e.keepsAccess(ctx, tx, change)
}

// keepsAccess refuses a document, already stored, that locks the caller or the owners out.
func (e *Enforcer) keepsAccess(ctx context.Context, tx *sqldb.Tx, change SecurityChange) error {
	caller, err := e.Load(ctx, tx, change.WorkspaceID)
	if err != nil {
		return err
	}
	if action := caller.lacks(change.Workspace, ActionManageSecurity, ActionManagePermissions); action != "" {
		return lockout("With these rules you could not change them again; keep " + action + " on workspaces for yourself.")
	}
	doc, err := e.document(ctx, tx, change.WorkspaceID)
	if err != nil {
		return err
	}
	return ownersKeep(ctx, tx, doc, change.Workspace)
}

func (e *Enforcer) mayReplace(ctx context.Context, tx *sqldb.Tx, workspaceID string, sec Security) error {
	caller, err := e.Load(ctx, tx, workspaceID)
	if err != nil {
		return err
	}
	before, err := e.document(ctx, tx, workspaceID)
	if err != nil {
		return err
	}
	public, err := publicRoles(ctx, tx, workspaceID)
	if err != nil {
		return err
	}
	return caller.mayReplace(before, compile(workspaceID, sec), public)
}

// InitSecurity stores the default document of a new workspace.
func (e *Enforcer) InitSecurity(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	document := DefaultSecurity()
	sec, err := ParseSecurity(document)
	if err != nil {
		return err
	}
	_, err = e.store(ctx, tx, workspaceID, document, sec)
	return err
}

// lockSecurity holds off others who change the same document, so that each is compared with what it replaces.
func lockSecurity(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	_, err := tx.Exec(ctx, `UPDATE access_security SET revision = revision WHERE workspace_id = $1`, workspaceID)
	return err
}

func (e *Enforcer) store(ctx context.Context, tx *sqldb.Tx, workspaceID string, document []byte, sec Security) (StoredSecurity, error) {
	sum := sha256.Sum256(document)
	s := StoredSecurity{
		Security: sec, Document: document, UpdatedAt: sqldb.Time(sqldb.Millis(e.clock.Now())), UpdatedBy: From(ctx).Key(),
		digest: hex.EncodeToString(sum[:]),
	}
	err := tx.QueryRow(ctx, `INSERT INTO access_security (workspace_id, document, digest, revision, updated_at, updated_by, opens_reading, reading)
		VALUES ($1, $2, $3, 1, $4, $5, $6, $7)
		ON CONFLICT (workspace_id) DO UPDATE SET document = excluded.document, digest = excluded.digest,
			revision = access_security.revision + 1, updated_at = excluded.updated_at, updated_by = excluded.updated_by,
			opens_reading = excluded.opens_reading, reading = excluded.reading
		RETURNING revision`,
		workspaceID, string(document), s.digest, sqldb.Millis(s.UpdatedAt), s.UpdatedBy, opensReading(sec), sec.readingPart().text()).Scan(&s.Revision)
	if err != nil {
		return StoredSecurity{}, err
	}
	return s, e.keepRoleKeys(ctx, tx, workspaceID, sec)
}

// opensReading is 1 when the document can decide about reading the workspace otherwise than grants do: by a rule that
// denies it, or that allows it to everyone or to a role that people have by their sign-in. A rule that allows it to a role
// that is given does not count, because every role that is given allows reading.
func opensReading(sec Security) int64 {
	if editor, _ := sec.role(string(Editor)); len(editor.Auth) > 0 {
		return 1 // the template lets editors read
	}
	for _, r := range sec.rules() {
		if !r.reads() {
			continue
		}
		if r.Inverted || r.Role.IsZero() || slices.ContainsFunc(r.Role.All, func(name string) bool {
			spec, _ := sec.role(name)
			return len(spec.Auth) > 0
		}) {
			return 1
		}
	}
	return 0
}

// keepsRoles refuses to drop a role that is still given to somebody, or through which something is shared.
func keepsRoles(ctx context.Context, tx *sqldb.Tx, workspaceID string, sec Security) error {
	grants, err := sqldb.All(ctx, tx, scanGrant, `SELECT `+grantColumns+` FROM access_grants
		WHERE workspace_id = $1 AND (role NOT IN ('', 'owner', 'editor') OR target LIKE 'role:%')`, workspaceID)
	if err != nil {
		return err
	}
	for _, g := range grants {
		name := string(g.Role)
		if shared, ok := g.roleTarget(); ok {
			name = shared
		}
		if spec, declared := sec.role(name); name == RoleSuperAdmin || name == string(Editor) || name == string(Owner) || declared && !spec.ForAutomations() {
			continue
		}
		return errs.Newf(errs.Conflict, "The role %q is still assigned; take it from everybody, and end what is shared with it, before you remove it.", name).
			With("role", name)
	}
	return nil
}
