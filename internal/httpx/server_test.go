package httpx_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"atelier/internal/httpx"
	"atelier/internal/ident"
)

// The proof of the gateway may be larger than what clients may send: it holds what providers say of the caller.
func TestHeadersInside(t *testing.T) {
	t.Parallel()
	for inside, want := range map[bool]int{false: http.StatusRequestHeaderFieldsTooLarge, true: http.StatusOK} {
		server, err := httpx.Listen(t.Context(), httpx.ServerConfig{
			Host: "127.0.0.1", Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}), Log: slog.New(slog.DiscardHandler),
			NewID: ident.Source{}.UUID, Inside: inside,
		})
		if err != nil {
			t.Fatal(err)
		}
		server.Start()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+server.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Svc-Proof", strings.Repeat("a", 60<<10))
		r.Close = true
		answer, err := (&http.Client{}).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("inside %v: status %d, want %d", inside, answer.StatusCode, want)
		}
		if err := server.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}
}
