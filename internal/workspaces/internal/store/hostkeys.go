package store

import (
	"context"
	"time"

	"atelier/internal/sqldb"
)

// HostKeys are the pinned keys of an SSH server, as lines of a known_hosts file; empty when none are.
func HostKeys(ctx context.Context, r sqldb.Reader, workspaceID, host string) (knownHosts string, err error) {
	err = r.QueryRow(ctx, `SELECT known_hosts FROM ws_host_keys WHERE workspace_id = $1 AND host = $2`, workspaceID, host).Scan(&knownHosts)
	if sqldb.IsNotFound(err) {
		return "", nil
	}
	return knownHosts, err
}

// Pin is the keys of an SSH server that somebody trusts.
type Pin struct {
	WorkspaceID, Host, KnownHosts string
	At                            time.Time
	By                            string
}

// PinHostKeys keeps the keys of an SSH server, unless some are pinned already, and gives those that are.
func PinHostKeys(ctx context.Context, tx *sqldb.Tx, p Pin) (string, error) {
	_, err := tx.Exec(ctx, `INSERT INTO ws_host_keys (workspace_id, host, known_hosts, created_at, created_by) VALUES ($1, $2, $3, $4, $5)
		ON CONFLICT (workspace_id, host) DO NOTHING`, p.WorkspaceID, p.Host, p.KnownHosts, sqldb.Millis(p.At), p.By)
	if err != nil {
		return "", err
	}
	return HostKeys(ctx, tx, p.WorkspaceID, p.Host)
}

// UnpinHostKeys forgets the keys of an SSH server and tells whether there were any.
func UnpinHostKeys(ctx context.Context, tx *sqldb.Tx, workspaceID, host string) (bool, error) {
	n, err := tx.Exec(ctx, `DELETE FROM ws_host_keys WHERE workspace_id = $1 AND host = $2`, workspaceID, host)
	return n > 0, err
}
