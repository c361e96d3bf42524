package httpx_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"atelier/internal/clock"
	"atelier/internal/httpx"
)

// ends waits for the end of a context, and gives why it ended.
func ends(t *testing.T, ctx context.Context) error {
	t.Helper()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(10 * time.Second):
		t.Fatal("it does not end")
		return nil
	}
}

func TestExtensible(t *testing.T) {
	t.Parallel()
	begin := func(t *testing.T, time time.Duration) (*httpx.Extension, context.Context, context.CancelFunc) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "v"), time)
		e := httpx.Extensible(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/", nil))
		t.Cleanup(e.Done)
		return e, context.WithValue(e.Request().Context(), key{}, "w"), cancel
	}
	t.Run("it ends with the request", func(t *testing.T) {
		t.Parallel()
		e, ctx, cancel := begin(t, time.Hour)
		if e.Request().Context().Value(key{}) != "v" {
			t.Error("its values are lost")
		}
		if _, has := ctx.Deadline(); !has || ctx.Err() != nil {
			t.Error("it has no time, or none any more")
		}
		below, stop := context.WithCancel(ctx)
		defer stop()
		cancel()
		if err := ends(t, below); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		e.Extend(time.Hour)
		if ctx.Err() == nil {
			t.Error("it lives again")
		}
	})
	t.Run("it ends in time", func(t *testing.T) {
		t.Parallel()
		_, ctx, cancel := begin(t, 20*time.Millisecond)
		defer cancel()
		below, stop := context.WithCancel(ctx)
		defer stop()
		if err := ends(t, below); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	t.Run("it is extended", func(t *testing.T) {
		t.Parallel()
		through(t, 50*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
			e := httpx.Extensible(w, r)
			defer e.Done()
			e.Extend(300 * time.Millisecond)
			began := clock.System{}.Now()
			err := ends(t, e.Request().Context())
			if took := (clock.System{}).Now().Sub(began); !errors.Is(err, context.DeadlineExceeded) || took < 200*time.Millisecond {
				t.Error(err, took)
			}
		})
	})
	t.Run("it is served", func(t *testing.T) {
		t.Parallel()
		e, ctx, cancel := begin(t, time.Hour)
		defer cancel()
		e.Extend(time.Hour)
		e.Done()
		e.Done()
		if err := ends(t, ctx); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

type key struct{}
