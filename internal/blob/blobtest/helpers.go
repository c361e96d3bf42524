package blobtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"atelier/internal/blob"
)

func put(t *testing.T, s blob.Store, data []byte) blob.Info {
	t.Helper()
	info, err := s.Put(t.Context(), bytes.NewReader(data), 0)
	if err != nil {
		t.Fatalf("Put of %d bytes: %v", len(data), err)
	}
	return info
}

func read(t *testing.T, s blob.Store, hash string, offset, length int64) []byte {
	t.Helper()
	r, err := s.Open(t.Context(), hash, offset, length)
	if err != nil {
		t.Fatalf("Open(offset %d, length %d): %v", offset, length, err)
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("read (offset %d, length %d): %v", offset, length, err)
	}
	return data
}

// wantStored checks that the store holds exactly these.
func wantStored(t *testing.T, s blob.Store, want ...blob.Info) {
	t.Helper()
	var got []blob.Info
	if err := s.Walk(t.Context(), func(info blob.Info) error { got = append(got, info); return nil }); err != nil {
		t.Fatalf("Walk: %v", err)
	}
	byHash := func(a, b blob.Info) int { return strings.Compare(a.Hash, b.Hash) }
	slices.SortFunc(got, byHash)
	slices.SortFunc(want, byHash)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("stored content (-want +got):\n%s", diff)
	}
}

func wantAbsent(t *testing.T, s blob.Store, hash string) {
	t.Helper()
	if _, err := s.Stat(t.Context(), hash); !errors.Is(err, blob.ErrNotFound) {
		t.Errorf("Stat(%q) = %v, want ErrNotFound", hash, err)
	}
	for _, length := range []int64{-1, 0, 5} {
		if r, err := s.Open(t.Context(), hash, 0, length); !errors.Is(err, blob.ErrNotFound) {
			t.Errorf("Open(%q, length %d) = %v, want ErrNotFound", hash, length, err)
			if r != nil {
				_ = r.Close()
			}
		}
	}
}

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// pattern is binary content that differs for every length.
func pattern(size int) []byte {
	data := make([]byte, size)
	_, _ = io.ReadFull(&endless{}, data)
	return data
}

// endless repeats a block whose length is prime, so that no page, buffer or part looks like the next.
type endless struct {
	block [65521]byte
	at    int
}

// Read implements io.Reader.
func (e *endless) Read(p []byte) (int, error) {
	if e.block[1] == 0 {
		for i := range e.block {
			e.block[i] = byte(uint64(i) * 0x9E3779B97F4A7C15 >> 56)
		}
	}
	n := copy(p, e.block[e.at:])
	e.at = (e.at + n) % len(e.block)
	return n, nil
}

// onRead is a reader that does something when its turn comes and holds nothing.
func onRead(do func()) io.Reader { return doing(do) }

type doing func()

func (d doing) Read([]byte) (int, error) {
	d()
	return 0, io.EOF
}
