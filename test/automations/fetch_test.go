package automations_test

import (
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"atelier/internal/app/apptest"
)

// The operator decides which broken connections are tried again, and whether HTTP/2 is spoken.
func TestFetchSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings []string
		proto    int
		again    bool
	}{
		"as it is":     {nil, 1, true},
		"as it is set": {[]string{"FETCH_ALLOW_H2=true", "FETCH_RETRY_CODES=ETIMEDOUT,ECONNREFUSED"}, 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Int64
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/cut" && broken.Add(1) == 1 {
					panic(http.ErrAbortHandler)
				}
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]int{"proto": r.ProtoMajor})
			}))
			server.EnableHTTP2 = true
			server.StartTLS()
			t.Cleanup(server.Close)
			roots := filepath.Join(t.TempDir(), "roots.pem")
			text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
			if err := os.WriteFile(roots, text, 0o600); err != nil {
				t.Fatal(err)
			}
			s := apptest.New(t, append(c.settings, "DISABLE_RATE_LIMIT=true", "EXTRA_CA_CERTS="+roots, "EGRESS_ALLOWED_NETWORKS=127.0.0.0/8")...)
			r := newRoom(t, s.Admin(), map[string]any{})
			r.add("ask", `{"when": {"endpoint": true}, "do": [{"fetch": {"url": "`+server.URL+`/{{body.path}}", "output": "got"}}], "output": "{{got}}"}`)
			if got := r.call("ask", map[string]any{"path": "plain"}).Want(http.StatusOK); got.At("proto") != float64(c.proto) {
				t.Errorf("it speaks HTTP/%s: %s", got.Text("proto"), got.Body)
			}
			got := r.call("ask", map[string]any{"path": "cut"})
			if again := broken.Load() > 1; again != c.again || again != (got.Status == http.StatusOK) {
				t.Errorf("tried again: %v, want %v: %d %s", again, c.again, got.Status, got.Body)
			}
		})
	}
}
