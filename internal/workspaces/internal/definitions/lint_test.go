package definitions_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"atelier/internal/workspaces/internal/definitions"
)

// One at a time has the turn; whoever waits for it can give up.
func TestTurns(t *testing.T) {
	t.Parallel()
	var turn definitions.Turn
	giveBack, err := turn.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	impatient, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := turn.Take(impatient); !errors.Is(err, context.Canceled) {
		t.Errorf("it was taken twice: %v", err)
	}
	var all sync.WaitGroup
	served := 0 // the race detector sees when two have the turn
	for range 20 {
		all.Go(func() {
			giveBack, err := turn.Take(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			served++
			giveBack()
		})
	}
	giveBack()
	if all.Wait(); served != 20 {
		t.Errorf("%d were served", served)
	}
}
