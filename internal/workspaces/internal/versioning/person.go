package versioning

import (
	"context"

	"atelier/internal/gitcmd"
)

// Person is how commits name somebody, for commits that are made elsewhere.
func (v *Versioning) Person(ctx context.Context, userID string) gitcmd.Person {
	return v.person(ctx, userID)
}
