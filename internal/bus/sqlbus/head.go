package sqlbus

import (
	"context"
	"fmt"

	"atelier/internal/bus"
	"atelier/internal/sqldb"
)

// Head is the last committed position of a partition: every event that is committed later comes after it.
func Head(ctx context.Context, r sqldb.Reader, partition int) (head bus.Position, err error) {
	if err := r.QueryRow(ctx, `SELECT last_pos FROM bus_heads WHERE partition = $1`, partition).Scan(&head); err != nil {
		return 0, fmt.Errorf("read the head of a partition: %w", err)
	}
	return head, nil
}
