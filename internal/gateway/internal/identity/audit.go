package identity

import (
	"context"

	"atelier/internal/access"
	"atelier/internal/envelope"
	"atelier/internal/httpx"
	"atelier/internal/sqldb"
)

// Act is a security-relevant act, for the audit trail in the platform workspace.
type Act = envelope.Act

// audit appends the event of an act in the transaction that does it.
func (i *Identity) audit(ctx context.Context, tx *sqldb.Tx, act Act) error {
	record, err := envelope.Audit(ctx, "gateway", access.PlatformWorkspace, act)
	if err != nil {
		return err
	}
	_, err = i.deps.Log.AppendTx(ctx, tx, record)
	return err
}

// Audit appends the event of an act in the transaction that does it, for the packages beside this one.
func (i *Identity) Audit(ctx context.Context, tx *sqldb.Tx, act Act) error {
	return i.audit(ctx, tx, act)
}

// auditAlone appends the event of an act that changes nothing else, such as a refused sign-in.
func (i *Identity) auditAlone(ctx context.Context, act Act) error {
	record, err := envelope.Audit(ctx, "gateway", access.PlatformWorkspace, act)
	if err != nil {
		return err
	}
	_, err = i.deps.Log.Append(ctx, record)
	return err
}

// address is where the caller comes from, as events show it.
func address(ctx context.Context) string { return httpx.InfoFrom(ctx).Client.String() }
