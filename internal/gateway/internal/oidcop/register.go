package oidcop

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/errs"
	"atelier/internal/gateway/internal/identity"
	"atelier/internal/sqldb"
)

// registered is the answer to a registration. The client's secret is in it once, when it is made.
type registered struct {
	metadata
	ID                string `json:"client_id"`
	IssuedAt          int64  `json:"client_id_issued_at"`
	Secret            string `json:"client_secret,omitempty"`            //nolint:gosec // shown once
	SecretExpires     *int64 `json:"client_secret_expires_at,omitempty"` // zero means never
	RegistrationToken string `json:"registration_access_token,omitempty"`
	RegistrationURI   string `json:"registration_client_uri"`
}

// register makes a client for whoever holds the initial token.
func (p *Provider) register(w http.ResponseWriter, r *http.Request) {
	made, err := p.newClient(w, r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	answer(w, http.StatusCreated, made)
}

func (p *Provider) newClient(w http.ResponseWriter, r *http.Request) (made registered, err error) {
	initial := p.deps.Config.RegistrationToken.Reveal()
	if initial == "" {
		return made, &failure{Code: "access_denied", Description: "Registration is closed; the operator opens it with OIDC_CLIENT_REGISTRATION_TOKEN.", status: http.StatusForbidden}
	}
	if subtle.ConstantTimeCompare([]byte(hashOf(bearer(r))), []byte(hashOf(initial))) != 1 {
		return made, badToken()
	}
	if made.metadata, err = p.readMetadata(w, r, ""); err != nil {
		return made, err
	}
	now := p.now()
	made.ID, made.IssuedAt, made.RegistrationToken = p.deps.IDs.UUID(), now.Unix(), p.deps.IDs.Secret()
	made.RegistrationURI = p.at("/oidc/reg/" + made.ID)
	if made.AuthMethod != authNone {
		made.Secret, made.SecretExpires = p.deps.IDs.Secret(), new(int64)
	}
	return made, p.storeClient(r.Context(), made, now)
}

func (p *Provider) storeClient(ctx context.Context, made registered, now time.Time) error {
	text, err := json.Marshal(made.metadata)
	if err != nil {
		return err
	}
	return p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO oidc_clients (id, metadata, secret_hash, registration_hash, created_at, updated_at)
				VALUES ($1, $2, $3, $4, $5, $5)`,
			made.ID, string(text), hashOf(made.Secret), hashOf(made.RegistrationToken), sqldb.Millis(now)); err != nil {
			return err
		}
		return p.auditClient(ctx, tx, catalogue.Created, made.ID, nil, made.metadata)
	})
}

func (p *Provider) auditClient(ctx context.Context, tx *sqldb.Tx, what catalogue.Verb, id string, before, after any) error {
	return p.deps.Identity.Audit(ctx, tx, identity.Act{Payload: &catalogue.Client{Verb: what}, TargetType: "clients", TargetID: id, Before: before, After: after})
}

// owned finds the registered client of a request, for whoever holds its registration token. An unknown client, and one that
// did not register, look like a wrong token.
func (p *Provider) owned(ctx context.Context, q sqldb.Reader, r *http.Request) (registered, error) {
	var text, hash string
	var created int64
	found := registered{ID: r.PathValue("clientId")}
	err := q.QueryRow(ctx, `SELECT metadata, registration_hash, created_at FROM oidc_clients WHERE id = $1 AND workspace_id IS NULL`, found.ID).
		Scan(&text, &hash, &created)
	if err != nil && !sqldb.IsNotFound(err) {
		return found, err
	}
	if err != nil || subtle.ConstantTimeCompare([]byte(hashOf(bearer(r))), []byte(hash)) != 1 {
		return found, badToken()
	}
	found.IssuedAt, found.RegistrationURI = sqldb.Time(created).Unix(), p.at("/oidc/reg/"+found.ID)
	found.RegistrationToken = bearer(r) // the standard wants it back
	return found, json.Unmarshal([]byte(text), &found.metadata)
}

// readClient shows a client what it registered, without its secret, of which only the hash is kept.
func (p *Provider) readClient(w http.ResponseWriter, r *http.Request) {
	found, err := p.owned(r.Context(), p.deps.DB, r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	answer(w, http.StatusOK, found)
}

// replaceClient replaces what a client registered. How it proves itself stays as it is.
func (p *Provider) replaceClient(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	before, err := p.owned(ctx, p.deps.DB, r)
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	after := before
	if after.metadata, err = p.readMetadata(w, r, before.ID); err == nil && after.AuthMethod != before.AuthMethod {
		err = fail("invalid_client_metadata", "token_endpoint_auth_method cannot be changed; register another client.")
	}
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	err = p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		text, err := json.Marshal(after.metadata)
		if err != nil {
			return err
		}
		changed, err := tx.Exec(ctx, `UPDATE oidc_clients SET metadata = $1, updated_at = $2 WHERE id = $3`, string(text), sqldb.Millis(p.now()), after.ID)
		if err != nil {
			return err
		}
		if changed == 0 {
			return badToken()
		}
		return p.auditClient(ctx, tx, catalogue.Updated, after.ID, before.metadata, after.metadata)
	})
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	answer(w, http.StatusOK, after)
}

// deleteClient removes a client and everything it was granted.
func (p *Provider) deleteClient(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	err := p.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		found, err := p.owned(ctx, tx, r)
		if err != nil {
			return err
		}
		if err := p.removeClient(ctx, tx, found.ID); err != nil {
			return err
		}
		return p.auditClient(ctx, tx, catalogue.Deleted, found.ID, found.metadata, nil)
	})
	if err == nil {
		err = p.deps.Revocations.Refresh(ctx)
	}
	if err != nil {
		p.refuse(w, r, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// readMetadata reads what a client says of itself. id is the client that is replaced, empty for a new one.
func (p *Provider) readMetadata(w http.ResponseWriter, r *http.Request, id string) (metadata, error) {
	var body struct {
		metadata
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"` //nolint:gosec // sent by some clients, ignored
	}
	if err := readJSON(w, r, &body); err != nil {
		if own, ok := errors.AsType[*errs.Error](err); ok && own.Status() == http.StatusUnprocessableEntity {
			return metadata{}, fail("invalid_client_metadata", own.Message)
		}
		return metadata{}, err
	}
	if body.ID != id {
		return metadata{}, fail("invalid_client_metadata", "client_id is given by the provider; send it only to replace that client.")
	}
	m := body.metadata
	m.fill()
	return m, m.check(!p.deps.Config.Secure())
}
