package contexts

import (
	"cmp"
	"context"
	"time"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// key names a context of the run for who acts now. Who has no session is known by the account, and who has neither by the
// request.
func (s *scopes) key(root string) key {
	who := s.Identity()
	k := key{workspaceID: s.run.Root.WorkspaceID, kind: root}
	switch root {
	case rootRun:
		k.id = s.run.CorrelationID
	case rootUser:
		k.id = cmp.Or(who.UserID, who.SessionID, s.run.CorrelationID)
	case rootSession:
		k.id = cmp.Or(who.SessionID, who.UserID, s.run.CorrelationID)
	case rootSocket:
		k.id = cmp.Or(s.run.SocketID, who.SessionID, who.UserID, s.run.CorrelationID)
	}
	return k
}

// lifetime is when a context expires that is saved now; the zero time is never.
func (s *scopes) lifetime(ctx context.Context, root string) (time.Time, error) {
	settings, now := s.store.deps.Settings, s.store.deps.Clock.Now()
	switch root {
	case rootRun:
		return now.Add(settings.Run), nil
	case rootSocket:
		return now.Add(settings.Socket), nil
	case rootGlobal:
		return time.Time{}, nil
	}
	who, err := s.who(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if root == rootUser && who.principal.Kind == access.User {
		return time.Time{}, nil
	}
	switch {
	case who.ends.After(now): // an account that passes, or a session
		return who.ends, nil
	case who.principal.Kind == access.User:
		return now.Add(settings.Session), nil
	default:
		return now.Add(settings.Unauthenticated), nil
	}
}

// switches tells that a change is one of who acts: set user.id or session.id.
func switches(change machine.Change) bool {
	return (change.Root == rootUser || change.Root == rootSession) && len(change.Path) == 1 && change.Path[0] == "id" && change.Kind != changeDelete
}

// become makes somebody else act for the rest of the run. It holds for variables and for the source of events; what the
// automation asks of the platform, it asks for the caller.
func (s *scopes) become(ctx context.Context, root string, id any) error {
	text, ok := id.(string)
	if !ok || text == "" {
		return machine.Fail(machine.InvalidInstruction, "Set "+root+".id to a text: the id of who acts from here on.")
	}
	now := s.Identity()
	if root == rootUser && now.UserID == text || root == rootSession && now.SessionID == text {
		return nil
	}
	next := access.Principal{Kind: access.User, UserID: text}
	if root == rootSession {
		known, err := s.holder(ctx, text)
		if err != nil {
			return err
		}
		next = known
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.identity, s.switched, s.person = next, true, nil
	return nil
}

// holder gives who has a session. Of a session that nobody knows, the account is called the same. Nobody gets the power of a
// super admin from it.
func (s *scopes) holder(ctx context.Context, sessionID string) (access.Principal, error) {
	found, ends, err := s.store.deps.People.Session(ctx, s.store.deps.DB, sessionID)
	if errs.CodeOf(err) == errs.NotFound || err == nil && !ends.After(s.store.deps.Clock.Now()) {
		return access.Principal{Kind: access.Anonymous, UserID: sessionID, SessionID: sessionID}, nil
	}
	return access.Principal{Kind: found.Kind, UserID: found.UserID, SessionID: sessionID, AuthData: found.AuthData}, err
}

// person is what is known of who acts. It does not change.
type person struct {
	principal access.Principal
	// ends is when the session, or an account that passes, does; zero when it is not known.
	ends time.Time
	// user and session are what is computed of these contexts.
	user, session object
}

// who gives what is known of who acts now.
func (s *scopes) who(ctx context.Context) (*person, error) {
	s.mu.Lock()
	known, p, switched := s.person, s.identity, s.switched
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	made, err := s.lookUp(ctx, p, switched)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.person == nil && s.identity.UserID == p.UserID && s.identity.SessionID == p.SessionID {
		s.person = made
	}
	return made, nil
}

// lookUp reads what is known of somebody.
func (s *scopes) lookUp(ctx context.Context, p access.Principal, switched bool) (*person, error) {
	deps := s.store.deps
	made := &person{principal: p, ends: passes(p)}
	if p.SessionID != "" && made.ends.IsZero() {
		_, ends, err := deps.People.Session(ctx, deps.DB, p.SessionID)
		if err != nil && errs.CodeOf(err) != errs.NotFound {
			return nil, err
		}
		made.ends = ends
	}
	var role string
	if p.UserID != "" || p.Kind == access.Key {
		ability, err := deps.Access.Load(access.With(ctx, p), deps.DB, s.run.Root.WorkspaceID)
		if err != nil {
			return nil, err
		}
		role = ability.Role()
	}
	// Whom an automation names is shown only if the workspace has to do with it already: ids must not become addresses.
	if switched && p.SessionID == "" && role != "" {
		found, err := deps.People.Principal(ctx, deps.DB, p.UserID)
		if err != nil && errs.CodeOf(err) != errs.NotFound {
			return nil, err
		}
		p.AuthData = found.AuthData
	}
	made.user, made.session = computedUser(p, role), s.computedSession(p, switched)
	return made, nil
}

// passes is when an account ends that was made for a visitor; zero for others.
func passes(p access.Principal) time.Time {
	if p.Kind != access.Anonymous {
		return time.Time{}
	}
	text, _ := p.AuthData["anonymous"]["expiresAt"].(string)
	ends, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return ends
}

// expiry is how the end of a context is stored.
func expiry(ends time.Time) int64 {
	if ends.IsZero() {
		return 0
	}
	return sqldb.Millis(ends)
}
