package blobtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"atelier/internal/blob"
)

func ranges(t *testing.T, s blob.Store) {
	t.Helper()
	data := []byte("0123456789")
	hash := put(t, s, data).Hash
	empty := put(t, s, nil).Hash
	for _, c := range []struct {
		hash           string
		offset, length int64
		want           string
	}{
		{hash, 0, -1, "0123456789"},
		{hash, 0, 10, "0123456789"},
		{hash, 0, 100, "0123456789"},
		{hash, 0, 1, "0"},
		{hash, 0, 0, ""},
		{hash, 3, 4, "3456"},
		{hash, 3, 0, ""},
		{hash, 7, -1, "789"},
		{hash, 7, 100, "789"},
		{hash, 9, 1, "9"},
		{hash, 10, -1, ""},
		{hash, 10, 5, ""},
		{hash, 1 << 40, -1, ""},
		{hash, 1 << 40, 1 << 40, ""},
		{hash, 5, 1<<63 - 1, "56789"},
		{empty, 0, -1, ""},
		{empty, 0, 5, ""},
		{empty, 5, -1, ""},
	} {
		if got := read(t, s, c.hash, c.offset, c.length); string(got) != c.want {
			t.Errorf("Open(offset %d, length %d) reads %q, want %q", c.offset, c.length, got, c.want)
		}
	}
}

func rangesAgreeWithSlices(t *testing.T, s blob.Store) {
	t.Helper()
	data := pattern(200_000)
	hash := put(t, s, data).Hash
	rapid.Check(t, func(rt *rapid.T) {
		offset := rapid.IntRange(0, len(data)+10).Draw(rt, "offset")
		length := rapid.IntRange(0, len(data)+10).Draw(rt, "length")
		from := min(offset, len(data))
		want := data[from:min(from+length, len(data))]
		r, err := s.Open(t.Context(), hash, int64(offset), int64(length))
		if err != nil {
			rt.Fatalf("Open: %v", err)
		}
		defer func() { _ = r.Close() }()
		if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, want) {
			rt.Fatalf("read %d bytes, %v, want %d", len(got), err, len(want))
		}
	})
}

func negativeOffset(t *testing.T, s blob.Store) {
	t.Helper()
	if _, err := s.Open(t.Context(), put(t, s, []byte("x")).Hash, -1, 1); err == nil {
		t.Error("Open with a negative offset succeeds")
	}
}

func absentContent(t *testing.T, s blob.Store) {
	t.Helper()
	wantAbsent(t, s, hashOf([]byte("never stored")))
}

func malformedHashes(t *testing.T, s blob.Store) {
	t.Helper()
	hash := put(t, s, []byte("present")).Hash
	digits := strings.TrimPrefix(hash, "sha256:")
	for _, bad := range []string{
		"", "x", "../x", "sha256:", "sha256:../x", "/etc/passwd", digits,
		"sha256:" + strings.ToUpper(digits), "SHA256:" + digits, "sha512:" + digits, "md5:" + digits[:32],
		hash[:len(hash)-1], hash + "0", hash + "\x00", hash + "\n", " " + hash, hash + "/",
		"sha256:" + digits[:2] + "/" + digits[3:],
		"sha256:" + strings.Repeat("../", 21) + "x", "sha256:" + strings.Repeat("g", 64), "sha256:" + strings.Repeat("%", 64),
		"sha256:" + strings.Repeat("é", 32),
	} {
		wantAbsent(t, s, bad)
		if err := s.Delete(t.Context(), bad); err != nil {
			t.Errorf("Delete(%q) = %v, want nothing to happen", bad, err)
		}
	}
	wantStored(t, s, blob.Info{Hash: hash, Size: 7})
}

func readerEndsWithItsContext(t *testing.T, s blob.Store) {
	t.Helper()
	hash := put(t, s, pattern(5<<20)).Hash
	ctx, cancel := context.WithCancel(t.Context())
	r, err := s.Open(ctx, hash, 0, -1)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	defer func() { _ = r.Close() }()
	cancel()
	if _, err := io.Copy(io.Discard, r); !errors.Is(err, context.Canceled) {
		t.Errorf("reading after the context ended: %v, want context.Canceled", err)
	}
}
