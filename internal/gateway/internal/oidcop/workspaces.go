package oidcop

import (
	"context"
	"encoding/json"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// workspaceMetadata is what is kept of a workspace for its client.
type workspaceMetadata struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// workspaceClient is the client of a workspace's pages. Where pages have no host of their own, nobody can be sent back to it.
func (p *Provider) workspaceClient(id, workspace string, w workspaceMetadata) Client {
	c := Client{
		ID: id, Name: w.Name, FirstParty: true, AuthMethod: authNone, Workspace: workspace,
		GrantTypes: []string{grantCode}, Scopes: append(person(), access.PageScopes()...),
	}
	if p.deps.Config.PagesHost != "" {
		home := "http://" + w.Slug + p.deps.Config.PagesHost
		if p.deps.Config.Secure() {
			home = "https://" + w.Slug + p.deps.Config.PagesHost
		}
		c.RedirectURIs = []string{home + "/signin"}
		c.PostLogoutRedirectURIs = []string{home + "/signin", home + "/"}
	}
	return c
}

// Consume keeps a client for every workspace until ctx ends.
func (p *Provider) Consume(ctx context.Context) error {
	return p.deps.Bus.Consume(ctx, bus.Consumer{Name: "oidc-clients", FromStart: true, HandleTx: p.follow})
}

func (p *Provider) follow(ctx context.Context, tx *sqldb.Tx, events []bus.Event) error {
	done := bus.ErrIdle
	for _, event := range events {
		switch event.Type {
		case "workspaces.created", "workspaces.updated":
			done = p.followOne(ctx, tx, event)
		case "workspaces.deleted":
			done = p.forgetWorkspace(ctx, tx, event.WorkspaceID)
		default:
			continue
		}
		if done != nil {
			return done
		}
	}
	return done
}

// followOne makes or renews the client of a workspace. A new one is announced once.
func (p *Provider) followOne(ctx context.Context, tx *sqldb.Tx, event bus.Event) error {
	var said struct {
		Payload struct {
			Workspace workspaceMetadata `json:"workspace"`
		} `json:"payload"`
	}
	if err := json.Unmarshal(event.Body, &said); err != nil || said.Payload.Workspace.Slug == "" {
		return nil //nolint:nilerr // an event of another shape is nobody's workspace, today or tomorrow
	}
	text, err := json.Marshal(said.Payload.Workspace)
	if err != nil {
		return err
	}
	now := sqldb.Millis(p.now())
	renewed, err := tx.Exec(ctx, `UPDATE oidc_clients SET metadata = $1, updated_at = $2 WHERE workspace_id = $3`, string(text), now, event.WorkspaceID)
	if err != nil || renewed > 0 {
		return err
	}
	id := p.deps.IDs.UUID()
	if _, err := tx.Exec(ctx, `INSERT INTO oidc_clients (id, workspace_id, metadata, secret_hash, registration_hash, created_at, updated_at)
			VALUES ($1, $2, $3, '', '', $4, $4)`, id, event.WorkspaceID, string(text), now); err != nil {
		return err
	}
	if err := access.SetClient(ctx, tx, event.WorkspaceID, id); err != nil {
		return err
	}
	record, err := envelope.Native(ctx, "gateway", event.WorkspaceID, &catalogue.SecurityUpdated{
		Security: map[string]any{"authentication": map[string]any{"clientId": id}},
	})
	if err != nil {
		return err
	}
	_, err = p.deps.Bus.AppendTx(ctx, tx, record)
	return err
}

func (p *Provider) forgetWorkspace(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	c, err := p.readStored(ctx, tx, "workspace_id", workspaceID)
	if isBadClient(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return p.removeClient(ctx, tx, c.ID)
}

// removeClient forgets a client and revokes everything it was granted.
func (p *Provider) removeClient(ctx context.Context, tx *sqldb.Tx, id string) error {
	now := sqldb.Millis(p.now())
	for _, statement := range []string{
		`UPDATE oidc_grants SET revoked_at = $1 WHERE client_id = $2 AND revoked_at = 0`,
		`UPDATE oidc_tokens SET revoked_at = $1 WHERE revoked_at = 0 AND grant_id IN (SELECT id FROM oidc_grants WHERE client_id = $2)`,
	} {
		if _, err := tx.Exec(ctx, statement, now, id); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`DELETE FROM oidc_consents WHERE client_id = $1`, `DELETE FROM oidc_devices WHERE client_id = $1`, `DELETE FROM oidc_clients WHERE id = $1`,
	} {
		if _, err := tx.Exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}
