package secrets

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"atelier/internal/access"
	"atelier/internal/httpx"
	"atelier/internal/vault"
)

// Prefix begins a reference. What follows is of [A-Za-z0-9_-].
const Prefix = "$secret:"

// reference is what a reference says, sealed for the workspace: which secret, who may use it, and until when. It holds no value, so
// that a secret that is deleted or replaced is so for references too.
type reference struct {
	Space       string `json:"s,omitempty"`
	Scope       string `json:"c"`
	Owner       string `json:"o,omitempty"`
	Name        string `json:"n"`
	Correlation string `json:"r,omitempty"`
	User        string `json:"u,omitempty"`
	Until       int64  `json:"t"`
}

// refer makes a reference that the run, or the user, can use for some minutes.
func (s *Secrets) refer(who Actor, k key) (any, error) {
	plain, err := json.Marshal(reference{
		Space: k.space, Scope: k.scope, Owner: k.owner, Name: k.name, Correlation: who.CorrelationID, User: who.Caller.UserID,
		Until: s.now() + life.Milliseconds(),
	})
	if err != nil {
		return nil, err
	}
	sealed, err := s.deps.Vault.Seal(referencePlace(k.workspaceID), plain)
	if err != nil {
		return nil, fmt.Errorf("seal a reference: %w", err)
	}
	packed, err := json.Marshal([]string{sealed.KeyID, sealed.Key, sealed.Data})
	if err != nil {
		return nil, err
	}
	return Prefix + base64.RawURLEncoding.EncodeToString(packed), nil
}

func referencePlace(workspaceID string) string { return "runtime/secret references/" + workspaceID }

// Reveal gives the value that a reference stands for, to a fetch. It is false for what is no reference, or none any more: it is too
// old, or of another workspace, or of another run that another user started, or its secret is gone.
func (s *Secrets) Reveal(ctx context.Context, ref, workspaceID string) (string, bool, error) {
	r, ok := s.read(ref, workspaceID)
	if !ok || s.now() > r.Until {
		return "", false, nil
	}
	sameRun := r.Correlation != "" && r.Correlation == httpx.InfoFrom(ctx).CorrelationID
	sameUser := r.User != "" && r.User == access.From(ctx).UserID
	if !sameRun && !sameUser {
		return "", false, nil
	}
	return s.open(ctx, key{workspaceID: workspaceID, space: r.Space, scope: r.Scope, owner: r.Owner, name: r.Name})
}

// read opens a reference; false when it was not made here for this workspace.
func (s *Secrets) read(ref, workspaceID string) (r reference, ok bool) {
	const longest = 8 << 10
	text, ok := strings.CutPrefix(ref, Prefix)
	if !ok || len(text) > longest {
		return r, false
	}
	packed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return r, false
	}
	var parts []string
	const count = 3 // as refer packs them
	if err := json.Unmarshal(packed, &parts); err != nil || len(parts) != count {
		return r, false
	}
	plain, err := s.deps.Vault.Open(referencePlace(workspaceID), vault.Sealed{KeyID: parts[0], Key: parts[1], Data: parts[2]})
	if err != nil || json.Unmarshal(plain, &r) != nil {
		return r, false
	}
	return r, true
}
