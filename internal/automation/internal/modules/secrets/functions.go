package secrets

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"atelier/internal/access"
	"atelier/internal/automation/internal/machine"
	"atelier/internal/automation/internal/modules/params"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

const (
	maxName  = 200
	maxValue = 64 << 10
	// maxTTL is the longest time to live, in seconds: ten years.
	maxTTL = 10 * 365 * 24 * 3600
	// mostOwned is how many secrets one user, or the workspace as a whole, may have.
	mostOwned = 1000
	// reserved begins the names that are the platform's own.
	reserved = "svc_"
)

// Set is {name, value, scope, ttl}: it keeps a value, for so many seconds when there is a ttl, and gives a reference to it.
func (s *Secrets) Set(ctx context.Context, once Once, who Actor, parameters *value.Object) (any, error) {
	p := params.Read("secrets.set", parameters)
	k := readKey(p, who)
	secret, ttl := p.Data("value", maxValue), p.Int("ttl", 0, 1, maxTTL)
	if secret == "" {
		p.Refuse("value", "is empty; delete the secret instead")
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	if k.scope == scopeUser && k.owner == "" {
		return userRequired(), nil
	}
	may, err := s.rights(ctx, who, k)
	if err != nil {
		return nil, err
	}
	_, err = once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		exists, err := s.exists(ctx, tx, k)
		if err != nil {
			return nil, err
		}
		if !may.set(exists) {
			return nil, forbidden(k)
		}
		if err := s.room(ctx, tx, k, exists); err != nil {
			return nil, err
		}
		return true, s.put(ctx, tx, k, secret, int64(ttl))
	})
	if err != nil {
		return nil, err
	}
	return s.refer(who, k)
}

// Get is {name, scope}: a reference to a value that was kept, or {error: not_found}.
func (s *Secrets) Get(ctx context.Context, who Actor, parameters *value.Object) (any, error) {
	p := params.Read("secrets.get", parameters)
	k := readKey(p, who)
	if err := p.Err(); err != nil {
		return nil, err
	}
	if k.scope == scopeUser && k.owner == "" {
		return userRequired(), nil
	}
	may, err := s.rights(ctx, who, k)
	if err != nil {
		return nil, err
	}
	if !may.use {
		return nil, forbidden(k)
	}
	exists, err := s.exists(ctx, s.deps.DB, k)
	if err != nil {
		return nil, err
	}
	if !exists {
		return machine.Payload("error", "not_found"), nil
	}
	return s.refer(who, k)
}

// Delete is {name, scope}: {deleted}, which tells whether there was such a secret.
func (s *Secrets) Delete(ctx context.Context, once Once, who Actor, parameters *value.Object) (any, error) {
	p := params.Read("secrets.delete", parameters)
	k := readKey(p, who)
	if err := p.Err(); err != nil {
		return nil, err
	}
	if k.scope == scopeUser && k.owner == "" {
		return userRequired(), nil
	}
	may, err := s.rights(ctx, who, k)
	if err != nil {
		return nil, err
	}
	if !may.remove {
		return nil, forbidden(k)
	}
	removed, err := once(func(ctx context.Context, tx *sqldb.Tx) (any, error) {
		return s.remove(ctx, tx, k)
	})
	if err != nil {
		return nil, err
	}
	return machine.Payload("deleted", removed), nil
}

// readKey reads {name, scope}.
func readKey(p *params.Reader, who Actor) key {
	k := key{workspaceID: who.WorkspaceID, space: who.Space, scope: p.OneOf("scope", scopeUser, scopeWorkspace), name: p.Text("name", maxName)}
	if k.scope == scopeUser {
		k.owner = who.Caller.UserID
	}
	switch {
	case k.name == "" || !utf8.ValidString(k.name) || strings.ContainsFunc(k.name, unicode.IsControl):
		p.Refuse("name", "must be a text of 1 to %d characters that can be seen", maxName)
	case strings.HasPrefix(k.name, reserved):
		p.Refuse("name", "must not begin with %s; those names are the platform's own", reserved)
	}
	return k
}

func userRequired() any { return machine.Payload("error", "user_required") }

func forbidden(k key) error {
	return machine.Fail(machine.Forbidden, "Secrets of the whole workspace are for its editors; a rule on secure_secrets opens some to others.").
		With(machine.Payload("name", k.name, "scope", k.scope))
}

// rights are what a caller may do with a secret.
type rights struct{ create, update, use, remove bool }

func (r rights) set(exists bool) bool {
	if exists {
		return r.update
	}
	return r.create
}

// rights asks what a caller may do. Users have all rights on what is theirs. What belongs to the workspace is for its editors, and
// for whom a rule lets write it: they may use it too, for it is named after them.
func (s *Secrets) rights(ctx context.Context, who Actor, k key) (rights, error) {
	every := rights{create: true, update: true, use: true, remove: true}
	if k.scope == scopeUser || who.Scheduled {
		return every, nil
	}
	ability, err := s.deps.Access.Load(access.With(ctx, who.Caller), s.deps.DB, k.workspaceID)
	if err != nil {
		return rights{}, err
	}
	if isEditor(ability) {
		return every, nil
	}
	object := access.Fields{"workspaceId": k.workspaceID, "name": k.name, "scope": k.scope}
	r := rights{
		create: ability.Decide(access.ActionCreate, access.SubjectSecureSecrets, object).Allowed,
		update: ability.Decide(access.ActionUpdate, access.SubjectSecureSecrets, object).Allowed,
	}
	r.use = r.create || r.update
	return r, nil
}

func isEditor(ability *access.Ability) bool {
	if ability.IsOwner() {
		return true
	}
	for _, role := range ability.Roles() {
		if role == string(access.Editor) || role == string(access.Owner) {
			return true
		}
	}
	return false
}

// room refuses a new secret when there are too many.
func (s *Secrets) room(ctx context.Context, tx *sqldb.Tx, k key, exists bool) error {
	if exists {
		return nil
	}
	owned, all, err := count(ctx, tx, k)
	if err != nil {
		return err
	}
	limit := mostOwned
	if owned < limit {
		limit = s.deps.Most
	}
	if owned >= mostOwned || all >= s.deps.Most {
		return machine.Fail(machine.QuotaExceeded, "There are too many secrets; delete those that are not used any more, or give them a ttl.").
			With(machine.Payload("limit", float64(limit)))
	}
	return nil
}
