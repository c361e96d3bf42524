package s3blob_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"atelier/internal/blob"
	"atelier/internal/blob/s3blob"
)

const (
	accessKey = "AKIAEXAMPLE"
	secretKey = "wJalrXUtnFEMIexample"
	// present is the hash of "content".
	present = "sha256:ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73"
)

// hostile opens a store whose bucket exists and whose objects are answered by handle.
func hostile(t *testing.T, handle http.HandlerFunc) *s3blob.Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodHead && strings.Count(strings.Trim(r.URL.Path, "/"), "/") == 0 {
			return
		}
		w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	store, err := s3blob.Open(t.Context(), s3blob.Config{
		Endpoint: server.URL, AccessKey: accessKey, SecretKey: secretKey, Bucket: "bucket", Transport: transport,
	})
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return store
}

func TestErrorsNeverShowCredentials(t *testing.T) {
	t.Parallel()
	store := hostile(t, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		_, _ = fmt.Fprintf(w, "<Error><Code>SignatureDoesNotMatch</Code><Message>%s %s %s</Message></Error>",
			accessKey, secretKey, r.Header.Get("Authorization"))
	})
	for name, call := range map[string]func() error{
		"Put":    func() error { _, err := store.Put(t.Context(), strings.NewReader("x"), 0); return err },
		"Open":   func() error { _, err := store.Open(t.Context(), present, 0, -1); return err },
		"Stat":   func() error { _, err := store.Stat(t.Context(), present); return err },
		"Delete": func() error { return store.Delete(t.Context(), present) },
		"Walk":   func() error { return store.Walk(t.Context(), func(blob.Info) error { return nil }) },
		"Ping":   func() error { return store.Ping(t.Context()) },
	} {
		err := call()
		if err == nil {
			t.Errorf("%s succeeds", name)
		}
		for ; err != nil; err = errors.Unwrap(err) {
			if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, accessKey) || strings.Contains(text, secretKey) {
				t.Errorf("%s shows credentials: %s", name, text)
			}
		}
	}
}

func TestWrongBytesAreFound(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]http.HandlerFunc{
		"other content": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "c0ntent") },
		"shorter":       func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "conten") },
		"nothing":       func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "0") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := readAll(t, hostile(t, handle), present); !errors.Is(err, blob.ErrCorrupt) {
				t.Errorf("read %q, %v, want ErrCorrupt", got, err)
			}
		})
	}
}

func TestRightBytesPass(t *testing.T) {
	t.Parallel()
	store := hostile(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "content") })
	if got, err := readAll(t, store, present); err != nil || got != "content" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestCutConnectionIsAnErrorButNoDamage(t *testing.T) {
	t.Parallel()
	store := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "7")
		_, _ = io.WriteString(w, "con")
	})
	got, err := readAll(t, store, present)
	if err == nil || errors.Is(err, blob.ErrCorrupt) {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestIgnoredRangeIsAnError(t *testing.T) {
	t.Parallel()
	store := hostile(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "content") })
	if r, err := store.Open(t.Context(), present, 3, 2); err == nil {
		_ = r.Close()
		t.Error("the start of the content was passed off as its middle")
	}
}

func TestLostBucketIsNotAbsentContent(t *testing.T) {
	t.Parallel()
	store := hostile(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchBucket</Code></Error>")
	})
	if _, err := store.Open(t.Context(), present, 0, -1); err == nil || errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Open = %v, want an error that is not ErrNotFound", err)
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	good := s3blob.Config{Endpoint: "http://127.0.0.1:1", AccessKey: accessKey, SecretKey: secretKey, Bucket: "bucket"}
	for name, spoil := range map[string]func(c *s3blob.Config){
		"no scheme":      func(c *s3blob.Config) { c.Endpoint = "127.0.0.1:1" },
		"other scheme":   func(c *s3blob.Config) { c.Endpoint = "ftp://127.0.0.1" },
		"no host":        func(c *s3blob.Config) { c.Endpoint = "https://" },
		"credentials":    func(c *s3blob.Config) { c.Endpoint = "https://" + accessKey + ":" + secretKey + "@127.0.0.1" },
		"broken":         func(c *s3blob.Config) { c.Endpoint = "https://" + secretKey + "%zz" },
		"path":           func(c *s3blob.Config) { c.Endpoint = "https://127.0.0.1/bucket" },
		"no access key":  func(c *s3blob.Config) { c.AccessKey = "" },
		"no secret key":  func(c *s3blob.Config) { c.SecretKey = "" },
		"no bucket":      func(c *s3blob.Config) { c.Bucket = "" },
		"illegal bucket": func(c *s3blob.Config) { c.Bucket = "../x" },
	} {
		cfg := good
		spoil(&cfg)
		_, err := s3blob.Open(t.Context(), cfg)
		if err == nil {
			t.Errorf("%s: accepted", name)
		} else if strings.Contains(err.Error(), secretKey) {
			t.Errorf("%s: the error shows the secret: %v", name, err)
		}
	}
}

func TestSpoolFilesHaveNoName(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	store := hostile(t, func(http.ResponseWriter, *http.Request) {})
	spooling := readFunc(func([]byte) (int, error) {
		entries, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
		if err != nil || len(entries) != 0 {
			t.Errorf("while spooling there are %v, %v", entries, err)
		}
		return 0, io.EOF
	})
	if _, err := store.Put(t.Context(), spooling, 0); err != nil {
		t.Errorf("Put: %v", err)
	}
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }
