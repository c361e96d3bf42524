package s3blob_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"atelier/internal/blob"
	"atelier/internal/blob/blobtest"
	"atelier/internal/blob/s3blob"
	"atelier/internal/ident"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestStore(t *testing.T) {
	cfg := serverConfig(t)
	blobtest.Run(t, func(t *testing.T) blob.Store {
		t.Helper()
		return open(t, ownPrefix(cfg))
	})
}

func TestBucketIsCreated(t *testing.T) {
	t.Parallel()
	cfg := ownPrefix(serverConfig(t))
	cfg.Bucket = "made-" + ident.Source{}.UUID()
	put(t, open(t, cfg), "first")
	put(t, open(t, cfg), "second")
}

func TestContentInParts(t *testing.T) {
	t.Parallel()
	store := open(t, ownPrefix(serverConfig(t)))
	const part = 5 << 20 // the least S3 accepts
	store.SetPartSize(part)
	for _, size := range []int{part, part + 1, 2*part + 12345} {
		data := bytes.Repeat([]byte("0123456789abcde\n"), size/16+1)[:size]
		info, err := store.Put(t.Context(), bytes.NewReader(data), 0)
		if err != nil {
			t.Fatalf("Put of %d bytes: %v", size, err)
		}
		if got, err := readAll(t, store, info.Hash); err != nil || got != string(data) {
			t.Errorf("%d of %d bytes read back, %v", len(got), size, err)
		}
	}
}

// The server must compare what arrives with the checksum we send, whole and in parts.
func TestServerRefusesWhatArrivesChanged(t *testing.T) {
	t.Parallel()
	cfg := ownPrefix(serverConfig(t))
	cfg.Transport = flipping{cfg.Transport}
	store := open(t, cfg)
	if _, err := store.Put(t.Context(), strings.NewReader("content"), 0); err == nil {
		t.Error("changed content was accepted")
	}
	const part = 5 << 20
	store.SetPartSize(part)
	if _, err := store.Put(t.Context(), bytes.NewReader(make([]byte, part+1)), 0); err == nil {
		t.Error("a changed part was accepted")
	}
	if err := store.Walk(t.Context(), func(info blob.Info) error { return errors.New(info.Hash) }); err != nil {
		t.Errorf("something was kept: %v", err)
	}
}

func TestWrongCredentials(t *testing.T) {
	t.Parallel()
	cfg := ownPrefix(serverConfig(t))
	cfg.SecretKey = "not-the-right-secret"
	_, err := s3blob.Open(t.Context(), cfg)
	if err == nil {
		t.Fatal("a wrong secret was accepted")
	}
	if strings.Contains(err.Error(), cfg.SecretKey) {
		t.Errorf("the error shows the secret: %v", err)
	}
}

func TestPrefixesAreApart(t *testing.T) {
	t.Parallel()
	cfg := serverConfig(t)
	one, other := open(t, ownPrefix(cfg)), open(t, ownPrefix(cfg))
	info := put(t, one, "mine")
	if _, err := other.Stat(t.Context(), info.Hash); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Stat in the other prefix = %v, want ErrNotFound", err)
	}
}

// flipping changes the first byte of every body on its way out.
type flipping struct{ http.RoundTripper }

func (f flipping) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.Method == http.MethodPut && r.ContentLength > 0 {
		first := make([]byte, 1)
		if _, err := io.ReadFull(r.Body, first); err != nil {
			return nil, err
		}
		first[0] ^= 1
		r.Body = struct {
			io.Reader
			io.Closer
		}{io.MultiReader(bytes.NewReader(first), r.Body), r.Body}
	}
	return f.RoundTripper.RoundTrip(r)
}

func serverConfig(t *testing.T) s3blob.Config {
	t.Helper()
	endpoint, ok := os.LookupEnv("TEST_S3_ENDPOINT") //nolint:forbidigo // where the test server is
	if !ok {
		t.Skip("SKIPPED: s3: TEST_S3_ENDPOINT is not set")
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return s3blob.Config{
		Endpoint:  endpoint,
		AccessKey: os.Getenv("TEST_S3_ACCESS_KEY"), //nolint:forbidigo // likewise
		SecretKey: os.Getenv("TEST_S3_SECRET_KEY"), //nolint:forbidigo // likewise
		Bucket:    "atelier-test",
		Transport: transport,
	}
}

func ownPrefix(cfg s3blob.Config) s3blob.Config {
	cfg.Prefix = "test/" + ident.Source{}.UUID()
	return cfg
}

func open(t *testing.T, cfg s3blob.Config) *s3blob.Store {
	t.Helper()
	store, err := s3blob.Open(t.Context(), cfg)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { removeAll(t, store) })
	return store
}

func removeAll(t *testing.T, store *s3blob.Store) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	if err := store.Walk(ctx, func(info blob.Info) error { return store.Delete(ctx, info.Hash) }); err != nil {
		t.Errorf("clean up: %v", err)
	}
}

func put(t *testing.T, store *s3blob.Store, text string) blob.Info {
	t.Helper()
	info, err := store.Put(t.Context(), strings.NewReader(text), 0)
	if err != nil {
		t.Fatalf("Put: %v", err)
	}
	return info
}

func readAll(t *testing.T, store *s3blob.Store, hash string) (string, error) {
	t.Helper()
	r, err := store.Open(t.Context(), hash, 0, -1)
	if err != nil {
		return "", err
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	return string(data), err
}
