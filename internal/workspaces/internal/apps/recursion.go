package apps

import (
	"context"
	"slices"

	"atelier/internal/sqldb"
)

// maxInside is how many apps inside others are looked at before an app is taken for one that goes on for ever.
const maxInside = 500

// way is how an app is found inside others: from the outermost to itself.
type way []string

// inside looks for an app among those that something uses, and among those that these use, at any depth. It gives the way
// to it, and nil when it is not there; endless tells that there is no end to them.
func inside(ctx context.Context, r sqldb.Reader, slug string, uses []Use) (found way, endless bool, err error) {
	type step struct {
		use Use
		way way
	}
	var queue []step
	seen := map[Use]bool{}
	push := func(uses []Use, from way) {
		for _, use := range uses {
			if use.AppVersion == "" {
				use.AppVersion = Current
			}
			if use.AppSlug == "" || seen[use] {
				continue
			}
			seen[use] = true
			queue = append(queue, step{use: use, way: append(slices.Clone(from), use.AppSlug)})
		}
	}
	push(uses, nil)
	for ; len(queue) > 0; queue = queue[1:] {
		next := queue[0]
		if next.use.AppSlug == slug {
			return next.way, false, nil
		}
		if len(seen) > maxInside {
			return nil, true, nil
		}
		o, err := outline(ctx, r, next.use.AppSlug, next.use.AppVersion)
		if sqldb.IsNotFound(err) {
			continue // nothing is inside what does not exist
		}
		if err != nil {
			return nil, false, err
		}
		push(o.Uses, next.way)
	}
	return nil, false, nil
}
