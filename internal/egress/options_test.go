package egress_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"atelier/internal/egress"
)

// getBy asks with a transport.
func getBy(t *testing.T, transport http.RoundTripper, url string) (string, error) {
	t.Helper()
	client := &http.Client{Transport: transport}
	t.Cleanup(client.CloseIdleConnections)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r) //nolint:bodyclose // ReadBody does
	if err != nil {
		return "", err
	}
	data, err := egress.ReadBody(resp, 1<<20)
	return string(data), err
}

func TestTransportsWithOptions(t *testing.T) {
	t.Parallel()
	guard := newGuard(t, "127.0.0.1")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // handshakes fail here, as they should
	server.StartTLS()
	t.Cleanup(server.Close)
	for name, test := range map[string]struct {
		options egress.Options
		want    string
	}{
		"a certificate that nobody signed": {egress.Options{}, ""},
		"any certificate":                  {egress.Options{AnyCertificate: true}, "HTTP/2.0"},
		"HTTP/1 only":                      {egress.Options{AnyCertificate: true, HTTP1: true}, "HTTP/1.1"},
	} {
		got, err := getBy(t, guard.TransportWith(test.options), server.URL)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: %q %v", name, got, err)
		}
		if err != nil {
			wantHidden(t, err)
		}
	}
	_, err := getBy(t, guard.Transport(), server.URL)
	wantHidden(t, err)
	// Whatever the options, addresses are checked.
	_, err = getBy(t, guard.TransportWith(egress.Options{AnyCertificate: true}), strings.Replace(server.URL, "127.0.0.1", "127.0.0.2", 1))
	wantHidden(t, err)
}

func TestHeaderTimeoutOfATransport(t *testing.T) {
	t.Parallel()
	base, _ := serve(t, "127.0.0.1", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	began := time.Now() //nolint:forbidigo // how long the machine's clock takes is what is tested
	_, err := getBy(t, newGuard(t, "127.0.0.1").TransportWith(egress.Options{HeaderTimeout: 50 * time.Millisecond}), base)
	wantHidden(t, err)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it took %v", took)
	}
}
