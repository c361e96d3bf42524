package webhooks

import (
	"context"
	"net/http"
	"time"

	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/errs"
	"atelier/internal/sqldb"
)

// service is how events name where they come from.
const service = "events"

// Create makes a subscription. It begins with the next event of the workspace, and reads as the caller: what the caller may
// not read, it does not send. Its secrets are in the answer, and nowhere afterwards.
func (w *Webhooks) Create(ctx context.Context, ref string, draft Draft) (Subscription, error) {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return Subscription{}, err
	}
	s, c, err := w.drafted(v, draft)
	if err != nil {
		return Subscription{}, err
	}
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := touch(ctx, tx, v.workspaceID); err != nil {
			return err
		}
		total, err := count(ctx, tx, v.workspaceID)
		if err != nil {
			return err
		}
		if total >= maxSubscriptions {
			return errs.Newf(errs.QuotaExceeded, "A workspace has at most %d subscriptions; delete one first.", maxSubscriptions).
				WithStatus(http.StatusUnprocessableEntity).With("limit", maxSubscriptions)
		}
		if s.since, err = w.tell(ctx, tx, &s, catalogue.Created); err != nil {
			return err
		}
		return insert(ctx, tx, &s)
	})
	s.Secrets = c.secrets()
	return s, err
}

// drafted checks a draft and makes it a subscription.
func (w *Webhooks) drafted(v *visit, draft Draft) (s Subscription, c content, err error) {
	caller, now := v.ability.Principal(), w.time()
	s = Subscription{
		ID: w.IDs.UUID(), WorkspaceID: v.workspaceID, URL: draft.URL, Description: draft.Description, Types: draft.Types, Filters: draft.Filters,
		OrderBy: draft.OrderBy, Concurrency: draft.Concurrency, Signature: draft.Signature, State: Active, StateAt: now,
		CreatedAt: now, CreatedBy: author(caller), UpdatedAt: now, UpdatedBy: author(caller), reader: readerOf(caller), revision: 1,
	}
	if s.Concurrency == 0 {
		s.Concurrency = usualConcurrency
	}
	if s.Signature == "" {
		s.Signature = HMAC
	}
	if draft.Disabled {
		s.State, s.Reason = Disabled, ReasonManual
	}
	if c.Headers, err = canonical(draft.Headers); err != nil {
		return s, c, err
	}
	if err := w.check(&s, c.Headers); err != nil {
		return s, c, err
	}
	if c.Keys, err = newKeys(s.Signature, draft.Secrets); err != nil {
		return s, c, err
	}
	return s, c, w.seal(&s, c)
}

// List reads subscriptions of a workspace, the oldest first, and tells how many there are.
func (w *Webhooks) List(ctx context.Context, ref string, offset, limit int) (found []Subscription, total int, err error) {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return nil, 0, err
	}
	if total, err = count(ctx, w.DB, v.workspaceID); err != nil {
		return nil, 0, err
	}
	if found, err = list(ctx, w.DB, v.workspaceID, offset, limit); err != nil {
		return nil, 0, err
	}
	for i := range found {
		w.peek(ctx, &found[i])
	}
	return found, total, nil
}

// Get reads a subscription.
func (w *Webhooks) Get(ctx context.Context, ref, id string) (Subscription, error) {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return Subscription{}, err
	}
	s, err := find(ctx, w.DB, v.workspaceID, id)
	if err == nil {
		w.peek(ctx, &s)
	}
	return s, err
}

// peek opens a subscription to show it.
func (w *Webhooks) peek(ctx context.Context, s *Subscription) {
	if err := w.open(s); err != nil {
		w.Log.WarnContext(ctx, "a subscription cannot be opened; rotate its secrets", "subscription_id", s.ID, "error", err.Error())
	}
}

// Update changes a subscription. From then on it reads as the caller: nobody gets by it what only somebody else may read.
// Enabling one that was disabled begins with the next event; what waited is sent, what happened meanwhile can be replayed.
func (w *Webhooks) Update(ctx context.Context, ref, id string, change Change) (Subscription, error) {
	return w.edit(ctx, ref, id, catalogue.Updated, func(s *Subscription, c *content) error {
		if err := change.apply(s, c, w.time()); err != nil {
			return err
		}
		return w.check(s, c.Headers)
	})
}

// edit changes a subscription in a transaction of its own.
func (w *Webhooks) edit(ctx context.Context, ref, id string, act catalogue.Verb, change func(s *Subscription, c *content) error) (s Subscription, err error) {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return s, err
	}
	err = w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := touch(ctx, tx, v.workspaceID); err != nil {
			return err
		}
		if s, err = find(ctx, tx, v.workspaceID, id); err != nil {
			return err
		}
		w.peek(ctx, &s)
		c := content{}
		if s.content != nil {
			c = *s.content
		}
		enabled := s.State == Active
		if err := change(&s, &c); err != nil {
			return err
		}
		caller := v.ability.Principal()
		s.UpdatedAt, s.UpdatedBy, s.reader = w.time(), author(caller), readerOf(caller)
		if err := w.seal(&s, c); err != nil {
			return err
		}
		at, err := w.tell(ctx, tx, &s, act)
		if err != nil {
			return err
		}
		if !enabled && s.State == Active {
			s.since = at
		}
		return replace(ctx, tx, &s)
	})
	if err == nil {
		w.nudge()
	}
	return s, err
}

func (change Change) apply(s *Subscription, c *content, now time.Time) error {
	assign(&s.URL, change.URL)
	assign(&s.Description, change.Description)
	assign(&s.Types, change.Types)
	assign(&s.Filters, change.Filters)
	assign(&s.OrderBy, change.OrderBy)
	assign(&s.Concurrency, change.Concurrency)
	if change.URL != nil || change.Enabled != nil { // whatever was wrong may be right now
		s.failures, s.FailingSince, s.RetryAt = 0, time.Time{}, time.Time{}
	}
	if change.Headers != nil {
		headers, err := canonical(*change.Headers)
		if err != nil {
			return err
		}
		c.Headers = unmasked(headers, c.Headers)
	}
	switch {
	case change.Enabled == nil || *change.Enabled == (s.State == Active):
	case *change.Enabled:
		s.State, s.Reason, s.StateAt = Active, "", now
	default:
		s.State, s.Reason, s.StateAt = Disabled, ReasonManual, now
	}
	return nil
}

func assign[T any](field, given *T) {
	if given != nil {
		*field = *given
	}
}

// Delete removes a subscription. Nothing is sent to it any more, also nothing that waited.
func (w *Webhooks) Delete(ctx context.Context, ref, id string) error {
	v, err := w.enter(ctx, w.DB, ref)
	if err != nil {
		return err
	}
	return w.DB.Tx(ctx, func(tx *sqldb.Tx) error {
		if err := touch(ctx, tx, v.workspaceID); err != nil {
			return err
		}
		s, err := find(ctx, tx, v.workspaceID, id)
		if err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM ev_subscriptions WHERE id = $1`, id); err != nil {
			return err
		}
		_, err = w.tell(ctx, tx, &s, catalogue.Deleted)
		return err
	})
}

// maxOverlap is how long an older key may stay.
const maxOverlap = 7 * 24 * time.Hour

// Rotate gives a subscription a new key. The one it had signs too for the overlap, so that receivers have time to learn the
// new one; without an overlap it ends at once, and so does one from an earlier rotation in any case.
func (w *Webhooks) Rotate(ctx context.Context, ref, id, secret string, overlap time.Duration) (Subscription, error) {
	if overlap < 0 || overlap > maxOverlap {
		return Subscription{}, errs.Invalid(errs.Field{Field: "overlap", Message: "use 0 to 604800 seconds, which is a week"})
	}
	var made signingKey
	s, err := w.edit(ctx, ref, id, catalogue.Rotated, func(s *Subscription, c *content) error {
		var given []string
		if secret != "" {
			given = []string{secret}
		}
		keys, err := newKeys(s.Signature, given)
		if err != nil {
			return err
		}
		made = keys[0]
		live := c.live(w.time())
		if overlap > 0 && len(live) > 0 {
			previous := live[0]
			if end := w.time().Add(overlap).UnixMilli(); previous.Until == 0 || previous.Until > end {
				previous.Until = end
			}
			keys = append(keys, previous)
		}
		c.Keys = keys
		return nil
	})
	s.Secrets = content{Keys: []signingKey{made}}.secrets()
	return s, err
}

// tell stores the event of a change, and gives its place in the log of the workspace.
func (w *Webhooks) tell(ctx context.Context, tx *sqldb.Tx, s *Subscription, act catalogue.Verb) (int64, error) {
	record, err := envelope.Audit(ctx, service, s.WorkspaceID, envelope.Act{
		TargetType: "subscriptions", TargetID: s.ID, Payload: s.payload(act),
	})
	if err != nil {
		return 0, err
	}
	stored, err := w.Bus.AppendTx(ctx, tx, record)
	if err != nil {
		return 0, err
	}
	return int64(stored[0].Position), nil
}

// payload is what events say of a subscription: neither its address, which may hold a secret, nor its headers.
func (s *Subscription) payload(act catalogue.Verb) *catalogue.Subscription {
	return &catalogue.Subscription{
		Verb: act, SubscriptionID: s.ID, Description: s.Description, Types: s.Types, State: s.State, Reason: s.Reason,
	}
}
