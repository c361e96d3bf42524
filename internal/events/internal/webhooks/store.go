package webhooks

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"math"
	"time"

	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// never is when nothing is due.
const never = math.MaxInt64

const subscriptionColumns = `id, workspace_id, url, description, types, filters, order_by, concurrency, signature, key_id, data_key, data,
	reader, since, state, reason, state_at, revision, created_at, created_by, updated_at, updated_by, failures, failing_since, retry_at, last_delivery`

type scanner interface{ Scan(into ...any) error }

func scanSubscription(row scanner) (s Subscription, err error) {
	var types, filters, who, last string
	var stateAt, createdAt, updatedAt, failingSince, retryAt int64
	err = row.Scan(&s.ID, &s.WorkspaceID, &s.URL, &s.Description, &types, &filters, &s.OrderBy, &s.Concurrency, &s.Signature,
		&s.sealed.KeyID, &s.sealed.Key, &s.sealed.Data, &who, &s.since, &s.State, &s.Reason, &stateAt, &s.revision,
		&createdAt, &s.CreatedBy, &updatedAt, &s.UpdatedBy, &s.failures, &failingSince, &retryAt, &last)
	if err != nil {
		return s, err
	}
	s.StateAt, s.CreatedAt, s.UpdatedAt = sqldb.Time(stateAt), sqldb.Time(createdAt), sqldb.Time(updatedAt)
	s.FailingSince, s.RetryAt = timeWhenSet(failingSince), timeWhenSet(retryAt)
	if last != "" {
		s.Last = &LastDelivery{}
		err = json.Unmarshal([]byte(last), s.Last)
	}
	return s, errors.Join(err, json.Unmarshal([]byte(types), &s.Types), json.Unmarshal([]byte(filters), &s.Filters), json.Unmarshal([]byte(who), &s.reader))
}

func timeWhenSet(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return sqldb.Time(ms)
}

func millisWhenSet(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return sqldb.Millis(t)
}

// find reads a subscription of a workspace; resource_not_found when there is none.
func find(ctx context.Context, r sqldb.Reader, workspaceID, id string) (Subscription, error) {
	s, err := scanSubscription(r.QueryRow(ctx, `SELECT `+subscriptionColumns+` FROM ev_subscriptions WHERE id = $1 AND workspace_id = $2`, id, workspaceID))
	if sqldb.IsNotFound(err) {
		return s, errs.Missing("subscriptions", id)
	}
	return s, err
}

func byID(ctx context.Context, r sqldb.Reader, id string) (Subscription, error) {
	return scanSubscription(r.QueryRow(ctx, `SELECT `+subscriptionColumns+` FROM ev_subscriptions WHERE id = $1`, id))
}

// list reads subscriptions of a workspace, the oldest first.
func list(ctx context.Context, r sqldb.Reader, workspaceID string, offset, limit int) ([]Subscription, error) {
	return sqldb.All(ctx, r, func(rows *sql.Rows) (Subscription, error) { return scanSubscription(rows) },
		`SELECT `+subscriptionColumns+` FROM ev_subscriptions WHERE workspace_id = $1 ORDER BY created_at, id LIMIT $2 OFFSET $3`, workspaceID, limit, offset)
}

func count(ctx context.Context, r sqldb.Reader, workspaceID string) (total int, err error) {
	err = r.QueryRow(ctx, `SELECT COUNT(*) FROM ev_subscriptions WHERE workspace_id = $1`, workspaceID).Scan(&total)
	return total, err
}

// touch counts a change of the subscriptions of a workspace. Until the commit no other change of them happens.
func touch(ctx context.Context, tx *sqldb.Tx, workspaceID string) error {
	_, err := tx.Exec(ctx, `INSERT INTO ev_subscription_sets (workspace_id, revision) VALUES ($1, 1)
		ON CONFLICT (workspace_id) DO UPDATE SET revision = ev_subscription_sets.revision + 1`, workspaceID)
	return err
}

// texts are the parts of a subscription that are stored as JSON.
func (s *Subscription) texts() (types, filters, who string, err error) {
	if s.Types == nil {
		s.Types = []string{}
	}
	parts := make([]string, 0, 3)
	for _, part := range []any{s.Types, s.Filters, s.reader} {
		text, err := json.Marshal(part)
		if err != nil {
			return "", "", "", err
		}
		parts = append(parts, string(text))
	}
	return parts[0], parts[1], parts[2], nil
}

// insert stores a new subscription.
func insert(ctx context.Context, tx *sqldb.Tx, s *Subscription) error {
	types, filters, who, err := s.texts()
	if err != nil {
		return err
	}
	digest, err := s.digest()
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO ev_subscriptions (id, workspace_id, digest, url, description, types, filters, order_by, concurrency, signature,
		key_id, data_key, data, reader, since, state, reason, state_at, revision, created_at, created_by, updated_at, updated_by,
		due_at, owner, fence, lease_until, failures, failing_since, retry_at, last_delivery)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, 1, $19, $20, $19, $20, $21, '', 0, 0, 0, 0, 0, '')`,
		s.ID, s.WorkspaceID, digest, s.URL, s.Description, types, filters, s.OrderBy, s.Concurrency, s.Signature,
		s.sealed.KeyID, s.sealed.Key, s.sealed.Data, who, s.since, s.State, s.Reason, sqldb.Millis(s.StateAt), sqldb.Millis(s.CreatedAt), s.CreatedBy, int64(never))
	return duplicate(err)
}

// replace stores a changed subscription. Its queue is looked at again, with a breaker that is as it says.
func replace(ctx context.Context, tx *sqldb.Tx, s *Subscription) error {
	types, filters, who, err := s.texts()
	if err != nil {
		return err
	}
	digest, err := s.digest()
	if err != nil {
		return err
	}
	s.revision++
	_, err = tx.Exec(ctx, `UPDATE ev_subscriptions SET digest = $1, url = $2, description = $3, types = $4, filters = $5, order_by = $6, concurrency = $7,
		key_id = $8, data_key = $9, data = $10, reader = $11, since = $12, state = $13, reason = $14, state_at = $15, revision = $16, updated_at = $17, updated_by = $18,
		failures = $19, failing_since = $20, retry_at = $21, due_at = $17 WHERE id = $22`,
		digest, s.URL, s.Description, types, filters, s.OrderBy, s.Concurrency, s.sealed.KeyID, s.sealed.Key, s.sealed.Data, who, s.since,
		s.State, s.Reason, sqldb.Millis(s.StateAt), s.revision, sqldb.Millis(s.UpdatedAt), s.UpdatedBy,
		s.failures, millisWhenSet(s.FailingSince), millisWhenSet(s.RetryAt), s.ID)
	return duplicate(err)
}

// duplicate refuses a second subscription that would send the same to the same address.
func duplicate(err error) error {
	if !sqldb.IsUnique(err) {
		return err
	}
	return errs.Invalid(errs.Field{Field: "url", Message: "there is a subscription already that sends the same events to this address; change that one"})
}
