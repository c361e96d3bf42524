package keyring

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"atelier/internal/access"
	"atelier/internal/bus"
	"atelier/internal/catalogue"
	"atelier/internal/envelope"
	"atelier/internal/sqldb"
)

// Updated is the payload of the events.
type Updated = catalogue.KeysUpdated

// announce appends, in the transaction that changed the keys, the events of this kind of instance.
func (r *Ring) announce(ctx context.Context, tx *sqldb.Tx) error {
	if r.deps.Bus == nil {
		return nil
	}
	var records []bus.Record
	for _, eventType := range r.deps.Announce {
		change, err := claim(ctx, tx, eventType)
		if err != nil {
			return fmt.Errorf("announce the signing keys: %w", err)
		}
		if len(change.Created)+len(change.Deleted) == 0 {
			continue
		}
		change.Service, _, _ = strings.Cut(eventType, ".")
		record, err := envelope.Native(ctx, change.Service, access.PlatformWorkspace, &change)
		if err != nil {
			return err
		}
		records = append(records, record)
	}
	if len(records) == 0 {
		return nil
	}
	_, err := r.deps.Bus.AppendTx(ctx, tx, records...)
	return err
}

// claim takes what has changed since the last event of a type: whoever commits it has appended the event, nobody else
// will. The first key of an installation is no change.
func claim(ctx context.Context, tx *sqldb.Tx, eventType string) (Updated, error) {
	var text string
	err := tx.QueryRow(ctx, `UPDATE keyring_announced SET kids = kids WHERE event_type = $1 RETURNING kids`, eventType).Scan(&text)
	missing := sqldb.IsNotFound(err)
	if err != nil && !missing {
		return Updated{}, err
	}
	current, err := sqldb.All(ctx, tx, func(rows *sql.Rows) (kid string, err error) {
		return kid, rows.Scan(&kid)
	}, `SELECT kid FROM keyring_keys ORDER BY kid`) // after the row above is locked, so it can only be newer
	if err != nil {
		return Updated{}, err
	}
	if missing {
		_, err := tx.Exec(ctx, `INSERT INTO keyring_announced (event_type, kids) VALUES ($1, $2) ON CONFLICT (event_type) DO NOTHING`,
			eventType, strings.Join(current, " "))
		return Updated{}, err
	}
	known := strings.Fields(text)
	change := Updated{Created: without(current, known), Deleted: without(known, current)}
	_, err = tx.Exec(ctx, `UPDATE keyring_announced SET kids = $1 WHERE event_type = $2`, strings.Join(current, " "), eventType)
	return change, err
}

func without(list, others []string) []string {
	rest := []string{} // in JSON a list, also when it is empty
	for _, one := range list {
		if !slices.Contains(others, one) {
			rest = append(rest, one)
		}
	}
	return rest
}

// catchUp announces changes that nobody has announced: those of another kind of instance, of a command, or made by hand.
func (r *Ring) catchUp(ctx context.Context) error {
	if r.deps.Bus == nil {
		return nil
	}
	announced, err := sqldb.All(ctx, r.deps.DB, func(rows *sql.Rows) (a [2]string, err error) {
		return a, rows.Scan(&a[0], &a[1])
	}, `SELECT event_type, kids FROM keyring_announced`)
	if err != nil {
		return fmt.Errorf("read what was announced: %w", err)
	}
	kids := map[string]string{}
	for _, a := range announced {
		kids[a[0]] = a[1]
	}
	current := r.set.Load().kids()
	for _, eventType := range r.deps.Announce {
		if known, ok := kids[eventType]; !ok || known != current {
			return r.deps.DB.Tx(ctx, func(tx *sqldb.Tx) error { return r.announce(ctx, tx) })
		}
	}
	return nil
}

// kids names the keys, in the form in which it is stored what was announced.
func (s *keySet) kids() string {
	var kids []string
	for kid := range s.byID {
		kids = append(kids, kid)
	}
	slices.Sort(kids)
	return strings.Join(kids, " ")
}
