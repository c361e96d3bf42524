package fetch

import (
	"context"
	"errors"

	"atelier/internal/automation/internal/machine"
	"atelier/internal/dsul/expr/value"
	"atelier/internal/sqldb"
)

const (
	// maxNoted is how many bytes of JSON a result may have to be noted. What is larger is fetched again, which is cheaper than
	// writing all of it for the rare run that is begun anew.
	maxNoted = 64 << 10
	noted    = "result"
	// notePlace sets the note apart from the events that a stream emits at the same place.
	notePlace = "/fetch"
)

var errNotNoted = errors.New("the fetch is not done yet")

// Recalling is a journal that can be asked for a note without a transaction. One that cannot is asked by an effect that fails.
type Recalling interface {
	Recall(ctx context.Context, place string) (result any, done bool, err error)
}

// recall gives the result of a fetch that a run finished in an earlier life. The request itself is never sent within a
// transaction: a slow server would hold the database.
func recall(f *machine.Frame) (result any, done bool, err error) {
	journal := f.Run().Journal
	if journal == nil || !journal.Durable() {
		return nil, false, nil
	}
	var note any
	if asked, ok := journal.(Recalling); ok {
		if note, done, err = asked.Recall(f.Context(), f.Place()+notePlace); err != nil || !done {
			return nil, false, err
		}
	} else {
		note, err = journal.Once(f.Context(), f.Place()+notePlace, func(context.Context, *sqldb.Tx) (any, error) { return nil, errNotNoted })
		if errors.Is(err, errNotNoted) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return value.Get(note, noted), true, nil
}

// remember notes the result of a fetch, when it is small and not a stream that is still open.
func remember(f *machine.Frame, result any) error {
	journal := f.Run().Journal
	if journal == nil || !journal.Durable() || isLive(result) {
		return nil
	}
	if _, ok := value.JSON(result, "", maxNoted); !ok {
		return nil
	}
	note := machine.Payload(noted, result)
	_, err := journal.Once(f.Context(), f.Place()+notePlace, func(context.Context, *sqldb.Tx) (any, error) { return note, nil })
	return err
}

func isLive(result any) bool {
	_, live := value.Get(result, "body").(machine.Source)
	return live
}
